package terraform

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// TestRenderVariables checks the order of the variable files: what the install overrides comes last.
func TestRenderVariables(t *testing.T) {
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := values.Open("ins_1", api.Values{Plain: json.RawMessage(`{"install":{"name":"acme"}}`)}, key,
		&redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	spec := api.DeploySpec{Terraform: api.TerraformSpec{Vars: map[string]string{"a": "1"}, VarFiles: []string{"a = 2\n"},
		Override: `{"a": "{{.nuon.install.name}}"}`}}
	got, err := renderVariables(spec, opened)
	if err != nil {
		t.Fatal(err)
	}
	want := []artifact.File{{Path: "000.tfvars.json", Content: []byte("{\n  \"a\": \"1\"\n}\n")},
		{Path: "001.tfvars", Content: []byte("a = 2\n")}, {Path: "002.tfvars.json", Content: []byte(`{"a": "acme"}`)}}
	if diff := cmp.Diff(want, got.files); diff != "" {
		t.Error(diff)
	}
	spec.Terraform.Override = "a = {{.nuon.install.nothing}}"
	if _, err := renderVariables(spec, opened); err == nil || !strings.Contains(err.Error(), "tf_vars of the install") {
		t.Errorf("%v", err)
	}
}

// TestClusterPolicies checks that the app's policies of the cluster are beside the module in the plan, and that the
// apply has the files of the plan.
func TestClusterPolicies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", `
variable "kyverno_policy_dir" {
  type    = string
  default = "./kyverno-policies"
}
resource "terraform_data" "policy" {
  for_each = fileset(var.kyverno_policy_dir, "*.yaml")
  input    = file("${var.kyverno_policy_dir}/${each.key}")
  provisioner "local-exec" {
    command = "grep -qx 'kind: acme' nuon-kyverno-policies/limits.yaml && test $(ls nuon-kyverno-policies | wc -l) = 2"
  }
}
output "policies" {
  value = { for name, policy in terraform_data.policy : name => policy.output }
}
`))
	spec.Values.Plain = json.RawMessage(`{"install":{"name":"acme"}}`)
	spec.Terraform.VarFiles = []string{`{"kyverno_policy_dir": "./nuon-kyverno-policies"}`}
	spec.Terraform.ClusterPolicies = map[string]string{"limits.yaml": "kind: {{.nuon.install.name}}\n",
		"snippets.yaml": "name: '{{ request.object.metadata.name }}'\n"}
	planned := r.mustPlan(spec, false)
	applied := r.mustApply(applySpec(spec, planned, false))
	want := `{"limits.yaml":"kind: acme\n","snippets.yaml":"name: '{{ request.object.metadata.name }}'\n"}`
	if got := find(applied.Outputs, "policies"); string(got.Value) != want {
		t.Errorf("the policies are %s, want %s", got.Value, want)
	}
	if again := r.mustPlan(spec, false); again.Applyable {
		t.Error("a second plan with the same policies has changes")
	}
	for _, name := range []string{"../main.tf", "a/b.yaml", "main.tf", ".yaml"} {
		spec.Terraform.ClusterPolicies = map[string]string{name: "x"}
		if _, err := r.plan(spec, false); err == nil || !strings.Contains(err.Error(), "not the name of a policy's file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSensitiveValuesHideNothingFromPolicies checks that no value that a module marks as sensitive makes a policy pass
// that denies the plan without it.
func TestSensitiveValuesHideNothingFromPolicies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, values := range [][2]string{{`"none"`, `"public-read"`}, {`sensitive("plan")`, `"public-read"`},
		{`sensitive("resource_changes")`, `"public-read"`}, {`sensitive("public-read")`, `"public-read"`},
		{`sensitive("terraform_data")`, `"public-read"`}, {`"none"`, `sensitive("public-read")`}} {
		spec := r.spec(r.mustBuild("m", "m/main.tf", `
resource "terraform_data" "other" { input = `+values[0]+` }
resource "terraform_data" "bucket" { input = { acl = `+values[1]+` } }
`))
		spec.Policies = []api.PolicySpec{{Name: "no-public-bucket", Engine: api.Opa, Contents: `package nuon
deny contains r.address if {
	some r in input.plan.resource_changes
	r.type == "terraform_data"
	r.change.after.input.acl == "public-read"
}`}}
		made := report(t, r.mustPlan(spec, false))
		if !made.Denied() || len(made.Policies) != 1 || made.Policies[0].Result != diff.PolicyDeny {
			t.Errorf("with %s: %+v", values, made.Policies)
		}
	}
}
