package module

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/state"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// restoring is the plan, or the apply, of making a version of the state the newest. Terraform is not asked, and nothing that
// exists is touched: what follows from it is planned afterwards.
type restoring struct {
	env    *job.Env
	module api.DeploySpec
	asked  api.Restore
	now    state.Version // the newest; the zero Version when there is none
	closed string        // the key that the newest is sealed to, when that is not this runner's; it is not known then what is in it
	to     state.Version
	known  *values.Secrets
}

// openRestore reads both versions.
func openRestore(ctx context.Context, env *job.Env, module api.DeploySpec, asked api.Restore) (*restoring, error) {
	if env.Key.IsZero() {
		return nil, errors.New("this runner has no install key, so no state can be opened; start it with a key file")
	}
	opened, err := values.Open(module.InstallID, module.Values, env.Key, env.Redact)
	if err != nil {
		return nil, err
	}
	made := &restoring{env: env, module: module, asked: asked, known: opened.Secrets}
	if err := made.readNewest(ctx); err != nil {
		return nil, err
	}
	kept, found, err := env.API.GetStateVersion(ctx, asked.Version)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("there is no version %d of this state; `nuon state list` shows those that there are", asked.Version)
	}
	if kept.Digest != asked.Digest {
		return nil, fmt.Errorf("version %d of this state is another one than was asked for (%s now, %s then); do not restore it, look at the audit log", asked.Version, kept.Digest, asked.Digest)
	}
	if made.to, err = made.open(kept); err != nil {
		return nil, fmt.Errorf("version %d: %w", asked.Version, err)
	}
	return made, nil
}

// readNewest reads what is the newest now. One that is sealed to a key that is gone can be replaced, and that may be the only way
// on.
func (r *restoring) readNewest(ctx context.Context) error {
	kept, found, err := r.env.API.GetState(ctx)
	if err != nil || !found {
		return err
	}
	if kept.Sealed.KeyID != r.env.Key.KeyID() {
		r.now, r.closed = state.Version{Serial: kept.Serial, Lineage: kept.Lineage}, kept.Sealed.KeyID
		return nil
	}
	r.now, err = r.open(kept)
	return err
}

func (r *restoring) open(kept api.State) (state.Version, error) {
	version, err := state.Opened(kept, r.env.Key, state.ContextOf(r.module))
	if err == nil {
		version.Sensitive(func(secret []byte) { r.env.Redact.Add(secret) })
	}
	return version, err
}

// report says what the state gains and loses.
func (r *restoring) report() (*diff.Report, error) {
	made, err := state.Difference(r.now, r.to)
	if err == nil && r.closed != "" {
		made.Applyable = true
		made.Notes = append(made.Notes, fmt.Sprintf("The newest version is sealed to the key %s, which is not this runner's, so nobody can say what the state loses.", r.closed))
	}
	return made, err
}

// planRestore says what the state would gain and lose. There is no bundle: all that the apply needs is in the basis.
func planRestore(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Plan
	r, err := openRestore(ctx, env, spec.Deploy, spec.Restore)
	if err != nil {
		return api.JobResult{}, err
	}
	report, err := r.report()
	if err != nil {
		return api.JobResult{}, err
	}
	encoded, err := json.Marshal(report)
	if err != nil {
		return api.JobResult{}, fmt.Errorf("write the report: %w", err)
	}
	made := api.PlanResult{
		Applyable: report.Applyable, Bundle: api.ArtifactRef{Repository: spec.Deploy.Repository},
		Report: encoded, ReportDigest: report.Digest(), Destructive: report.Destructive(),
		Basis: api.Basis{
			DesiredDigest: spec.DesiredDigest, Artifact: spec.Deploy.Artifact.Digest,
			StateSerial: r.now.Serial, StateLineage: r.now.Lineage,
		},
	}
	if !made.Applyable {
		if made.Outputs, err = outputsOf(r.now, env.Key, spec.Deploy, r.known); err != nil {
			return api.JobResult{}, err
		}
	}
	return api.JobResult{Status: job.Succeeded, Plan: made}, nil
}

// applyRestore writes the content of the version as the newest one, under the lock, when the newest is still the one that the plan
// was made for.
func applyRestore(ctx context.Context, env *job.Env) (result api.JobResult, err error) {
	spec := env.Spec.Apply
	if err := lockPatiently(ctx, env); err != nil {
		return api.JobResult{}, err
	}
	defer func() {
		// What was done counts more than that the lock is not free yet.
		if freeing := env.API.UnlockState(ctx); freeing != nil {
			env.Log.Warn("free the state lock: %v", freeing)
		}
	}()
	r, err := openRestore(ctx, env, spec.Deploy, spec.Restore)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := sameVersion(r.now, spec.Basis); err != nil {
		return api.JobResult{}, err
	}
	report, err := r.report()
	if err != nil {
		return api.JobResult{}, err
	}
	if digest := report.Digest(); digest != spec.ReportDigest {
		return api.JobResult{}, job.Stale("the difference of the two versions is another one (%s) than what was approved (%s)", digest, spec.ReportDigest)
	}
	lineage := r.now.Lineage
	if lineage == "" {
		lineage = r.to.Lineage
	}
	made, err := r.to.Under(r.now.Serial+1, lineage)
	if err != nil {
		return api.JobResult{}, err
	}
	// Read before it is written: outputs that cannot be read must not end a job that has done its work.
	outputs, err := outputsOf(made, env.Key, spec.Deploy, r.known)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return api.JobResult{}, fmt.Errorf("nothing was restored: %w", context.Cause(ctx))
	}
	if err := r.keep(ctx, made); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("version %d of the state (serial %d) is the newest now, as serial %d", spec.Restore.Version, r.to.Serial, made.Serial)
	return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: outputs}}, nil
}

// keep puts the version into the spool, or, when the disk takes no more, delivers it at once.
func (r *restoring) keep(ctx context.Context, made state.Version) error {
	closed, err := state.Sealed(made, r.env.Key, state.ContextOf(r.module))
	if err != nil {
		return err
	}
	spooling := r.env.API.SpoolState(closed)
	if spooling == nil {
		return nil
	}
	if delivering := r.env.API.DeliverState(ctx, closed); delivering != nil {
		return errors.Join(spooling, delivering)
	}
	r.env.Log.Warn("%v; the state was delivered at once instead: make room on the disk", spooling)
	return nil
}

// lockPatiently takes the state lock as Terraform does: an attempt that is just ending is waited for.
func lockPatiently(ctx context.Context, env *job.Env) error {
	lock := api.StateLock{ID: rand.Text()}
	var err error
	if lock.Info, err = json.Marshal(map[string]string{"ID": lock.ID, "Operation": "restore", "Who": "nuon"}); err != nil {
		return fmt.Errorf("describe the state lock: %w", err)
	}
	for begun := time.Now(); ; {
		err := env.API.LockState(ctx, lock)
		var held *job.LockedError
		if err == nil || !errors.As(err, &held) || time.Since(begun) > env.Timing.UnlockTry {
			return err
		}
		if !contact.Pause(ctx, env.Timing.BackoffFirst) {
			return err
		}
	}
}
