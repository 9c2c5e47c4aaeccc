package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
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
			parsed, diagnostics := hclsyntax.ParseConfig(files[1], "main.tf", hcl.InitialPos)
			if diagnostics.HasErrors() {
				t.Fatalf("%s\n%s", diagnostics, files[1])
			}
			body := parsed.Body.(*hclsyntax.Body)
			variables, declared := map[string]*hclsyntax.Body{}, []string{"path.module"}
			for _, b := range body.Blocks {
				switch b.Type {
				case "variable":
					variables[b.Labels[0]] = b.Body
					declared = append(declared, "var."+b.Labels[0])
				case "resource":
					declared = append(declared, strings.Join(b.Labels, "."))
				case "data":
					declared = append(declared, "data."+strings.Join(b.Labels, "."))
				case "locals":
					for local := range b.Body.Attributes {
						declared = append(declared, "local."+local)
					}
				}
			}
			for id, p := range parse(t, files[0]).Parameters {
				checkVariable(t, id, p, variables[id])
				if !strings.Contains(string(files[1]), " = var."+id+"\n") {
					t.Errorf("%s is not passed on", id)
				}
			}
			_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
				if read, is := node.(*hclsyntax.ScopeTraversalExpr); is {
					if path := pathOf(read.Traversal); !slices.ContainsFunc(declared, func(to string) bool {
						return path == to || strings.HasPrefix(path, to+".")
					}) && path != "string" {
						t.Errorf("it reads %s, which does not exist", path)
					}
				}
				return nil
			})
		})
	}
}

func pathOf(t hcl.Traversal) string {
	path := t.RootName()
	for _, step := range t[1:] {
		if step, is := step.(hcl.TraverseAttr); is {
			path += "." + step.Name
		}
	}
	return path
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
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform on PATH")
	}
	for name, files := range modules(t) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, cloudformation.ModuleName), files[1], 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), terraform, "-chdir="+dir, "fmt", "-check", "-diff")
		if said, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		if !json.Valid(files[0]) {
			t.Errorf("%s: the template is no JSON", name)
		}
	}
}
