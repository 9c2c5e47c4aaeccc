package stackfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stackfiles"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// TestCorpus renders the stack of every real app. NUON_CORPUS is a directory with one app per subdirectory.
func TestCorpus(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("NUON_CORPUS"), "*", "metadata.toml"))
	if os.Getenv("NUON_CORPUS") == "" || len(dirs) == 0 {
		t.Skip("NUON_CORPUS names no directory of apps")
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{})
			if app == nil {
				t.Fatal(found.Err())
			}
			facts := stacktest.Facts()
			for _, in := range app.Inputs {
				if in.Required && in.Default == nil {
					facts.Inputs[in.Name] = "given"
				}
			}
			r := stackfiles.Render(app, facts)
			if len(r.Files) == 0 {
				t.Fatal(r.Findings.Err())
			}
			if again := stackfiles.Render(app, facts); again.Digest != r.Digest {
				t.Error("the second rendering differs")
			}
		})
	}
}

// TestDigest checks that the digest changes with the files, and only with them.
func TestDigest(t *testing.T) {
	first := stackfiles.Render(stacktest.App("aws"), stacktest.Facts())
	app := stacktest.App("aws")
	app.Components = append(app.Components, appconfig.Component{Name: "other"})
	if same := stackfiles.Render(app, stacktest.Facts()); first.Digest == "" || same.Digest != first.Digest {
		t.Errorf("another component gave %s, not %s", same.Digest, first.Digest)
	}
	app.Permissions[0].Description = "More"
	if changed := stackfiles.Render(app, stacktest.Facts()); changed.Digest == first.Digest {
		t.Error("another description gave the same digest")
	}
	app.Stack.Name = "{{.nuon.sandbox.outputs.x}}"
	if none := stackfiles.Render(app, stacktest.Facts()); none.Digest != "" || none.Files != nil {
		t.Errorf("a stack with an error has the digest %s", none.Digest)
	}
}

// TestTerraformModule checks that the type of stack.toml decides whether a stack on AWS or Azure is a Terraform module.
func TestTerraformModule(t *testing.T) {
	for _, c := range []struct{ cloud, kind, want string }{
		{"aws", "aws-cloudformation", "template.json"}, {"aws", "", "template.json"},
		{"aws", "aws-terraform", "main.tf template.json"},
		{"azure", "azure-bicep", "azuredeploy.json"}, {"azure", "", "azuredeploy.json"},
		{"azure", "azure-terraform", "main.tf azuredeploy.json"},
	} {
		app := stacktest.App(c.cloud)
		app.Stack.Type = c.kind
		var names []string
		for _, f := range stackfiles.Render(app, stacktest.Facts()).Files {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s, %q: %s", c.cloud, c.kind, got)
		}
	}
}
