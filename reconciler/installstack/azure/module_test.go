package azure_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/azure"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// module returns a template and the module that deploys it.
func module(t *testing.T) (raw, module []byte) {
	t.Helper()
	raw, module, findings := azure.RenderModule(stack(t))
	if module == nil {
		t.Fatal(findings.Err())
	}
	return raw, module
}

// TestModule checks the Terraform module without a provider: each parameter of the template is a variable, optional if
// the template has a default, and sensitive if Azure hides it.
func TestModule(t *testing.T) {
	raw, content := module(t)
	variables := stacktest.Variables(t, content)
	if variables["resource_group_name"] == nil {
		t.Error("there is no resource group")
	}
	var template struct {
		Parameters map[string]struct {
			Type    string `json:"type"`
			Default any    `json:"defaultValue"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &template); err != nil || len(template.Parameters) == 0 {
		t.Fatal(err)
	}
	for name, p := range template.Parameters {
		v := variables[name]
		if v == nil {
			t.Errorf("there is no variable %s", name)
			continue
		}
		if _, optional := v.Attributes["default"]; optional != (p.Default != nil) {
			t.Errorf("%s is optional: %t", name, optional)
		}
		if _, sensitive := v.Attributes["sensitive"]; sensitive != (p.Type == "securestring") {
			t.Errorf("%s is sensitive: %t", name, sensitive)
		}
	}
	if len(variables) != len(template.Parameters)+1 {
		t.Errorf("there are %d variables for %d parameters", len(variables), len(template.Parameters))
	}
	stacktest.CheckFormat(t, map[string]string{installstack.ModuleName: string(content)})
}

// TestModuleContent checks with Terraform what Azure gets of the values that a customer sets: these, and no others.
func TestModuleContent(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform on PATH")
	}
	raw, content := module(t)
	_, rest, found := strings.Cut(string(content), "provider \"azurerm\"")
	_, rest, more := strings.Cut(rest, "locals {")
	if !found || !more {
		t.Fatalf("the module has another shape:\n%s", content)
	}
	dir := t.TempDir()
	values := given()
	sent, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.tf": "locals {" + rest + "\nresource \"terraform_data\" \"this\" {\n" +
			"  input = nonsensitive(local.content)\n}\noutput \"content\" {\n  value = terraform_data.this.input\n}\n",
		"terraform.tfvars.json": string(sent), azure.FileName: string(raw),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out []byte
	for _, args := range [][]string{{"init", "-no-color"}, {"apply", "-auto-approve", "-no-color"}, {"output", "-raw",
		"content"}} {
		if out, err = exec.CommandContext(t.Context(), terraform, append([]string{"-chdir=" + dir},
			args...)...).Output(); err != nil {
			t.Fatalf("terraform %q: %v\n%s", args, err, out)
		}
	}
	var got map[string]struct {
		Value any `json:"value"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passed := map[string]any{}
	for name, p := range got {
		passed[name] = p.Value
	}
	if d := cmp.Diff(values, passed); d != "" {
		t.Error(d)
	}
}
