package stacktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Variables returns the variables of a file of Terraform, by name, and checks without a provider that each reference in
// it leads somewhere.
func Variables(t testing.TB, module []byte) map[string]*hclsyntax.Body {
	t.Helper()
	parsed, diagnostics := hclsyntax.ParseConfig(module, "main.tf", hcl.InitialPos)
	if diagnostics.HasErrors() {
		t.Fatalf("%s\n%s", diagnostics, module)
	}
	body := parsed.Body.(*hclsyntax.Body)
	variables, declared := map[string]*hclsyntax.Body{}, []string{"path.module", "string", "bool"}
	for _, b := range body.Blocks {
		switch b.Type {
		case "variable":
			if variables[b.Labels[0]] != nil {
				t.Errorf("there are two variables %s", b.Labels[0])
			}
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
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		if loop, is := node.(*hclsyntax.ForExpr); is {
			declared = append(declared, loop.KeyVar, loop.ValVar)
		}
		if read, is := node.(*hclsyntax.ScopeTraversalExpr); is {
			if path := pathOf(read.Traversal); !slices.ContainsFunc(declared, func(to string) bool {
				return path == to || strings.HasPrefix(path, to+".")
			}) {
				t.Errorf("it reads %s, which does not exist", path)
			}
		}
		return nil
	})
	return variables
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

// CheckFormat checks that Terraform finds files formatted. It skips the test without Terraform.
func CheckFormat(t testing.TB, files map[string]string) {
	t.Helper()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform on PATH")
	}
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), terraform, "-chdir="+dir, "fmt", "-check", "-diff")
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
