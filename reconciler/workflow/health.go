package workflow

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// keepHealth keeps how what is there was when the runner looked, if it did. What is malformed is left out: it fails nothing.
func (e jobEnd) keepHealth(ctx context.Context, installComponent string, seen api.Health) error {
	if seen.Status == "" {
		return nil
	}
	if err := KeepHealth(ctx, e.tx, installComponent, seen); err != nil {
		return err
	}
	// Package health looks on from here.
	return e.tx.SetDueIn(ctx, store.SetDueInParams{OrgID: e.tx.Org, Kind: store.DueHealth, ID: e.install.ID, InSeconds: firstLook.Seconds()})
}

// firstLook is how long after a deploy its health is looked at again.
const firstLook = 30 * time.Second

// KeepHealth keeps how what is there of an install component was when its runner looked. What is malformed is left out.
func KeepHealth(ctx context.Context, tx *store.Tx, installComponent string, seen api.Health) error {
	seen, malformed := CheckHealth(seen)
	if malformed != nil {
		return nil //nolint:nilerr // nothing follows from it
	}
	if now := time.Now(); seen.At.After(now) { // by a clock that is ahead
		seen.At = now
	}
	raw, err := encode(seen)
	if err != nil {
		return err
	}
	return tx.SetHealth(ctx, store.SetHealthParams{Health: raw, OrgID: tx.Org, ID: installComponent, SeenAt: seen.At})
}

// mostIdentity bounds the identity and the hash of a cluster, in bytes.
const mostIdentity = 200

// keepCluster keeps which cluster the runner worked on, so that a health job can name it. The hash is for the runner alone: nobody
// here can make or check it. Without one, health waits for the next apply.
func (e jobEnd) keepCluster(ctx context.Context, installComponent string, cluster api.ClusterIdentity) error {
	if cluster.Hash == "" || len(cluster.Hash) > mostIdentity || len(cluster.Identity) > mostIdentity {
		return nil
	}
	raw, err := encode(cluster)
	if err != nil {
		return err
	}
	return e.tx.SetCluster(ctx, raw, e.tx.Org, installComponent)
}
