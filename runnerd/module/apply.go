package module

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/state"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Apply is the handler of apply jobs.
type Apply struct{}

// Run applies the plan of a bundle, and no other: when anything that the plan was made from has moved, the result is stale and
// nothing was done. Whatever state Terraform wrote is in the spool, also when the apply failed or was cancelled.
func (Apply) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	if env.Spec.Apply.Restore.Version > 0 {
		return applyRestore(ctx, env)
	}
	return apply(ctx, env)
}

func apply(ctx context.Context, env *job.Env) (result api.JobResult, err error) {
	spec := env.Spec.Apply
	// Only to make them known to the redactor: what was rendered is in the bundle.
	if _, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact); err != nil {
		return api.JobResult{}, err
	}
	opened, known, err := pullBundle(ctx, env, spec)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := sameBasis(spec, opened.note); err != nil {
		return api.JobResult{}, err
	}
	if err := sameTarget(opened.note.Target, ambient.Target(os.Environ())); err != nil {
		return api.JobResult{}, err
	}
	packed, err := env.Install.Pull(ctx, spec.Deploy.Artifact)
	if err != nil {
		return api.JobResult{}, err
	}
	session, err := open(ctx, env, spec.Deploy)
	if err != nil {
		return api.JobResult{}, err
	}
	// What was done counts more than that the cleaning up went wrong.
	defer func() {
		if closing := session.close(ctx); closing != nil {
			env.Log.Warn("after the apply: %v", closing)
		}
	}()
	if session.place.root != opened.note.Workplace {
		return api.JobResult{}, job.Stale("the plan was made in %s, and this runner works in %s", opened.note.Workplace, session.place.root)
	}
	if err := session.sameState(ctx, spec.Basis); err != nil {
		return api.JobResult{}, err
	}
	if _, err := (&variables{files: opened.vars}).write(session.place); err != nil {
		return api.JobResult{}, err
	}
	if err := os.WriteFile(session.place.plan(), opened.plan, 0o600); err != nil {
		return api.JobResult{}, fmt.Errorf("restore the plan file: %w", err)
	}
	if err := session.prepare(ctx, packed, opened.tree, opened.note.Environ); err != nil {
		return api.JobResult{}, err
	}
	if err := session.sameReport(ctx, spec, opened.note, known); err != nil {
		return api.JobResult{}, err
	}
	return session.applied(ctx, known)
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

// sameTarget: the runner's own identity must work on the same account, cluster and region as when the plan was made. Providers
// read these variables once more at apply.
func sameTarget(then, now map[string]string) error {
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(then)), slices.Sorted(maps.Keys(now))) {
		if then[name] != now[name] {
			// Without the values: they name the customer's accounts.
			return job.Stale("the runner has another %s in its environment than when the plan was made", name)
		}
	}
	return nil
}

// sameState: nobody else may have written the state since the plan.
func (s *session) sameState(ctx context.Context, basis api.Basis) error {
	now, err := s.endpoint.Read(ctx)
	if err != nil {
		return err
	}
	return sameVersion(now, basis)
}

// sameVersion: now must be what the plan was made for.
func sameVersion(now state.Version, basis api.Basis) error {
	if now.Lineage != basis.StateLineage {
		return job.Stale("the state is another one than the plan was made for (lineage %q now, %q then)", now.Lineage, basis.StateLineage)
	}
	if now.Serial != basis.StateSerial {
		return job.Stale("the state moved from serial %d to %d since the plan was made", basis.StateSerial, now.Serial)
	}
	return nil
}

// sameReport: the plan in the bundle, described anew, must be what was shown.
func (s *session) sameReport(ctx context.Context, spec api.ApplySpec, noted note, known *values.Secrets) error {
	if s.terraform.tool.Version != noted.Terraform {
		return job.Stale("the plan was made by Terraform %s, and this runner has %s now", noted.Terraform, s.terraform.tool.Version)
	}
	report, err := s.report(ctx, known)
	if err != nil {
		return err
	}
	if digest := report.Digest(); digest != spec.ReportDigest {
		return job.Stale("the stored plan says something else (%s) than what was approved (%s)", digest, spec.ReportDigest)
	}
	return nil
}

// applied runs the apply and gives the outputs of the state that came of it.
func (s *session) applied(ctx context.Context, known *values.Secrets) (api.JobResult, error) {
	done, err := s.terraform.apply(ctx, s.place.plan())
	err = s.said(err)
	if stray := s.keepStray(ctx); stray != nil {
		err = errors.Join(err, stray)
		done = false
	}
	if isSavedPlanStale(err) {
		return api.JobResult{}, job.Stale("Terraform says that the state moved since the plan was made")
	}
	if !done {
		return api.JobResult{}, err
	}
	outputs, err := outputsOf(s.endpoint.Last(), s.env.Key, s.spec, known)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Apply: api.ApplyResult{Outputs: outputs}}, nil
}

// keepStray saves a state that Terraform could not hand over, before the workplace goes: one that it left in a file, or, when the
// disk had no room for that either, printed. The error says that this state is lost to us.
func (s *session) keepStray(ctx context.Context) error {
	content, err := s.place.strayState()
	if err == nil && content == nil && s.terraform != nil {
		content = s.terraform.dumped
	}
	if err != nil || content == nil {
		return err
	}
	keeping := s.endpoint.Keep(ctx, content, firstLineage(s.env.Spec))
	if keeping == nil {
		s.env.Log.Warn("Terraform could not hand over its last state; it was found and is kept")
		return nil
	}
	return fmt.Errorf("the last state that Terraform wrote could not be kept: %w; make room on the runner's disk, and plan again: what exists is found by the next refresh only as far as the state names it", keeping)
}
