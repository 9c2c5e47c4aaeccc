package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/planpolicy"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// world is the target that a fake kind plans for and changes.
type world struct {
	observed Observation
	report   diff.Report
	// refuses, if set, is the error of each plan.
	refuses error
	// fails, if set, is the error of an apply.
	fails   error
	health  api.Health
	files   []artifact.File
	environ map[string]string
	objects []map[string]any // what policies read
	// calls lists the methods that were called, in order.
	calls []string
	// stored is the Stored of the last apply.
	stored *Stored
}

// Open implements Kind.
func (w *world) Open(_ context.Context, op *Operation) (Session, error) {
	w.calls, w.stored = []string{"open"}, op.Stored
	return &fake{w, op}, nil
}

// fake is a session on a world.
type fake struct {
	*world
	op *Operation
}

func (f *fake) called(name string) { f.calls = append(f.calls, name) }

func (f *fake) Plan(ctx context.Context) (Plan, error) {
	f.called("plan")
	report, err := f.Report(ctx)
	return Plan{Report: report, Observed: f.observed, Files: f.files, Environ: f.environ,
		Reviewed: planpolicy.Input{Objects: f.objects}}, err
}

func (f *fake) Report(context.Context) (*diff.Report, error) {
	f.called("report")
	if f.refuses != nil {
		return nil, &RejectedError{f.refuses}
	}
	made := f.report
	return &made, nil
}

func (f *fake) Observe(context.Context) (Observation, error) {
	f.called("observe")
	return f.observed, nil
}

func (f *fake) Apply(context.Context) (ComponentState, error) {
	f.called("apply")
	return ComponentState{Outputs: []api.Output{{Name: "made"}}, Health: f.health}, f.fails
}

func (f *fake) CurrentState(context.Context) (ComponentState, error) {
	f.called("standing")
	return ComponentState{Outputs: []api.Output{{Name: "stands"}}, Health: f.health}, nil
}

func (f *fake) Close(context.Context) error {
	f.called("close")
	return nil
}

// applied reports whether the world was changed.
func (w *world) applied() bool { return slices.Contains(w.calls, "apply") }

// rig is an install with a key and a registry, and a world.
type rig struct {
	*world
	t        *testing.T
	key      seal.Identity
	registry *job.Registry
	deploy   api.DeploySpec
	vendor   *job.Registry
	from     api.ArtifactRef
	destroy  bool
	restore  api.Restore
	desired  string
	log      bytes.Buffer
}

// newRig returns a rig with a component of a kind, and a change to apply.
func newRig(t *testing.T, kind string) *rig {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, key: key, registry: &job.Registry{Reference: ocitest.Registry(t)}, desired: "sha256:desired",
		deploy: api.DeploySpec{
			Install: "acme", InstallID: "inl_1", Component: "web", InstallComponent: "ico_1", ComponentKind: kind,
			Artifact: api.ArtifactRef{Repository: "inl_1/web", Digest: "sha256:artifact"}, Repository: "inl_1/plans",
			Values: api.Values{Plain: json.RawMessage(`{}`)}, Cluster: api.ClusterSpec{Context: "sandbox"},
		},
		world: &world{
			observed: Observation{StateSerial: 3, StateLineage: "l", Cluster: "sha256:cluster", Observed: "sha256:observed"},
			report:   reportOf("data.color", "red"),
			files:    []artifact.File{{Path: "plan.json", Content: []byte("the plan")}},
			environ:  map[string]string{"AWS_REGION": "eu-west-1"},
		},
	}
}

// reportOf returns a report of one field of one object.
func reportOf(field, value string) diff.Report {
	made := diff.Report{Kind: diff.KindKubernetes, Applyable: true, Changes: []diff.Change{{
		Address: "ConfigMap/settings", ResourceKind: "ConfigMap", Name: "settings", Action: diff.Update,
		Risk:   diff.Update.Risk(),
		Fields: []diff.FieldChange{{Path: field, Before: diff.ShownValue{Text: value}, After: diff.ShownValue{Text: "blue"}}},
	}}}
	made.Totals = made.Count()
	return made
}

func (r *rig) env(spec api.JobSpec) *job.Env {
	secrets := &redact.Set{}
	spec.Job, spec.Attempt, spec.TimeoutSeconds = "job_1", 1, 60
	return &job.Env{
		Spec: spec, Log: job.NewLog(&r.log, secrets), Redact: secrets, Key: r.key, Vendor: r.vendor,
		Install: r.registry, Root: r.t.TempDir(), Timing: timing.Default(),
	}
}

func (r *rig) plan() (api.PlanResult, error) {
	spec := api.PlanSpec{Deploy: r.deploy, DesiredDigest: r.desired, Destroy: r.destroy, Restore: r.restore, From: r.from}
	result, err := PlanHandler(r.world).Run(r.t.Context(), r.env(api.JobSpec{Kind: api.JobSpecKindPlan, Plan: spec}))
	return result.Plan, err
}

func (r *rig) mustPlan() api.PlanResult {
	r.t.Helper()
	planned, err := r.plan()
	if err != nil {
		r.t.Fatal(err)
	}
	return planned
}

// approved returns the apply of a plan as the control plane sends it.
func (r *rig) approved(planned api.PlanResult) api.ApplySpec {
	return api.ApplySpec{
		Deploy: r.deploy, Plan: "pln_1", Destroy: r.destroy, Restore: r.restore, Bundle: planned.Bundle, Basis: planned.Basis,
		ReportDigest: planned.ReportDigest, ContentDigest: "sha256:content",
	}
}

func (r *rig) apply(spec api.ApplySpec) (api.JobResult, error) {
	return ApplyHandler(r.world).Run(r.t.Context(), r.env(api.JobSpec{Kind: api.JobSpecKindApply, Apply: spec}))
}

// opened returns the bundle of a plan.
func (r *rig) opened(from api.ArtifactRef) bundle {
	r.t.Helper()
	packed, err := r.registry.Pull(r.t.Context(), from)
	if err != nil {
		r.t.Fatal(err)
	}
	made, err := openBundle(bundleContext(r.deploy), packed, r.key)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// authenticate returns the plain bytes of a bundle of the rig's component.
func (r *rig) authenticate(packed []byte) []byte {
	return authenticate(bundleContext(r.deploy), packed, r.key)
}

// tree packs the files of a bundle as seal does, plus more files.
func (r *rig) tree(b bundle, more ...artifact.File) []byte {
	r.t.Helper()
	noted, err := json.Marshal(b.metadata)
	if err != nil {
		r.t.Fatal(err)
	}
	tree := append([]artifact.File{{Path: metadataName, Content: noted}, {Path: reportName, Content: b.report}}, more...)
	for _, file := range b.files {
		file.Path = filesName + file.Path
		tree = append(tree, file)
	}
	packed, err := artifact.Tarball(tree, artifact.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	return packed
}

// push seals the plain bytes of a bundle to the install's public key, as anyone
// can, and pushes them.
func (r *rig) push(plain []byte) api.ArtifactRef {
	r.t.Helper()
	sealed, err := sealPlain(bundleContext(r.deploy), plain, r.key.Recipient())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.pushArtifact(sealed)
}

func (r *rig) pushArtifact(packed artifact.Artifact) api.ArtifactRef {
	r.t.Helper()
	made, err := r.registry.Push(r.t.Context(), r.deploy.Repository, packed)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// ends checks that an apply changed nothing, and that it ended stale or failed
// with the given words.
func (r *rig) ends(spec api.ApplySpec, stale bool, words ...string) {
	r.t.Helper()
	r.calls = nil
	result, err := r.apply(spec)
	if err == nil || result.Status == job.Succeeded {
		r.t.Fatalf("it succeeded: %+v", result)
	}
	if moved := (*job.StaleError)(nil); errors.As(err, &moved) != stale {
		r.t.Errorf("stale is %v: %v", !stale, err)
	}
	for _, want := range append(words, "plan again") {
		if !strings.Contains(err.Error(), want) {
			r.t.Errorf("%q is not in: %v", want, err)
		}
	}
	if r.applied() {
		r.t.Error("something was applied")
	}
}
