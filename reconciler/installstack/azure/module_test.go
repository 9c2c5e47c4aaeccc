package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
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
	if !strings.Contains(string(content), "delete_nested_items_during_deletion = false") {
		t.Error("the replacement of a failed deployment deletes the key vault and the disk of the runner")
	}
	stacktest.CheckFormat(t, map[string]string{installstack.ModuleName: string(content)})
}

// TestModuleWithLikeNames checks that the parameters of secrets differ if the name of one is that of another with the
// word that their parameters end in.
func TestModuleWithLikeNames(t *testing.T) {
	app := stacktest.App("azure")
	app.Secrets = append(app.Secrets, appconfig.Secret{Name: "wildcard_uri"}, appconfig.Secret{Name: "session_key_random"})
	raw, content, findings := azure.RenderModule(stacktest.Stack(t, app, stacktest.Facts()))
	if content == nil {
		t.Fatal(findings.Err())
	}
	stacktest.Variables(t, content)
	made := deploy(t, raw, given())
	if made.Outputs["wildcard_arn"] == "" || made.Outputs["wildcard_uri_arn"] != "" {
		t.Errorf("the secrets are %v", made.Outputs)
	}
}
