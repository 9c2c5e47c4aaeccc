package gcp_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/gcp"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// stack returns the stack of the app of stacktest.
func stack(t testing.TB) *installstack.Stack {
	t.Helper()
	app := stacktest.App("gcp")
	app.Stack.CustomNestedStacks = nil
	return stacktest.Stack(t, app, stacktest.Facts())
}

func render(t testing.TB, s *installstack.Stack) map[string]string {
	t.Helper()
	files, findings := gcp.Render(s)
	if files == nil {
		t.Fatal(findings.Err())
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = f.Content
	}
	return all
}

// TestGolden compares install.tf of a stack with everything with the one that was reviewed.
func TestGolden(t *testing.T) {
	golden.Check(t, "testdata/install.tf", render(t, stack(t))["install.tf"])
}

// TestFormat checks that Terraform finds all files formatted.
func TestFormat(t *testing.T) {
	stacktest.CheckFormat(t, render(t, stack(t)))
}

// TestBootScript checks that a shell reads the script.
func TestBootScript(t *testing.T) {
	command := exec.CommandContext(t.Context(), "bash", "-n")
	command.Stdin = strings.NewReader(render(t, stack(t))["boot.sh"])
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestHostileTexts checks that no text of the config becomes an expression.
func TestHostileTexts(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "9", "-", " ", "'", `"`, `\`, "\n", "${", "}", "%{", "${file(\"/etc/passwd\")}", "EOT",
		"é", "\uE0F0region\uE0F1", strings.Repeat("x", 70)})
	text := rapid.Custom(func(r *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(r, "text"), "") })
	ours := regexp.MustCompile("^(one|nonsensitive|map)$") // functions and types that the module itself uses
	account := regexp.MustCompile(`account_id += +"([^"]*)"`)
	rapid.Check(t, func(r *rapid.T) {
		app, facts := stacktest.App("gcp"), stacktest.Facts()
		app.Stack.CustomNestedStacks = nil
		for i := range app.Permissions {
			app.Permissions[i].Description, app.Permissions[i].DisplayName = text.Draw(r, "about"), text.Draw(r, "label")
			app.Permissions[i].Name = fmt.Sprint(i) + strings.ReplaceAll(text.Draw(r, "name"), "\n", "")
			app.Permissions[i].Policies[0].GCPPredefinedRole = text.Draw(r, "grant")
		}
		app.Secrets[1].Description, app.Inputs[0].DisplayName = text.Draw(r, "secret"), text.Draw(r, "input")
		facts.Inputs["size"] = text.Draw(r, "size")
		read := installstack.Read(app, facts)
		if read.Stack == nil {
			return // a name that depends on the region
		}
		files := render(t, read.Stack)
		parsed, diagnostics := hclsyntax.ParseConfig([]byte(files["install.tf"]), "install.tf", hcl.InitialPos)
		if diagnostics.HasErrors() {
			r.Fatalf("%s\n%s", diagnostics, files["install.tf"])
		}
		_ = hclsyntax.VisitAll(parsed.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
			if call, is := node.(*hclsyntax.FunctionCallExpr); is && !ours.MatchString(call.Name) {
				r.Fatalf("a text calls %s", call.Name)
			}
			return nil
		})
		for _, found := range account.FindAllStringSubmatch(files["install.tf"], -1) {
			if !regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`).MatchString(found[1]) {
				r.Fatalf("account %q", found[1])
			}
		}
	})
}
