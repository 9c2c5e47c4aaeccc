package terraform

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// restoreSession is the deploy.Session of a plan or an apply that makes a version of the state
// the newest. Terraform does not run, and no existing object is touched: the consequences
// are planned afterwards.
type restoreSession struct {
	*deploy.Operation
	now state.Version // the newest version; zero when there is none
	// foreignKey is the key that the newest version is sealed to if it is not this runner's.
	// Its content is then unknown.
	foreignKey string
	to         state.Version
	locked     bool
}

// openRestore reads both versions. For an apply it holds the lock of the state.
func openRestore(ctx context.Context, op *deploy.Operation) (deploy.Session, error) {
	made := &restoreSession{Operation: op}
	if op.Stored != nil {
		if err := lockWithRetry(ctx, op.Env); err != nil {
			return nil, err
		}
		made.locked = true
	}
	if err := made.read(ctx); err != nil {
		return nil, errors.Join(err, made.Close(ctx))
	}
	return made, nil
}

// Close frees the lock.
func (r *restoreSession) Close(ctx context.Context) error {
	if !r.locked {
		return nil
	}
	if err := r.Env.API.UnlockState(ctx); err != nil {
		return fmt.Errorf("free the state lock: %w", err)
	}
	return nil
}

func (r *restoreSession) read(ctx context.Context) error {
	if err := r.readNewest(ctx); err != nil {
		return err
	}
	kept, found, err := r.Env.API.GetStateVersion(ctx, r.Restore.Version)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("there is no version %d of this state; `nuon state list` shows those that there are",
			r.Restore.Version)
	}
	if kept.Digest != r.Restore.Digest {
		return fmt.Errorf("version %d of this state is another one than was asked for (%s now, %s then); do not restore "+
			"it, look at the audit log",
			r.Restore.Version, kept.Digest, r.Restore.Digest)
	}
	if r.to, err = r.open(kept); err != nil {
		return fmt.Errorf("version %d: %w", r.Restore.Version, err)
	}
	return nil
}

// readNewest reads the newest version. One that is sealed to a lost key can be replaced,
// and that may be the only remedy.
func (r *restoreSession) readNewest(ctx context.Context) error {
	kept, found, err := guardOf(r.Operation).GetState(ctx)
	if err != nil || !found {
		return err
	}
	if kept.Sealed.KeyID != r.Env.Key.KeyID() {
		r.now, r.foreignKey = state.Version{Serial: kept.Serial, Lineage: kept.Lineage}, kept.Sealed.KeyID
		return nil
	}
	r.now, err = r.open(kept)
	return err
}

func (r *restoreSession) open(kept api.State) (state.Version, error) {
	version, err := state.OpenVersion(kept, r.Env.Key, state.ContextOf(r.Deploy))
	if err == nil {
		version.Sensitive(func(secret []byte) { r.Env.Redact.Add(secret) })
	}
	return version, err
}

// Report describes what the state gains and loses.
func (r *restoreSession) Report(context.Context) (*diff.Report, error) {
	made, err := state.DiffVersions(r.now, r.to)
	if err == nil && r.foreignKey != "" {
		made.Applyable = true
		made.Notes = append(made.Notes, fmt.Sprintf("The newest version is sealed to the key %s, which is not this "+
			"runner's, so nobody can say what the state loses.", r.foreignKey))
	}
	return made, err
}

// Plan compares the two versions. It stores no files, because the control plane stores both
// versions, and they are checked when they are read.
func (r *restoreSession) Plan(ctx context.Context) (deploy.Plan, error) {
	report, err := r.Report(ctx)
	return deploy.Plan{Report: report, Observed: observation(r.now)}, err
}

// Observe returns the newest version.
func (r *restoreSession) Observe(context.Context) (deploy.Observation, error) {
	return observation(r.now), nil
}

// CurrentState returns the outputs of the newest version.
func (r *restoreSession) CurrentState(context.Context) (made deploy.ComponentState, err error) {
	made.Outputs, err = outputsOf(r.now, r.Env.Key, r.Deploy, r.Secrets)
	return made, err
}

// Apply writes the content of the version as the newest one.
func (r *restoreSession) Apply(ctx context.Context) (deploy.ComponentState, error) {
	lineage := cmp.Or(r.now.Lineage, r.to.Lineage)
	// A serial that this runner has delivered is never used again: a plan that was made from it would fit again.
	_, serials, _, err := spool.Spool{Root: r.Env.Root}.CachedState(r.Deploy.InstallComponent)
	if err != nil {
		return deploy.ComponentState{}, err
	}
	made, err := r.to.WithSerial(max(r.now.Serial, serials[lineage])+1, lineage)
	if err != nil {
		return deploy.ComponentState{}, err
	}
	// This is done before the state is written: unreadable outputs must not fail a job
	// that has done its work.
	outputs, err := outputsOf(made, r.Env.Key, r.Deploy, r.Secrets)
	if err != nil {
		return deploy.ComponentState{}, err
	}
	if err := ctx.Err(); err != nil {
		return deploy.ComponentState{}, fmt.Errorf("nothing was restored: %w", context.Cause(ctx))
	}
	if err := r.store(ctx, made); err != nil {
		return deploy.ComponentState{}, err
	}
	r.Env.Log.Info("version %d of the state (serial %d) is the newest now, as serial %d", r.Restore.Version,
		r.to.Serial, made.Serial)
	return deploy.ComponentState{Outputs: outputs}, nil
}

// store writes the version to the spool or, if the disk is full, delivers it immediately.
func (r *restoreSession) store(ctx context.Context, made state.Version) error {
	closed, err := state.SealVersion(made, r.Env.Key, state.ContextOf(r.Deploy))
	if err != nil {
		return err
	}
	spooling := r.Env.API.SpoolState(closed)
	if spooling == nil {
		return nil
	}
	if delivering := r.Env.API.DeliverState(ctx, closed); delivering != nil {
		return errors.Join(spooling, delivering)
	}
	r.Env.Log.Warn("%v; the state was delivered at once instead: make room on the disk", spooling)
	return nil
}

// lockWithRetry takes the state lock as Terraform does, waiting for an attempt that is just
// ending.
func lockWithRetry(ctx context.Context, env *job.Env) error {
	lock := api.StateLock{ID: rand.Text()}
	var err error
	if lock.Info, err = json.Marshal(map[string]string{"ID": lock.ID, "Operation": "restore", "Who": "nuon"}); err != nil {
		return fmt.Errorf("describe the state lock: %w", err)
	}
	for begun := time.Now(); ; {
		err := env.API.LockState(ctx, lock)
		var held *job.LockedError
		if err == nil || !errors.As(err, &held) || time.Since(begun) > env.Timing.UnlockTimeout {
			return err
		}
		if !backoff.Pause(ctx, env.Timing.BackoffMin) {
			return err
		}
	}
}
