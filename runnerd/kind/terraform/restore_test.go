package terraform

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
)

const twoVersions = `
variable "names" {}
variable "text" {
  default   = ""
  sensitive = true
}
resource "terraform_data" "each" {
  for_each = toset(split(",", var.names))
  input    = each.key
}
resource "terraform_data" "text" {
  input = "planted-${var.text}"
}
output "text" {
  value     = terraform_data.text.output
  sensitive = true
}
output "names" {
  value = var.names
}
`

// restorable applies a component twice, and returns its spec: version 1 has a, version 2
// has b and another text.
func restorable(t *testing.T) (*rig, api.DeploySpec) {
	t.Helper()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", twoVersions))
	for _, vars := range []map[string]string{{"names": "a", "text": "one"}, {"names": "b", "text": "two"}} {
		spec.Terraform.Vars = vars
		r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	}
	if len(r.states) != 2 {
		t.Fatalf("%d states", len(r.states))
	}
	return r, spec
}

func (r *rig) planRestore(spec api.DeploySpec, version int) (api.PlanResult, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindPlan)
	env.Spec.Plan = api.PlanSpec{Deploy: spec, DesiredDigest: "restore:1:x", Restore: api.Restore{Version: version}}
	if version <= len(r.states) {
		env.Spec.Plan.Restore.Digest = r.states[version-1].Digest
	}
	result, err := r.run(context.Background(), deploy.PlanHandler(Kind{}), env)
	return result.Plan, err
}

func restoreSpec(spec api.DeploySpec, planned api.PlanResult, restore api.Restore) api.ApplySpec {
	made := applySpec(spec, planned, false)
	made.Restore = restore
	return made
}

func TestRestore(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	planned, err := r.planRestore(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	shown := report(t, planned)
	var said []string
	for _, change := range append(shown.Changes, shown.Outputs...) {
		said = append(said, string(change.Action)+" "+change.Address)
		if len(change.Fields) > 0 {
			t.Errorf("%s shows values", change.Address)
		}
	}
	want := []string{`import terraform_data.each["a"]`, `forget terraform_data.each["b"]`,
		"update terraform_data.text", "update output.names", "update output.text"}
	if difference := cmp.Diff(want, said); difference != "" {
		t.Fatal(difference)
	}
	if !planned.Applyable || planned.Destructive || planned.Bundle.Digest == "" || shown.Kind != diff.KindState ||
		planned.Basis.StateSerial != r.states[1].Serial || planned.Basis.StateLineage == "" ||
		planned.Basis.DesiredDigest != "restore:1:x" {
		t.Fatalf("%+v", planned)
	}
	applied := r.mustApply(restoreSpec(spec, planned, api.Restore{Version: 1, Digest: r.states[0].Digest}))
	if string(find(applied.Outputs, "names").Value) != `"a"` || find(applied.Outputs, "text").Value != nil {
		t.Fatalf("%+v", applied.Outputs)
	}
	if len(r.states) != 3 || r.states[2].Serial != r.states[1].Serial+1 || r.states[2].Lineage != r.states[1].Lineage {
		t.Fatalf("%+v", r.states)
	}
	r.mustBeFree()
	r.mustNotLeak("planted-one", "planted-two")
	// Terraform accepts the state: its plan repeats the changes of version 2.
	healed := report(t, r.mustPlan(spec, false))
	if healed.Totals.Create != 1 || healed.Totals.Destroy != 1 || healed.Totals.Update != 1 {
		t.Fatalf("%+v", healed.Totals)
	}
}

// TestRestoreOfTheSame checks that restoring the newest version is no change.
func TestRestoreOfTheSame(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	planned, err := r.planRestore(spec, 2)
	if err != nil || planned.Applyable || string(find(planned.Outputs, "names").Value) != `"b"` {
		t.Fatalf("%+v, %v", planned, err)
	}
}

func TestRestoreIsStale(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	planned, err := r.planRestore(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*api.ApplySpec)
		want   string
	}{
		"another report": {func(spec *api.ApplySpec) { spec.ReportDigest = "sha256:other" }, "the plan bundle has " +
			"the report"},
		"another serial":  {func(spec *api.ApplySpec) { spec.Basis.StateSerial-- }, "has another basis"},
		"another version": {func(spec *api.ApplySpec) { spec.Restore.Version = 2 }, "which version of the state"},
		"another content": {func(spec *api.ApplySpec) { spec.Restore.Digest = "hmac:other" }, "which version of the state"},
		"no restore":      {func(spec *api.ApplySpec) { spec.Restore = api.Restore{} }, "which version of the state"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := restoreSpec(spec, planned, api.Restore{Version: 1, Digest: r.states[0].Digest})
			test.change(&asked)
			result, err := r.apply(t.Context(), asked)
			if !isStale(err, test.want) || len(r.states) != 2 {
				t.Fatal(result, err, len(r.states))
			}
			r.mustBeFree()
		})
	}
	other := spec
	other.Terraform.Vars = map[string]string{"names": "c", "text": "three"}
	r.mustApply(applySpec(other, r.mustPlan(other, false), false))
	asked := restoreSpec(spec, planned, api.Restore{Version: 1, Digest: r.states[0].Digest})
	if result, err := r.apply(t.Context(), asked); !isStale(err, "the state moved from serial") || len(r.states) != 3 {
		t.Fatal(result, err, len(r.states))
	}
	r.mustBeFree()
}

func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	if _, err := r.planRestore(spec, 7); err == nil || !strings.Contains(err.Error(), "there is no version 7") {
		t.Fatal(err)
	}
	planned, err := r.planRestore(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := r.states[0].Digest
	r.states[0].Digest = "hmac:other"
	if _, err := r.apply(t.Context(), restoreSpec(spec, planned, api.Restore{Version: 1, Digest: first})); err == nil ||
		!strings.Contains(err.Error(), "look at the audit log") {
		t.Fatal(err)
	}
	r.states[0].Digest = first
	r.lock = &api.StateLock{ID: "theirs", Holder: "job_77 attempt 2"}
	env := r.env(api.JobSpecKindApply)
	env.Timing.UnlockTimeout = 100 * time.Millisecond
	env.Spec.Apply = restoreSpec(spec, planned, api.Restore{Version: 1, Digest: r.states[0].Digest})
	if _, err := r.run(t.Context(), deploy.ApplyHandler(Kind{}), env); err == nil ||
		!strings.Contains(err.Error(), "the state is locked by job_77 attempt 2") || r.lock == nil {
		t.Fatal(err)
	}
	r.lock = nil
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.apply(over, env.Spec.Apply); err == nil || len(r.states) != 2 {
		t.Fatal(err)
	}
}

// TestKeyIsLost checks a lost machine with its key: the errors name the key, and readable
// versions can be restored.
func TestKeyIsLost(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	lost := r.key
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r.key = key
	for name, plan := range map[string]func() error{
		"plan":    func() error { _, err := r.plan(spec, false); return err },
		"restore": func() error { _, err := r.planRestore(spec, 1); return err },
	} {
		if err := plan(); err == nil || !strings.Contains(err.Error(), lost.KeyID()) ||
			!strings.Contains(err.Error(), "give the runner the key file that it had before") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The new runner can read its own contested version.
	fresh := newRig(t)
	fresh.key, fresh.root, fresh.jobs = key, r.root, 100
	own := fresh.spec(fresh.mustBuild("m", "m/main.tf", twoVersions))
	own.Terraform.Vars = map[string]string{"names": "c"}
	fresh.mustApply(applySpec(own, fresh.mustPlan(own, false), false))
	r.states = append([]api.State{fresh.states[0]}, r.states...)
	planned, err := r.planRestore(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	if shown := report(t, planned); !planned.Applyable || len(shown.Notes) == 0 ||
		!strings.Contains(strings.Join(shown.Notes, " "), lost.KeyID()) {
		t.Fatalf("%+v", shown)
	}
	r.mustApply(restoreSpec(spec, planned, api.Restore{Version: 1, Digest: r.states[0].Digest}))
	if newest := r.states[len(r.states)-1]; newest.Sealed.KeyID != key.KeyID() ||
		newest.Serial != r.states[2].Serial+1 || newest.Lineage != r.states[2].Lineage {
		t.Fatalf("%+v", newest)
	}
}

// TestContestedIsKept checks that a version that the control plane stores as contested counts
// as stored for Terraform, and that the log has the decision that a person has to make.
func TestContestedIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.contests = true
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n"))
	r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	if !strings.Contains(r.log.String(), "is kept as a contested version") || len(r.states) != 1 {
		t.Fatal(r.log.String())
	}
	r.mustBeFree()
}
