package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The interval of a replica's heartbeats in the table of replicas, and the silence after which a
// replica counts as gone.
const (
	heartbeatInterval = 2 * time.Second
	replicaTimeout    = 4 * heartbeatInterval
	// unseenTimeout is the age after which work that is assigned to this replica but not running
	// here counts as lost on the way. It exceeds the time that the end of a job may take to be
	// recorded.
	unseenTimeout = 8 * heartbeatInterval
)

// claimDataDir locks the data directory against other processes and reads the replica's id from it,
// so that a restarted replica has the same id.
func (r *replica) claimDataDir(ctx context.Context) (*os.File, error) {
	dir := r.options.dataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	lock, err := filelock.Claim(ctx, filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another reconciler uses %s; stop it, or start this one with its own --data-dir", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if r.id, err = replicaID(filepath.Join(dir, "replica")); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// replicaID returns the id in a file. It writes a new one if the file does not exist.
func replicaID(file string) (string, error) {
	text, err := os.ReadFile(file)
	if name := strings.TrimSpace(string(text)); err == nil && strings.HasPrefix(name, "rep_") {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the replica's name: %w", err)
	}
	name := id.New("rep")
	if err := os.WriteFile(file, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("store the replica's name: %w", err)
	}
	return name, nil
}

// embedded reports whether this replica runs the embedded registry.
func (r *replica) embedded() bool { return r.options.registry.reference == (artifact.Reference{}) }

// registerReplica registers the replica at startup. It refuses a replica with an embedded registry beside
// another, because each would miss what the other has stored.
func (r *replica) registerReplica(ctx context.Context) error {
	if err := r.store.RemoveReplica(ctx, r.id); err != nil { // the replica's previous run
		return fmt.Errorf("write to the table of replicas: %w", err)
	}
	if _, err := r.store.Rescue(ctx, r.lostJobs()); err != nil {
		return err
	}
	if err := r.sendHeartbeat(ctx); err != nil || !r.embedded() {
		return err
	}
	other, seen, found, err := r.store.OtherEmbeddedRegistry(ctx, r.id, replicaTimeout)
	if err != nil {
		return fmt.Errorf("find other replicas: %w", err)
	}
	if !found {
		return nil
	}
	return errors.Join(
		fmt.Errorf("replica %s, seen %s ago, has an embedded registry, and so would this one; the embedded registry is for "+
			"one replica: set NUON_REGISTRY for both (if that one was killed, wait %s)",
			other, seen.Round(time.Second), replicaTimeout),
		r.store.RemoveReplica(ctx, r.id))
}

func (r *replica) sendHeartbeat(ctx context.Context) error {
	return r.store.RecordHeartbeat(ctx, store.RecordHeartbeatParams{
		ID: r.id, Version: version.Number, Embedded: r.embedded(),
		Schema: int32(store.Schema()), //nolint:gosec // a handful
	})
}

// heartbeatLoop sends heartbeats until ctx ends, and then records that the replica is gone.
func (r *replica) heartbeatLoop(ctx context.Context) {
	task := status.Register(ctx, "heartbeat")
	defer task.Unregister()
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		task.SetWaiting("for the next heartbeat")
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := r.store.RemoveReplica(last, r.id); err != nil {
				slog.WarnContext(ctx,
					"could not remove this replica's heartbeat; it expires", "error", err)
			}
			return
		case <-tick.C:
		}
		task.SetWorking("writing the heartbeat")
		err := r.heartbeatAndRescue(ctx)
		task.ReportResult(err)
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "heartbeat", "error", err)
		}
	}
}

// heartbeatAndRescue is one heartbeat. Its timeout ensures that a database that hangs does not delay the
// next one.
func (r *replica) heartbeatAndRescue(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, replicaTimeout)
	defer stop()
	if err := r.sendHeartbeat(ctx); err != nil {
		return err
	}
	return r.rescue(ctx)
}

// lostJobs describes the work that no replica is running any more, as far as this replica can
// determine.
func (r *replica) lostJobs() store.LostJobs {
	return store.LostJobs{ReplicaTimeout: replicaTimeout, Replica: r.id, UnseenTimeout: unseenTimeout,
		InFlight: r.inFlight.list()}
}

// rescue requeues the work of killed replicas, and the work assigned to this one that never
// arrived.
func (r *replica) rescue(ctx context.Context) error {
	n, err := r.store.Rescue(ctx, r.lostJobs())
	if n > 0 {
		slog.InfoContext(ctx, "took over jobs of a lost replica or connection", "pieces", n)
	}
	return err
}
