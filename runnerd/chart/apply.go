package chart

import (
	"context"
	"errors"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/helm"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Apply is the handler of apply jobs.
type Apply struct{}

// Run applies the plan of a bundle, and no other: the templates are those that were rendered for the plan, byte for byte. When what the
// plan was made from has moved in a way that matters, the result is stale and nothing was done. The objects are waited for; if they do not
// become ready the release is marked as failed, and the result says why, with their health.
func (Apply) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Apply
	opened, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	saved, known, err := pullBundle(ctx, env, spec)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := sameBasis(spec, saved.note); err != nil {
		return api.JobResult{}, err
	}
	s, err := open(ctx, env, spec.Deploy, saved.note.settings, opened, known)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := s.sameWorld(spec.Basis); err != nil {
		return api.JobResult{}, err
	}
	if spec.Destroy {
		return s.applyDestroy(ctx, saved)
	}
	return s.applyChange(ctx, saved)
}

// sameBasis: the bundle must be that of the plan that was approved.
func sameBasis(spec api.ApplySpec, noted note) error {
	switch {
	case noted.Basis != spec.Basis:
		return job.Stale("the plan bundle was made from something else than the plan that was approved")
	case noted.ReportDigest != spec.ReportDigest:
		return job.Stale("the plan bundle says something else (%s) than what was approved (%s)", noted.ReportDigest, spec.ReportDigest)
	case spec.Deploy.Artifact.Digest != spec.Basis.Artifact:
		return job.Stale("the component's chart is %s now, and was %s when the plan was made", spec.Deploy.Artifact.Digest, spec.Basis.Artifact)
	case noted.Destroy != spec.Destroy:
		return job.Stale("the plan that was approved and the plan in the bundle differ in whether they destroy everything")
	case noted.TakeOwnership != spec.Deploy.Helm.TakeOwnership:
		return job.Stale("the component has another take_ownership now than when the plan was made")
	}
	return nil
}

// sameWorld: it must be the same cluster, and nobody may have worked on the release since the plan.
func (s *session) sameWorld(basis api.Basis) error {
	if now := s.cluster.Identity(); now != basis.Cluster {
		return job.Stale("the plan was made for another cluster than the one that the runner finds now at %s", s.cluster.Address())
	}
	if s.observed() == basis.Observed {
		return nil
	}
	if len(s.history) == 0 {
		return job.Stale("the release %s was there when the plan was made, and is gone", s.Release)
	}
	last := s.history[len(s.history)-1]
	return job.Stale("somebody worked on the release %s since the plan was made: its revision %d is %s now", s.Release, last.Revision, last.Status)
}

// sameReport asks once more what the plan comes to. Where that is not what was approved, nothing is done.
func (s *session) sameReport(ctx context.Context, saved savedPlan, q question) error {
	report, err := s.report(ctx, q)
	if err != nil {
		return err
	}
	if digest := report.Digest(); digest != saved.note.ReportDigest {
		return job.Stale("%s", moved(saved.report, report))
	}
	return nil
}

// applyDestroy uninstalls the release.
func (s *session) applyDestroy(ctx context.Context, saved savedPlan) (api.JobResult, error) {
	if err := s.sameReport(ctx, saved, question{decision: saved.note.Decision}); err != nil {
		return api.JobResult{}, err
	}
	if err := s.client.Heal(ctx, s.Release, saved.note.Decision, s.owner()); err != nil {
		return api.JobResult{}, err
	}
	done, err := s.client.Uninstall(ctx, helm.UninstallRequest{Release: s.Release, Decision: saved.note.Decision, Owner: s.owner(), Timeout: left(ctx)})
	for _, kept := range done.Kept {
		s.env.Log.Info("%s stays, as its annotation helm.sh/resource-policy says", kept)
	}
	if err != nil {
		return api.JobResult{}, err
	}
	s.env.Log.Info("the release %s is gone, with %d objects", s.Release, len(done.Gone))
	return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: []api.Output{}}}, nil
}

// applyChange installs or upgrades the release.
func (s *session) applyChange(ctx context.Context, saved savedPlan) (api.JobResult, error) {
	chart, err := pullChart(ctx, s.env, s.deploy.Artifact)
	if err != nil {
		return api.JobResult{}, err
	}
	if s.values, err = helm.ReadValues("the values of the plan", saved.values); err != nil {
		return api.JobResult{}, err
	}
	rendered, err := helm.Compose(chart, s.values, saved.templates)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := s.sameReport(ctx, saved, question{decision: saved.note.Decision, rendered: rendered, again: saved.again, crds: saved.note.CRDs, strays: saved.note.Strays}); err != nil {
		return api.JobResult{}, err
	}
	if err := s.client.Heal(ctx, s.Release, saved.note.Decision, s.owner()); err != nil {
		return api.JobResult{}, err
	}
	release, err := s.client.Apply(ctx, helm.ApplyRequest{
		Release: s.Release, Chart: chart, Values: s.values, Rendered: rendered, Digest: saved.note.Rendered, Decision: saved.note.Decision,
		Owner: s.owner(), TakeOwnership: saved.note.TakeOwnership, Timeout: left(ctx), Wait: true, WaitTimeout: left(ctx),
	})
	if err != nil {
		return s.failed(ctx, release, err)
	}
	return s.applied(ctx, release)
}

// failed gives a failure with how the objects are: those that did not become ready are what a person asks for next.
func (s *session) failed(ctx context.Context, release *helm.Release, failure error) (api.JobResult, error) {
	var unready *cluster.NotReadyError
	if release == nil || !errors.As(failure, &unready) {
		return api.JobResult{}, failure
	}
	refs, err := s.refs(release)
	if err != nil {
		return api.JobResult{}, failure // it says more than err
	}
	health, err := s.cluster.Health(ctx, refs)
	if err != nil {
		return api.JobResult{}, failure // it says more than err
	}
	return api.JobResult{Status: api.JobResultStatusFailed, Error: failure.Error(), Apply: api.ApplyResult{Outputs: []api.Output{}, Health: health}}, nil
}

// applied gives the outputs of a release whose objects are ready.
func (s *session) applied(ctx context.Context, release *helm.Release) (api.JobResult, error) {
	refs, err := s.refs(release)
	if err != nil {
		return api.JobResult{}, err
	}
	health, err := s.cluster.Health(ctx, refs)
	if err != nil {
		return api.JobResult{}, err
	}
	outputs, err := s.outputs(ctx, release, refs)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: outputs, Health: health, Cluster: s.identity()}}, nil
}
