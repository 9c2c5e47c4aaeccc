package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// ApplyHandler returns the handler of a kind's apply jobs. It applies only the plan
// of the approved bundle. When any input of the plan has changed, the result is stale
// and nothing is changed.
func ApplyHandler(kind Kind) job.Handler {
	return job.HandlerFunc(func(whole context.Context, env *job.Env) (api.JobResult, error) {
		ctx, stop := withJobLimit(whole, env)
		defer stop()
		made, err := apply(ctx, env, kind)
		switch {
		case err == nil:
			return api.JobResult{Status: job.Succeeded, Apply: made}, nil
		case whole.Err() == nil && made.Health.Status != "":
			failed := api.JobResult{Status: api.JobResultStatusFailed, Error: env.Redact.String(err.Error()), Apply: made}
			return failed, nil
		}
		return api.JobResult{}, err
	})
}

func apply(ctx context.Context, env *job.Env, kind Kind) (api.ApplyResult, error) {
	spec := env.Spec.Apply
	opened, err := openValues(ctx, env, spec.Deploy, spec.Destroy)
	if err != nil {
		return api.ApplyResult{}, err
	}
	plan, err := pullBundle(ctx, env, spec)
	if err != nil {
		return api.ApplyResult{}, err
	}
	if err := plan.checkApproved(spec); err != nil {
		return api.ApplyResult{}, err
	}

	op := &Operation{
		Env: env, Deploy: spec.Deploy, Destroy: spec.Destroy, Restore: spec.Restore,
		Values: opened, Secrets: values.NewSecrets(env.Redact, plan.metadata.Secrets...),
		Stored: &Stored{Files: plan.files, Environ: plan.metadata.Environ},
	}
	session, err := kind.Open(ctx, op)
	if err != nil {
		return api.ApplyResult{}, err
	}
	// A failed cleanup does not change the result of the apply.
	defer func() {
		if closing := session.Close(ctx); closing != nil {
			env.Log.Warn("after the apply: %v", closing)
		}
	}()

	if err := checkUnchanged(ctx, session, spec, plan); err != nil {
		return api.ApplyResult{}, err
	}
	done, err := session.Apply(ctx)
	made := api.ApplyResult{Outputs: done.Outputs, Health: done.Health}
	if made.Outputs == nil {
		made.Outputs = []api.Output{}
	}
	if err == nil && !spec.Destroy {
		made.Cluster = op.cluster(spec.Basis.Cluster)
	}
	return made, err
}

// checkApproved returns a stale error for a bundle that does not belong to the approved plan,
// and for a plan that was made in another environment.
func (b bundle) checkApproved(spec api.ApplySpec) error {
	settings, err := settingsDigest(spec.Deploy)
	if err != nil {
		return err
	}
	noted := b.metadata
	switch {
	case noted.Basis != spec.Basis:
		return job.Stalef("the plan bundle has another basis than the approved plan")
	case noted.ReportDigest != spec.ReportDigest:
		return job.Stalef("the plan bundle has the report %s, and %s was approved",
			noted.ReportDigest, spec.ReportDigest)
	case spec.Deploy.Artifact.Digest != spec.Basis.Artifact:
		return job.Stalef("the component's artifact is %s now, and was %s when the plan was made",
			spec.Deploy.Artifact.Digest, spec.Basis.Artifact)
	case noted.Settings != settings:
		return job.Stalef("the settings of the component changed since the plan was made")
	case noted.Destroy != spec.Destroy:
		return job.Stalef("the plan that was approved and the plan in the bundle differ in whether they destroy " +
			"everything")
	case noted.Restore != spec.Restore:
		return job.Stalef("the plan that was approved and the plan in the bundle differ in which version of the " +
			"state they restore")
	}
	if err := checkEnviron(noted.Environ); err != nil {
		return fmt.Errorf("%w; plan again", err)
	}
	return checkTarget(noted.Target, jobenv.Target(os.Environ()))
}

// checkTarget returns a stale error for a plan that was made while the runner's own
// identity worked on another account, cluster or region. Programs read these variables
// again during the apply.
func checkTarget(then, now map[string]string) error {
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(then)), slices.Sorted(maps.Keys(now))) {
		if then[name] != now[name] {
			// The error omits the values, because they name the customer's accounts.
			return job.Stalef("the runner has another %s in its environment than when the plan was made", name)
		}
	}
	return nil
}

// checkUnchanged returns a stale error when the observed basis differs from the plan's, or when
// the plan now produces another report.
func checkUnchanged(ctx context.Context, session Session, spec api.ApplySpec, plan bundle) error {
	now, err := session.Observe(ctx)
	if err != nil {
		return err
	}
	if err := now.checkBasis(spec.Basis); err != nil {
		return err
	}

	report, err := session.Report(ctx)
	if refused := (*RejectedError)(nil); errors.As(err, &refused) {
		return job.Stalef("what was accepted when the plan was made is now rejected: %v", refused)
	}
	if err != nil {
		return err
	}
	var then diff.Report
	if err := json.Unmarshal(plan.report, &then); err != nil {
		return fmt.Errorf("read the report in the plan bundle: %w; plan again", err)
	}
	if len(then.Policies) > 0 { // they decided about this plan, whose changes must be the same
		report.SetPolicies(then.Policies)
	}
	if report.Digest() != spec.ReportDigest {
		return job.Stalef("%s", explainDrift(plan.report, report))
	}
	return nil
}

// checkBasis returns a stale error when the observation differs from the basis of the plan.
func (o Observation) checkBasis(then api.Basis) error {
	switch {
	case o.StateLineage != then.StateLineage:
		return job.Stalef("the plan was made for another state (lineage %q now, %q then)",
			o.StateLineage, then.StateLineage)
	case o.StateSerial != then.StateSerial:
		return job.Stalef("the state moved from serial %d to %d since the plan was made", then.StateSerial, o.StateSerial)
	case o.Cluster != then.Cluster:
		return job.Stalef("the plan was made for another cluster than the runner's")
	case o.Observed != then.Observed:
		return job.Stalef("%s", cmp.Or(o.Changed, "the live objects changed since the plan was made"))
	}
	return nil
}
