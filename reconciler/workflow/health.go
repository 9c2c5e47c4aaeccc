package workflow

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// saveHealth stores the health that the runner reported with a result, if any. A
// malformed report is ignored: it fails nothing.
func (e jobEnd) saveHealth(ctx context.Context, installComponent string, seen api.Health) error {
	if seen.Status == "" {
		return nil
	}
	if err := SaveHealth(ctx, e.tx, installComponent, seen); err != nil {
		return err
	}
	// Package health continues the checks from here.
	return e.tx.SetDueIn(ctx, store.SetDueInParams{OrgID: e.tx.Org, Kind: store.DueHealth, ID: e.install.ID,
		InSeconds: firstCheck.Seconds()})
}

// firstCheck is the delay between a deploy and the first check of its health.
const firstCheck = 30 * time.Second

// SaveHealth stores the health of an install component that its runner reported. A
// malformed report is ignored.
func SaveHealth(ctx context.Context, tx *store.Tx, installComponent string, seen api.Health) error {
	seen, malformed := CheckHealth(seen)
	if malformed != nil {
		return nil //nolint:nilerr // nothing follows from it
	}
	if now := time.Now(); seen.At.After(now) { // its clock is ahead
		seen.At = now
	}
	raw, err := encode(seen)
	if err != nil {
		return err
	}
	return tx.SetHealth(ctx, store.SetHealthParams{Health: raw, OrgID: tx.Org, ID: installComponent, SeenAt: seen.At})
}

// maxClusterIdentity bounds the identity and the hash of a cluster, in bytes.
const maxClusterIdentity = 200

// saveCluster stores which cluster the runner worked on, so that a health job can
// name it. The hash is keyed by the runner: the control plane can neither make nor
// check it. Without one, health checks wait for the next apply.
func (e jobEnd) saveCluster(ctx context.Context, installComponent string, cluster api.ClusterIdentity) error {
	if cluster.Hash == "" || len(cluster.Hash) > maxClusterIdentity || len(cluster.Identity) > maxClusterIdentity {
		return nil
	}
	raw, err := encode(cluster)
	if err != nil {
		return err
	}
	return e.tx.SetCluster(ctx, raw, e.tx.Org, installComponent)
}
