package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Apply is the handler of apply jobs.
type Apply struct {
	// before, if set, is called before each write and each wait, with words for it. Tests end the process there.
	before func(what string)
}

// margin is what a wait leaves of the job's time, so that what it waited for in vain can be told.
const margin = 20 * time.Second

// Run applies the objects of a bundle, and no others: when anything that matters moved since the plan, the result is stale and nothing was
// done. An apply that was killed on its way is healed by the next plan and apply: every request says the whole of what is wanted.
func (h Apply) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Apply
	opened, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	plan, known, err := pullBundle(ctx, env)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := sameBasis(spec, plan.note); err != nil {
		return api.JobResult{}, err
	}
	session, err := open(env, spec.Deploy, opened)
	if err != nil {
		return api.JobResult{}, err
	}
	session.known = known // the report was masked with these
	if now := session.cluster.Identity(); now != spec.Basis.Cluster {
		return api.JobResult{}, job.Stale("the component's cluster is another one than the plan was made for")
	}
	seen, err := session.same(ctx, spec, plan)
	if err != nil {
		return api.JobResult{}, err
	}
	return session.applied(ctx, &change{session: session, seen: seen, before: h.before}, plan)
}

// sameBasis: the bundle must be that of the plan that was approved.
func sameBasis(spec api.ApplySpec, noted note) error {
	switch {
	case noted.Basis != spec.Basis:
		return job.Stale("the plan bundle was made from something else than the plan that was approved")
	case spec.Deploy.Artifact.Digest != spec.Basis.Artifact:
		return job.Stale("the component's artifact is %s now, and was %s when the plan was made", spec.Deploy.Artifact.Digest, spec.Basis.Artifact)
	case noted.Destroy != spec.Destroy:
		return job.Stale("the plan that was approved and the plan in the bundle differ in whether they destroy everything")
	}
	return nil
}

// same asks the server again, and makes sure that the report is the one that was approved.
func (s *session) same(ctx context.Context, spec api.ApplySpec, plan saved) (*survey, error) {
	seen, err := s.look(ctx, plan.objects, plan.note.Inventory)
	var refused *refusal
	if errors.As(err, &refused) {
		return nil, job.Stale("the cluster refuses now what it took when the plan was made: %v", refused)
	}
	if err != nil {
		return nil, err
	}
	report, err := s.report(seen)
	if err != nil {
		return nil, err
	}
	if report.Digest() != spec.ReportDigest {
		return nil, job.Stale("%s", moved(plan.report, report))
	}
	return seen, nil
}

// applied makes the change, waits until what it made is ready, and gives outputs and health.
func (s *session) applied(ctx context.Context, change *change, plan saved) (api.JobResult, error) {
	waiting, done := untilMargin(ctx)
	defer done()
	if err := change.run(waiting); err != nil {
		return api.JobResult{}, err
	}
	if plan.note.Destroy {
		return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: []api.Output{}}}, nil
	}
	change.step("wait")
	health, err := s.cluster.Wait(ctx, refs(plan.objects), remaining(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return api.JobResult{}, err
		}
		return api.JobResult{
			Status: api.JobResultStatusFailed, Error: s.env.Redact.String(err.Error()),
			Apply: api.ApplyResult{Outputs: []api.Output{}, Health: health},
		}, nil
	}
	outputs, err := s.outputs(ctx, plan.objects)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: outputs, Health: health, Cluster: s.identity()}}, nil
}

// untilMargin is a context that ends before the job does.
func untilMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, remaining(ctx))
}

// remaining is how long a wait may take.
func remaining(ctx context.Context) time.Duration {
	end, bounded := ctx.Deadline()
	if !bounded {
		return 15 * time.Minute // the default of deploy_timeout
	}
	return max(time.Until(end)-margin, time.Second)
}

// outputs are those of the component: its manifest, sealed, and what the objects are known by.
func (s *session) outputs(ctx context.Context, objects []*wanted) ([]api.Output, error) {
	from, secret := values.ComponentOf(s.deploy), s.known.Contains()
	made, err := s.cluster.Outputs(ctx, refs(objects), from, s.env.Key, secret)
	if err != nil {
		return nil, err
	}
	var text string
	for _, w := range objects {
		part, err := yaml.Marshal(w.Object)
		if err != nil {
			return nil, fmt.Errorf("write the manifest for the outputs: %w", err)
		}
		text += "---\n" + string(part)
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("write the manifest for the outputs: %w", err)
	}
	manifest, err := values.Output(from, "manifest", encoded, true, s.env.Key, secret)
	return append(made, manifest), err
}
