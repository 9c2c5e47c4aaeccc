package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdSocket is in the working directory, which only the owner of the cluster can access: etcd does
// not authenticate its clients.
const etcdSocket = "etcd.sock"

// startEtcd starts a single member that is reachable only through its socket. It does not sync to
// disk, so its state survives any end of the process, but not of the machine.
func startEtcd(ctx context.Context) (*part, error) {
	if err := os.Remove(etcdSocket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of the last start: %w", err)
	}
	// etcd requires an address for peers and clients, who do not exist
	nowhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}
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
