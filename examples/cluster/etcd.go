package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdSocket lies in the working directory, where only the owner of the cluster gets at it: etcd asks nobody who he is.
const etcdSocket = "etcd.sock"

// startEtcd starts a single member that speaks to nobody but through its socket. It does not wait for the disk, so its state survives
// every end of the process, but not that of the machine.
func startEtcd(ctx context.Context) (*part, error) {
	if err := os.Remove(etcdSocket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of the last start: %w", err)
	}
	nowhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:1"}} // etcd wants an address to give to peers and clients, who do not exist
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs, c.UnsafeNoFsync = "etcd", "error", []string{"stderr"}, true
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{{Scheme: "unix", Host: etcdSocket}}, nowhere
	c.ListenPeerUrls, c.AdvertisePeerUrls = nil, nowhere
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return start("etcd", func(ctx context.Context) error {
			defer e.Close()
			select {
			case err := <-e.Err():
				return err
			case <-ctx.Done():
				return nil
			}
		}), nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return nil, fmt.Errorf("start etcd: %w", err)
}
