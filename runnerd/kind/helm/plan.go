package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Kind plans and applies charts. It is a deploy.Kind.
type Kind struct{}

// operation is one plan or apply of a chart.
type operation struct {
	*session
	op *deploy.Operation
	// saved is the stored plan; only for an apply.
	saved savedPlan
	// chart and rendered are what is applied, nil if the release is destroyed; only for an apply.
	chart    *helmsdk.Chart
	rendered *helmsdk.Rendered
}

// Open finds the cluster and the release. It renders the settings for a plan, and
// uses those of the plan for an apply.
func (Kind) Open(ctx context.Context, op *deploy.Operation) (deploy.Session, error) {
	made := &operation{op: op}
	var (
		at  settings
		err error
	)
	switch {
	case op.Stored != nil:
		made.saved, err = load(op.Stored.Files)
		at = made.saved.metadata.settings
	case op.Destroy:
		at, err = renderLocation(op.Deploy.Helm, op.Values)
	default:
		at, err = renderSettings(op.Deploy.Helm, op.Values)
	}
	if err != nil {
		return nil, err
	}
	made.session, err = open(ctx, op.Env, op.Deploy, at, op.Values, op.Secrets)
	return made, err
}

// Plan renders the chart against the cluster and dry-runs the request for each object
// on the server. A refusal by the server is an error, and no plan is made.
func (o *operation) Plan(ctx context.Context) (deploy.Plan, error) {
	decision, err := o.decide(o.op.Destroy)
	if err != nil {
		return deploy.Plan{}, err
	}
	made := deploy.Plan{Observed: o.observation()}
	var saved savedPlan
	if o.op.Destroy {
		made.Report, saved, err = o.planDestroy(ctx, decision)
	} else {
		made.Report, saved, err = o.planChange(ctx, decision)
	}
	if err != nil {
		return deploy.Plan{}, err
	}
	saved.metadata.settings = o.settings
	made.Reviewed.Objects = o.reviewed
	made.Files, err = saved.save(o.op.Destroy)
	return made, err
}

func (o *operation) planDestroy(ctx context.Context, decision helmsdk.Decision) (*diff.Report, savedPlan, error) {
	strays, err := o.staleReleaseNotes(ctx)
	if err != nil {
		return nil, savedPlan{}, err
	}
	if len(strays) > 0 {
		// The control plane would assume that nothing of the component is left.
		return nil, savedPlan{}, errors.New(strings.Join(strays, "\n"))
	}
	report := &diff.Report{Kind: diff.KindKubernetes}
	if decision.Action != helmsdk.ActionNone {
		report, err = o.report(ctx, reportInput{decision: decision})
	}
	return report, savedPlan{metadata: planMetadata{Decision: decision}}, err
}

func (o *operation) planChange(ctx context.Context, decision helmsdk.Decision) (*diff.Report, savedPlan, error) {
	chart, err := pullChart(ctx, o.env, o.deploy.Artifact)
	if err != nil {
		return nil, savedPlan{}, err
	}
	rendered, again, err := o.render(ctx, chart, decision)
	if err != nil {
		return nil, savedPlan{}, err
	}
	if err := o.checkRecordSize(chart, rendered); err != nil {
		return nil, savedPlan{}, err
	}
	addSecrets(rendered, o.secrets)
	addSecrets(again, o.secrets)

	q := reportInput{
		decision: decision, rendered: rendered, again: append([]byte(again.Manifest+"\n"), hooksText(again.Hooks)...),
		crds: crdStates(rendered),
	}
	if q.strays, err = o.staleReleaseNotes(ctx); err != nil {
		return nil, savedPlan{}, err
	}
	report, err := o.report(ctx, q)
	if err != nil {
		return nil, savedPlan{}, err
	}
	encoded, err := json.Marshal(o.values)
	if err != nil {
		return nil, savedPlan{}, fmt.Errorf("write the values: %w", err)
	}
	return report, savedPlan{
		metadata:  planMetadata{Decision: decision, Rendered: rendered.Digest(), CRDs: q.crds, Strays: q.strays},
		templates: rendered.Templates, again: q.again, values: encoded,
	}, nil
}

// addSecrets adds the values in the Secrets of a rendering to the known secrets.
func addSecrets(rendered *helmsdk.Rendered, known *values.Secrets) {
	texts := []string{rendered.Manifest}
	for _, hook := range rendered.Hooks {
		texts = append(texts, hook.Manifest)
	}
	for _, text := range texts {
		for document := range documents(text) {
			var object map[string]any
			if yaml.Unmarshal([]byte(document), &object) == nil {
				cluster.AddSecretValues(object, known)
			}
		}
	}
}

// staleReleaseNotes returns notes about the releases that the component made under another name,
// in another namespace or with the other storage driver. Nothing removes them
// automatically, because their settings are no longer stored anywhere.
func (s *session) staleReleaseNotes(ctx context.Context) ([]string, error) {
	found, err := s.client.StaleReleases(ctx, s.deploy.InstallComponent, s.Release)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, each := range found {
		made = append(made, diff.EscapeText("Before its settings were changed the component made "+each.String()))
	}
	return made, nil
}

// render renders twice, to find what each rendering regenerates.
func (s *session) render(ctx context.Context, chart *helmsdk.Chart, decision helmsdk.Decision) (first,
	second *helmsdk.Rendered,
	err error) {
	if chart.Deprecated() {
		s.env.Log.Warn("the chart %s is deprecated: its authors advise against it", diff.EscapeText(chart.Info().Name))
	}
	request := helmsdk.RenderRequest{
		Release: s.Release, Namespace: s.Namespace, Values: s.values,
		Upgrade: decision.Action == helmsdk.ActionUpgrade, Revision: decision.Revision,
	}
	if first, err = s.client.Render(ctx, chart, request); err != nil {
		return nil, nil, err
	}
	second, err = s.client.Render(ctx, chart, request)
	return first, second, err
}

// checkRecordSize returns an error if the release record is too large: the server would refuse it only after
// everything else was applied.
func (s *session) checkRecordSize(chart *helmsdk.Chart, rendered *helmsdk.Rendered) error {
	size, err := helmsdk.RecordSize(chart, s.values, rendered)
	if err != nil {
		return err
	}
	const remedy = "leave files out of the chart with .helmignore, or split it"
	switch {
	case size >= helmsdk.MaxRecord:
		return fmt.Errorf("the record of this release has %d bytes, and Kubernetes takes %d; %s", size,
			helmsdk.MaxRecord, remedy)
	case size >= helmsdk.WarnRecord:
		s.env.Log.Warn("the record of this release has %d bytes, of %d that Kubernetes takes; %s", size,
			helmsdk.MaxRecord, remedy)
	}
	return nil
}

// CurrentState returns the outputs and the health of the deployed release, if there is one.
func (o *operation) CurrentState(ctx context.Context) (deploy.ComponentState, error) {
	found := deployed(o.history)
	if found == nil {
		return deploy.ComponentState{}, nil
	}
	return o.componentState(ctx, found)
}

// deployed returns the deployed revision, or nil.
func deployed(history []helmsdk.Release) *helmsdk.Release {
	for i := range slices.Backward(history) {
		if history[i].Status == helmsdk.StatusDeployed {
			return &history[i]
		}
	}
	return nil
}
