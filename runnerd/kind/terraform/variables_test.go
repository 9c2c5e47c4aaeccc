package terraform

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
