package preview

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/build"
)

// module draws what a config says of one component that is built.
func module(t *rapid.T) *appconfig.Component {
	one := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	return &appconfig.Component{
		Name: "a", Kind: appconfig.KindTerraformModule, MaxAutoRetries: rapid.IntRange(0, 1).Draw(t, "retries"), Toggleable: rapid.Bool().Draw(t, "toggleable"),
		Source: &appconfig.Source{
			Repo: one("repository", ".", "acme/infra"), Directory: one("directory", "", ".", "modules/a"), Branch: one("branch", "main", "v2"),
			Connected: rapid.Bool().Draw(t, "connected"),
		},
		EnvVars:   map[string]string{"X": one("variable", "1", "2")},
		Terraform: &appconfig.Terraform{Version: one("version", "1.11.4", "1.12.0"), Vars: map[string]string{"x": one("value", "1", "{{.nuon.install.id}}")}},
	}
}

// recipe is what a build of the component is named by, of code that is the same in both.
func recipe(c *appconfig.Component) string {
	directory := c.Source.Directory
	if directory == "" {
		directory = "." // as a build takes it
	}
	return build.Recipe{Kind: c.Kind, TerraformVersion: c.Terraform.Version, Directory: directory}.Digest()
}

// TestDiffAgreesWithBuilds: `nuon diff app` says of a component that it is built anew exactly when a build of the same code would be another
// one, and that it is deployed anew exactly when the digest that rollouts compare is another one.
func TestDiffAgreesWithBuilds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, will := module(t), module(t)
		said := app.EffectOf(was, will)
		if rebuilt := recipe(was) != recipe(will); said.Rebuild != rebuilt {
			t.Fatalf("the diff says of a rebuild %t, the recipe %t", said.Rebuild, rebuilt)
		}
		if again := was.ConfigDigest() != will.ConfigDigest(); said.Redeploy != again {
			t.Fatalf("the diff says of a deploy %t, the digest %t", said.Redeploy, again)
		}
		if moved := was.Source.Repo != will.Source.Repo || was.Source.Branch != will.Source.Branch; said.Moved != moved {
			t.Fatalf("the diff says that the code moves: %t", said.Moved)
		}
	})
}
