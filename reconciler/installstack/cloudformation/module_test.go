package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/cloudformation"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// modules returns the modules of a small and of a large stack, with their templates, by name.
func modules(t *testing.T) map[string][2][]byte {
	t.Helper()
	all := map[string][2][]byte{}
	for name, app := range map[string]*appconfig.App{"small": stacktest.App("aws"), "large": stacktest.Large(60, 10)} {
		raw, module, findings := cloudformation.RenderModule(stacktest.Stack(t, app, stacktest.Facts()))
		if module == nil {
			t.Fatal(findings.Err())
		}
		if large := len(raw) > cloudformation.MaxInlineBytes; large != (name == "large") {
			t.Fatalf("the %s template has %d bytes", name, len(raw))
		}
		all[name] = [2][]byte{raw, module}
	}
	return all
}

// TestModule checks the Terraform module without a provider: each parameter of the template is a variable with the same
// default, is passed on, and is sensitive if it is hidden; each reference leads somewhere.
func TestModule(t *testing.T) {
	for name, files := range modules(t) {
		t.Run(name, func(t *testing.T) {
			variables := stacktest.Variables(t, files[1])
			for id, p := range parse(t, files[0]).Parameters {
				checkVariable(t, id, p, variables[id])
				if !strings.Contains(string(files[1]), " = var."+id+"\n") {
					t.Errorf("%s is not passed on", id)
				}
			}
		})
	}
}

// TestModuleWithLikeNames checks that the parameters and resources of secrets differ if the name of one is that of
// another with the word that their parameters end in.
func TestModuleWithLikeNames(t *testing.T) {
	app := stacktest.App("aws")
	app.Secrets = append(app.Secrets, appconfig.Secret{Name: "wildcard_arn"}, appconfig.Secret{Name: "license_value"})
	raw, module, findings := cloudformation.RenderModule(stacktest.Stack(t, app, stacktest.Facts()))
	if module == nil {
		t.Fatal(findings.Err())
	}
	stacktest.Variables(t, module)
	made := parse(t, raw)
	for id := range made.Resources {
		if made.Parameters[id] != nil {
			t.Errorf("there are a parameter and a resource %s", id)
		}
	}
}

// checkVariable compares a variable with its parameter.
func checkVariable(t *testing.T, id string, parameter map[string]any, variable *hclsyntax.Body) {
	t.Helper()
	if variable == nil {
		t.Errorf("there is no variable %s", id)
		return
	}
	value, has := variable.Attributes["default"]
	if (parameter["Default"] != nil) != has {
		t.Errorf("%s has a default: %v", id, has)
	} else if has {
		if got, _ := value.Expr.Value(nil); !got.RawEquals(cty.StringVal(fmt.Sprint(parameter["Default"]))) {
			t.Errorf("the default of %s is %#v, not %v", id, got, parameter["Default"])
		}
	}
	if _, hidden := variable.Attributes["sensitive"]; hidden != (parameter["NoEcho"] == true) {
		t.Errorf("%s is sensitive: %v", id, hidden)
	}
}

// TestModuleFormat checks that Terraform finds the module formatted.
func TestModuleFormat(t *testing.T) {
	for name, files := range modules(t) {
		stacktest.CheckFormat(t, map[string]string{installstack.ModuleName: string(files[1])})
		if !json.Valid(files[0]) {
			t.Errorf("%s: the template is no JSON", name)
		}
	}
}
