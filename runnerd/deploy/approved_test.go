package deploy

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// componentKinds are the kinds that the engine deploys. The engine treats them alike:
// no kind sees a bundle, a basis or a digest before the engine has checked it.
var componentKinds = []string{"sandbox", "terraform_module", "helm_chart", "kubernetes_manifest"}

// departure is one way in which an apply departs from the approved plan.
type departure struct {
	name string
	// depart changes the target, or the job that the control plane sends.
	depart func(r *rig, spec *api.ApplySpec)
	stale  bool
	words  []string
}

// orders are apply jobs of a control plane that nobody approved.
var orders = []departure{
	{"another desired digest", func(_ *rig, s *api.ApplySpec) {
		s.Basis.DesiredDigest = "sha256:newer"
	}, true, []string{"has another basis"}},
	{"another state", func(_ *rig, s *api.ApplySpec) {
		s.Basis.StateSerial++
	}, true, []string{"has another basis"}},
	{"another cluster in the basis", func(_ *rig, s *api.ApplySpec) {
		s.Basis.Cluster = "sha256:other"
	}, true, []string{"has another basis"}},
	{"another report", func(_ *rig, s *api.ApplySpec) {
		s.ReportDigest = "sha256:other"
	}, true, []string{"was approved"}},
	{"another artifact", func(_ *rig, s *api.ApplySpec) {
		s.Deploy.Artifact.Digest = "sha256:other"
	}, true, []string{"the component's artifact is sha256:other"}},
	{"another artifact in both", func(_ *rig, s *api.ApplySpec) {
		s.Deploy.Artifact.Digest, s.Basis.Artifact = "sha256:other", "sha256:other"
	}, true, []string{"has another basis"}},
	{"destroy", func(_ *rig, s *api.ApplySpec) { s.Destroy = true }, true, []string{"differ in whether they destroy"}},
	{"restore", func(_ *rig, s *api.ApplySpec) { s.Restore.Version = 1 }, true, []string{"which version of the state"}},
	{"other cluster settings", func(_ *rig, s *api.ApplySpec) {
		s.Deploy.Cluster.Context = "other"
	}, true, []string{"the settings of the component changed"}},
	{"other helm settings", func(_ *rig, s *api.ApplySpec) {
		s.Deploy.Helm.TakeOwnership = true
	}, true, []string{"the settings of the component changed"}},
	{"a bundle of another component", func(r *rig, s *api.ApplySpec) {
		r.deploy.InstallComponent = "ico_2"
		s.Bundle = r.mustPlan().Bundle
	}, false, []string{"sealed for another use", "component ico_2"}},
	{"a bundle of another install", func(r *rig, s *api.ApplySpec) {
		r.deploy.InstallID = "inl_2"
		s.Bundle = r.mustPlan().Bundle
	}, false, []string{"sealed for another use", "install inl_2"}},
	{"a bundle of another kind", func(r *rig, s *api.ApplySpec) {
		r.deploy.ComponentKind = "plugin"
		s.Bundle = r.mustPlan().Bundle
	}, false, []string{"sealed for another use", "bundle plugin"}},
	{"an older plan", func(r *rig, s *api.ApplySpec) {
		older := s.Bundle
		r.desired = "sha256:newer"
		*s = r.approved(r.mustPlan())
		s.Bundle = older
	}, true, []string{"has another basis"}},
	{"an older plan of the same", func(r *rig, s *api.ApplySpec) {
		older := s.Bundle
		r.report = reportOf("data.color", "green")
		*s = r.approved(r.mustPlan())
		s.Bundle = older
	}, true, []string{"was approved"}},
}

// movedTo makes the apply use a bundle that the install made for another context and that
// somebody sealed again for this component.
func movedTo(r *rig, s *api.ApplySpec, change func(*seal.Context)) {
	context := bundleContext(r.deploy)
	change(&context)
	s.Bundle = r.push(authenticate(context, r.tree(r.opened(s.Bundle)), r.key))
}

// bundles are contents that an attacker may push to the registry: anyone can seal to the
// install's public key.
var bundles = []departure{
	{"of a stranger", func(r *rig, s *api.ApplySpec) {
		stranger, err := seal.NewIdentity()
		if err != nil {
			r.t.Fatal(err)
		}
		s.Bundle = r.push(authenticate(bundleContext(r.deploy), r.tree(r.opened(s.Bundle)), stranger))
	}, false, []string{"not made with this install's key"}},
	{"of a stranger without a key", func(r *rig, s *api.ApplySpec) {
		s.Bundle = r.push(authenticate(bundleContext(r.deploy), r.tree(r.opened(s.Bundle)), seal.Identity{}))
	}, false, []string{"not made with this install's key"}},
	{"moved from another component", func(r *rig, s *api.ApplySpec) {
		movedTo(r, s, func(c *seal.Context) { c.Component = "ico_2" })
	}, false, []string{"not made with this install's key for this component"}},
	{"moved from another install", func(r *rig, s *api.ApplySpec) {
		movedTo(r, s, func(c *seal.Context) { c.Install = "inl_2" })
	}, false, []string{"not made with this install's key for this component"}},
	{"moved from another kind", func(r *rig, s *api.ApplySpec) {
		movedTo(r, s, func(c *seal.Context) { c.Path = "plugin" })
	}, false, []string{"not made with this install's key for this component"}},
	{"with other content", func(r *rig, s *api.ApplySpec) {
		made := r.opened(s.Bundle)
		head, _ := bytes.CutSuffix(r.authenticate(r.tree(made)), r.tree(made))
		made.files[0].Content = []byte("another plan")
		s.Bundle = r.push(append(head, r.tree(made)...))
	}, false, []string{"not made with this install's key"}},
	{"with another packing", func(r *rig, s *api.ApplySpec) { // the hash is checked before anything is unpacked
		packed := r.tree(r.opened(s.Bundle))
		head, _ := bytes.CutSuffix(r.authenticate(packed), packed)
		s.Bundle = r.push(append(head, "no packed tree"...))
	}, false, []string{"not made with this install's key"}},
	{"cut short", func(r *rig, s *api.ApplySpec) {
		plain := r.authenticate(r.tree(r.opened(s.Bundle)))
		s.Bundle = r.push(plain[:len(plain)-1])
	}, false, []string{"not made with this install's key"}},
	{"without its hash", func(r *rig, s *api.ApplySpec) {
		s.Bundle = r.push([]byte(bundleMagic))
	}, false, []string{"not made with this install's key"}},
	{"empty", func(r *rig, s *api.ApplySpec) { s.Bundle = r.push(nil) }, false, []string{"another format"}},
	{"of format 1", func(r *rig, s *api.ApplySpec) {
		s.Bundle = r.push(r.tree(r.opened(s.Bundle)))
	}, false, []string{"another format"}},
	{"with more files", func(r *rig, s *api.ApplySpec) {
		more := artifact.File{Path: "more", Content: []byte("x")}
		s.Bundle = r.push(r.authenticate(r.tree(r.opened(s.Bundle), more)))
	}, false, []string{`"more"`}},
	{"with a link for its note", func(r *rig, s *api.ApplySpec) {
		packed, err := artifact.Tarball([]artifact.File{
			{Path: metadataName, Link: reportName}, {Path: reportName, Content: []byte("{}")},
		}, artifact.Limits{})
		if err != nil {
			r.t.Fatal(err)
		}
		s.Bundle = r.push(r.authenticate(packed))
	}, false, []string{metadataName}},
	{"without a report", func(r *rig, s *api.ApplySpec) {
		packed, err := artifact.Tarball([]artifact.File{{Path: metadataName, Content: []byte("{}")}}, artifact.Limits{})
		if err != nil {
			r.t.Fatal(err)
		}
		s.Bundle = r.push(r.authenticate(packed))
	}, false, []string{"not complete"}},
	{"with a torn seal", func(r *rig, s *api.ApplySpec) {
		packed, err := r.registry.Pull(r.t.Context(), s.Bundle)
		if err != nil {
			r.t.Fatal(err)
		}
		s.Bundle = r.pushArtifact(artifact.Wrap(artifact.MediaPlan, packed.Layer[:len(packed.Layer)/2], nil))
	}, false, []string{"damaged"}},
	{"with an environment that is not allowed", func(r *rig, s *api.ApplySpec) {
		changed := r.opened(s.Bundle)
		changed.metadata.Environ = map[string]string{"LD_PRELOAD": "/tmp/x.so"}
		s.Bundle = r.push(r.authenticate(r.tree(changed)))
	}, false, []string{"LD_PRELOAD", "reserved"}},
}

// moves are changes that may happen between plan and apply.
var moves = []departure{
	{"a field", func(r *rig, _ *api.ApplySpec) {
		r.report = reportOf("data.color", "green")
	}, true, []string{"ConfigMap/settings changed since the plan was made", "data.color"}},
	{"an action", func(r *rig, _ *api.ApplySpec) {
		r.report.Changes[0].Action = "replace"
	}, true, []string{"ConfigMap/settings", "to update it", "replace it now"}},
	{"nothing left", func(r *rig, _ *api.ApplySpec) {
		r.report.Changes = nil
	}, true, []string{"ConfigMap/settings", "nothing is left to do there"}},
	{"one more object", func(r *rig, _ *api.ApplySpec) {
		more := r.report.Changes[0]
		more.Address, more.Action = "Secret/other", "create"
		r.report.Changes = append(slices.Clone(r.report.Changes), more)
	}, true, []string{"Secret/other", "create it now"}},
	{"a note", func(r *rig, _ *api.ApplySpec) {
		r.report.Notes = []string{"Somebody owns it."}
	}, true, []string{"new since the plan was made: Somebody owns it."}},
	{"a refusal", func(r *rig, _ *api.ApplySpec) {
		r.refuses = errors.New("ConfigMap/settings: the quota is used up")
	}, true, []string{"now rejected", "the quota is used up"}},
	{"the state", func(r *rig, _ *api.ApplySpec) {
		r.observed.StateSerial++
	}, true, []string{"the state moved from serial 3 to 4"}},
	{"the state's lineage", func(r *rig, _ *api.ApplySpec) {
		r.observed.StateLineage = "other"
	}, true, []string{"the plan was made for another state"}},
	{"the cluster", func(r *rig, _ *api.ApplySpec) {
		r.observed.Cluster = "sha256:other"
	}, true, []string{"another cluster"}},
	{"the cluster is gone", func(r *rig, _ *api.ApplySpec) {
		r.observed.Cluster = ""
	}, true, []string{"another cluster"}},
	{"the release", func(r *rig, _ *api.ApplySpec) {
		r.observed.Observed, r.observed.Changed = "sha256:other", "revision 4 is deployed now"
	}, true, []string{"revision 4 is deployed now"}},
	{"the target", func(r *rig, _ *api.ApplySpec) {
		r.t.Setenv("AWS_PROFILE", "production")
	}, true, []string{"another AWS_PROFILE in its environment"}},
}

// TestApprovedIsApplied requires that each departure from the approved plan ends stale
// or failed, with an explanation and without any change. The same apply without a departure
// succeeds, so that it is the departure that ends it.
func TestApprovedIsApplied(t *testing.T) {
	for _, kind := range componentKinds {
		for _, d := range slices.Concat(orders, bundles, moves) {
			t.Run(kind+"/"+d.name, func(t *testing.T) {
				r := newRig(t, kind)
				spec := r.approved(r.mustPlan())
				if result, err := r.apply(spec); err != nil || result.Status != job.Succeeded || !r.applied() {
					t.Fatalf("the approved plan is not applied: %v %+v", err, result)
				}
				d.depart(r, &spec)
				r.ends(spec, d.stale, d.words...)
			})
		}
	}
}

// TestAppliedInOrder requires that the engine calls the kind in the order that Session
// documents, and hands it the files that it stored.
func TestAppliedInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, "helm_chart")
	r.health = api.Health{Status: api.HealthStatusReady}
	planned := r.mustPlan()
	if want := []string{"open", "plan", "report", "close"}; !slices.Equal(r.calls, want) {
		t.Errorf("a plan calls %q, want %q", r.calls, want)
	}
	if planned.Cluster != (api.ClusterIdentity{}) || planned.Outputs != nil || planned.Bundle.Digest == "" {
		t.Errorf("a plan that can be applied: %+v", planned)
	}

	result, err := r.apply(r.approved(planned))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"open", "observe", "report", "apply", "close"}; !slices.Equal(r.calls, want) {
		t.Errorf("an apply calls %q, want %q", r.calls, want)
	}
	if len(r.stored.Files) != 1 || string(r.stored.Files[0].Content) != "the plan" ||
		r.stored.Files[0].Path != "plan.json" ||
		r.stored.Environ["AWS_REGION"] != "eu-west-1" {
		t.Errorf("stored is %+v", r.stored)
	}
	if want := ClusterIdentity(r.key, "ico_1", "web", "sha256:cluster"); result.Apply.Cluster != want ||
		result.Apply.Health.Status != api.HealthStatusReady || len(result.Apply.Outputs) != 1 {
		t.Errorf("got %+v", result.Apply)
	}
}

// TestNothingToApply requires that no bundle is stored, and that the plan returns
// the component's outputs and health.
func TestNothingToApply(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kubernetes_manifest")
	r.report.Applyable = false
	planned := r.mustPlan()
	if planned.Applyable || planned.Bundle.Digest != "" || len(planned.Outputs) != 1 ||
		planned.Cluster != ClusterIdentity(r.key, "ico_1", "web", "sha256:cluster") {
		t.Errorf("got %+v", planned)
	}
	r.observed.Cluster = ""
	if planned := r.mustPlan(); planned.Cluster != (api.ClusterIdentity{}) {
		t.Errorf("a kind without a cluster names %+v", planned.Cluster)
	}
	r.destroy = true
	if planned := r.mustPlan(); planned.Outputs != nil || slices.Contains(r.calls, "standing") {
		t.Errorf("destroyed, it stands as %+v", planned)
	}
}

// TestAFailedApply requires the reason in the error, and the health of the
// objects where it is known.
func TestAFailedApply(t *testing.T) {
	t.Parallel()
	r := newRig(t, "helm_chart")
	spec := r.approved(r.mustPlan())
	r.fails = errors.New("Deployment/web is not ready")
	if _, err := r.apply(spec); !errors.Is(err, r.fails) {
		t.Errorf("got %v", err)
	}
	r.health = api.Health{Status: api.HealthStatusDegraded}
	result, err := r.apply(spec)
	if err != nil || result.Status != api.JobResultStatusFailed || result.Error != r.fails.Error() ||
		result.Apply.Health.Status != api.HealthStatusDegraded {
		t.Errorf("got %v %+v", err, result)
	}
	if result.Apply.Cluster != (api.ClusterIdentity{}) {
		t.Error("an apply that failed vouches for the cluster")
	}
}

// TestPlansThatCannotBeSealed requires that they are rejected before anything is stored.
func TestPlansThatCannotBeSealed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "terraform_module")
	r.environ = map[string]string{"LD_PRELOAD": "/tmp/x.so"}
	if _, err := r.plan(); err == nil {
		t.Error("a plan with LD_PRELOAD is stored")
	}
	r = newRig(t, "terraform_module")
	r.key = seal.Identity{}
	if _, err := r.plan(); err == nil || len(r.calls) > 0 {
		t.Errorf("without a key: %v, %q", err, r.calls)
	}
}
