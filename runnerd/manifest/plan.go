package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Plan is the handler of plan jobs.
type Plan struct{}

// Run plans: it asks the server what each object's own request would make of it, and changes nothing. The result has the masked report, the
// objects that the component will have, and either the sealed bundle that an apply needs, or, when there is nothing to apply, the outputs as
// they stand. Whatever the server refuses is told at once, and no plan is made.
func (Plan) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Plan
	opened, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	objects, namespace, err := read(ctx, env, opened)
	if err != nil {
		return api.JobResult{}, err
	}
	session, err := open(env, spec.Deploy, opened)
	if err != nil {
		return api.JobResult{}, err
	}
	settled, err := session.settle(objects, namespace)
	if err != nil {
		return api.JobResult{}, err
	}
	seen, err := session.look(ctx, settled, spec.Inventory)
	if err != nil {
		return api.JobResult{}, err
	}
	report, err := session.report(seen)
	if err != nil {
		return api.JobResult{}, err
	}
	made, err := session.planned(ctx, spec, settled, report)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Plan: made}, nil
}

// read gives the objects of the component, none when it is to be destroyed, and the namespace of those that name none.
func read(ctx context.Context, env *job.Env, opened *values.Values) ([]object, string, error) {
	spec := env.Spec.Plan
	if spec.Destroy {
		return nil, "", nil
	}
	namespace, err := opened.Render("namespace", spec.Deploy.Manifest.Namespace)
	if err != nil {
		return nil, "", err
	}
	packed, err := env.Install.Pull(ctx, spec.Deploy.Artifact)
	if err != nil {
		return nil, "", err
	}
	text, err := textOf(spec.Deploy, packed, opened)
	if err != nil {
		return nil, "", err
	}
	objects, err := decode(text)
	if err != nil {
		return nil, "", err
	}
	learnSecrets(objects, opened.Secrets)
	return objects, namespace, nil
}

// planned says what the control plane may know of the plan.
func (s *session) planned(ctx context.Context, spec api.PlanSpec, objects []*wanted, report *diff.Report) (api.PlanResult, error) {
	encoded, err := json.Marshal(report)
	if err != nil {
		return api.PlanResult{}, fmt.Errorf("write the report: %w", err)
	}
	made := api.PlanResult{
		Applyable:    report.Applyable,
		Bundle:       api.ArtifactRef{Repository: spec.Deploy.Repository},
		Report:       encoded,
		ReportDigest: report.Digest(),
		Destructive:  report.Destructive(),
		Inventory:    refs(objects),
		Basis: api.Basis{
			DesiredDigest: spec.DesiredDigest,
			Artifact:      spec.Deploy.Artifact.Digest,
			Cluster:       s.cluster.Identity(),
			Observed:      observed(spec.Inventory),
		},
	}
	if made.Applyable {
		made.Bundle, err = s.keep(ctx, spec, made, objects)
		return made, err
	}
	if spec.Destroy {
		return made, nil
	}
	if made.Outputs, err = s.outputs(ctx, objects); err != nil {
		return made, err
	}
	made.Cluster = s.identity()
	made.Health, err = s.cluster.Health(ctx, made.Inventory)
	return made, err
}

// observed is the digest of an inventory, in whatever order it comes.
func observed(inventory []api.ObjectRef) string {
	sorted := slices.Clone(inventory)
	slices.SortFunc(sorted, byName)
	encoded, _ := json.Marshal(sorted) // structs of texts
	return artifact.Digest(encoded)
}

// keep seals the bundle and puts it into the install's registry.
func (s *session) keep(ctx context.Context, spec api.PlanSpec, made api.PlanResult, objects []*wanted) (api.ArtifactRef, error) {
	sealed, err := saved{
		note: note{
			Format: bundleFormat, Basis: made.Basis, ReportDigest: made.ReportDigest, Destroy: spec.Destroy,
			Inventory: spec.Inventory, Secrets: s.known.Texts(),
		},
		objects: objects, report: made.Report,
	}.seal(bundle.ContextOf(s.deploy), s.env.Key.Recipient())
	if err != nil {
		return api.ArtifactRef{}, err
	}
	return s.env.Install.Push(ctx, spec.Deploy.Repository, sealed)
}
