package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/helm"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Plan is the handler of plan jobs.
type Plan struct{}

// Run plans: it renders the chart against the cluster and asks the server what each object's own request would make of it. It changes
// nothing. The result has the masked report, and either the sealed bundle that an apply needs, or, when there is nothing to apply, the
// outputs as they stand. Whatever the server refuses is told at once, and no plan is made.
func (Plan) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	made, err := plan(ctx, env)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Plan: made}, nil
}

func plan(ctx context.Context, env *job.Env) (api.PlanResult, error) {
	spec := env.Spec.Plan
	// First what needs nobody: a template that cannot be rendered.
	opened, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.PlanResult{}, err
	}
	at, err := settledFor(spec, opened)
	if err != nil {
		return api.PlanResult{}, err
	}
	s, err := open(ctx, env, spec.Deploy, at, opened, opened.Secrets)
	if err != nil {
		return api.PlanResult{}, err
	}
	decision, err := s.decide(spec.Destroy)
	if err != nil {
		return api.PlanResult{}, err
	}
	if spec.Destroy {
		return s.planDestroy(ctx, spec, decision)
	}
	return s.planChange(ctx, spec, decision)
}

// settledFor renders what a plan needs: to destroy a release, only where it is.
func settledFor(spec api.PlanSpec, opened *values.Values) (settings, error) {
	if spec.Destroy {
		return place(spec.Deploy.Helm, opened)
	}
	return settle(spec.Deploy.Helm, opened)
}

func (s *session) planDestroy(ctx context.Context, spec api.PlanSpec, decision helm.Decision) (api.PlanResult, error) {
	strays, err := s.strays(ctx, spec.Deploy)
	if err != nil {
		return api.PlanResult{}, err
	}
	if len(strays) > 0 {
		// The control plane would think that nothing of the component is left.
		return api.PlanResult{}, errors.New(strings.Join(strays, "\n"))
	}
	report := &diff.Report{Kind: diff.KindKubernetes}
	if decision.Action != helm.ActionNothing {
		if report, err = s.report(ctx, question{decision: decision}); err != nil {
			return api.PlanResult{}, err
		}
	}
	return s.planned(ctx, spec, report, savedPlan{note: note{Decision: decision}})
}

func (s *session) planChange(ctx context.Context, spec api.PlanSpec, decision helm.Decision) (api.PlanResult, error) {
	chart, err := pullChart(ctx, s.env, spec.Deploy.Artifact)
	if err != nil {
		return api.PlanResult{}, err
	}
	rendered, again, err := s.render(ctx, chart, decision)
	if err != nil {
		return api.PlanResult{}, err
	}
	if err := s.weigh(chart, rendered); err != nil {
		return api.PlanResult{}, err
	}
	learnSecrets(rendered, s.known)
	learnSecrets(again, s.known)
	q := question{decision: decision, rendered: rendered, again: append([]byte(again.Manifest+"\n"), hooksText(again.Hooks)...), crds: notedCRDs(rendered)}
	if q.strays, err = s.strays(ctx, spec.Deploy); err != nil {
		return api.PlanResult{}, err
	}
	report, err := s.report(ctx, q)
	if err != nil {
		return api.PlanResult{}, err
	}
	encoded, err := json.Marshal(s.values)
	if err != nil {
		return api.PlanResult{}, fmt.Errorf("write the values: %w", err)
	}
	return s.planned(ctx, spec, report, savedPlan{
		note:      note{Decision: decision, Rendered: rendered.Digest(), CRDs: q.crds, Strays: q.strays},
		templates: rendered.Templates, again: q.again, values: encoded,
	})
}

// strays are the releases that the component made under another name, in another namespace or with the other storage driver than it has
// now: nothing takes them away by itself, because their settings are nowhere any more.
func (s *session) strays(ctx context.Context, deploy api.DeploySpec) ([]string, error) {
	found, err := s.client.Strays(ctx, deploy.InstallComponent, s.Release)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, each := range found {
		made = append(made, diff.Neutral("Before its settings were changed the component made "+each.String()))
	}
	return made, nil
}

// render renders twice, to find what is made anew each time.
func (s *session) render(ctx context.Context, chart *helm.Chart, decision helm.Decision) (first, second *helm.Rendered, err error) {
	if chart.Deprecated() {
		s.env.Log.Warn("the chart %s is deprecated: its authors advise against it", diff.Neutral(chart.Info().Name))
	}
	request := helm.RenderRequest{
		Release: s.Release, Namespace: s.Namespace, Values: s.values,
		Upgrade: decision.Action == helm.ActionUpgrade, Revision: decision.Revision,
	}
	if first, err = s.client.Render(ctx, chart, request); err != nil {
		return nil, nil, err
	}
	second, err = s.client.Render(ctx, chart, request)
	return first, second, err
}

// weigh: a record that is too large is refused by the server after everything else was done, so it must not come to that.
func (s *session) weigh(chart *helm.Chart, rendered *helm.Rendered) error {
	size, err := helm.RecordSize(chart, s.values, rendered)
	if err != nil {
		return err
	}
	const remedy = "leave files out of the chart with .helmignore, or split it"
	switch {
	case size >= helm.MaxRecord:
		return fmt.Errorf("the record of this release has %d bytes, and Kubernetes takes %d; %s", size, helm.MaxRecord, remedy)
	case size >= helm.WarnRecord:
		s.env.Log.Warn("the record of this release has %d bytes, of %d that Kubernetes takes; %s", size, helm.MaxRecord, remedy)
	}
	return nil
}

// planned says what the control plane may know of the plan, and keeps what the apply needs.
func (s *session) planned(ctx context.Context, spec api.PlanSpec, report *diff.Report, saved savedPlan) (api.PlanResult, error) {
	encoded, err := json.Marshal(report)
	if err != nil {
		return api.PlanResult{}, fmt.Errorf("write the report: %w", err)
	}
	made := api.PlanResult{
		Applyable: report.Applyable, Bundle: api.ArtifactRef{Repository: spec.Deploy.Repository},
		Report: encoded, ReportDigest: report.Digest(), Destructive: report.Destructive(), Basis: s.basis(spec.DesiredDigest),
	}
	if !made.Applyable {
		return s.asItStands(ctx, made)
	}
	saved.report = encoded
	saved.note.Format, saved.note.settings, saved.note.Basis, saved.note.ReportDigest = bundleFormat, s.settings, made.Basis, made.ReportDigest
	saved.note.Destroy, saved.note.TakeOwnership, saved.note.Secrets = spec.Destroy, spec.Deploy.Helm.TakeOwnership, s.known.Texts()
	sealed, err := saved.seal(bundle.ContextOf(s.deploy), s.env.Key.Recipient())
	if err != nil {
		return api.PlanResult{}, err
	}
	made.Bundle, err = s.env.Install.Push(ctx, spec.Deploy.Repository, sealed)
	return made, err
}

// asItStands completes the result of a plan that needs no apply.
func (s *session) asItStands(ctx context.Context, made api.PlanResult) (api.PlanResult, error) {
	made.Cluster = s.identity()
	deployed := deployed(s.history)
	if deployed == nil {
		return made, nil
	}
	refs, err := s.refs(deployed)
	if err != nil {
		return api.PlanResult{}, err
	}
	if made.Outputs, err = s.outputs(ctx, deployed, refs); err != nil {
		return api.PlanResult{}, err
	}
	made.Health, err = s.cluster.Health(ctx, refs)
	return made, err
}

// deployed gives the revision that is deployed, nil when none is.
func deployed(history []helm.Release) *helm.Release {
	for i := range slices.Backward(history) {
		if history[i].Status == helm.StatusDeployed {
			return &history[i]
		}
	}
	return nil
}
