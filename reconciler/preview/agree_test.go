package preview

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/build"
)

// drawn draws the config of one component of a kind that is built.
func drawn(t *rapid.T, kind string) *appconfig.Component {
	one := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	c := &appconfig.Component{
		Name: "a", Kind: kind, MaxAutoRetries: rapid.IntRange(0, 1).Draw(t, "retries"),
		Toggleable: rapid.Bool().Draw(t, "toggleable"),
		Source: &appconfig.Source{
			Repo: one("repository", ".", "acme/infra"), Directory: one("directory", "", ".", "modules/a"),
			Branch:    one("branch", "main", "v2"),
			Connected: rapid.Bool().Draw(t, "connected"),
		},
	}
	inline := rapid.Bool().Draw(t, "inline")
	switch {
	case kind == appconfig.KindTerraformModule:
		c.EnvVars = map[string]string{"X": one("variable", "1", "2")}
		c.Terraform = &appconfig.Terraform{Version: one("version", "1.11.4", "1.12.0"),
			Vars: map[string]string{"x": one("value", "1", "{{.nuon.install.id}}")}}
	case kind == appconfig.KindHelmChart:
		value := rapid.SampledFrom([]any{"3", int64(3), 3.0, true}).Draw(t, "value")
		c.Helm = &appconfig.Helm{ChartName: one("release", "hello", "other"), Values: map[string]any{"x": value},
			TakeOwnership: rapid.Bool().Draw(t, "take")}
		if inline {
			c.Source = nil
			c.Helm.Repository = &format.HelmRepository{RepoURL: one("charts", "oci://x", "https://x"),
				Chart: one("chart", "a", "b"), Version: one("chart version", "", "1.0.0")}
		}
	case inline:
		c.Source = nil
		c.Manifest = &appconfig.Manifest{Text: one("text", "a: b", "a: c"), Namespace: one("namespace", "x", "y")}
	default:
		c.Manifest = &appconfig.Manifest{Namespace: one("namespace", "x", "y"), Kustomize: &format.Kustomize{
			Path: one("path", ".", "./x", "x", "modules/a"), Patches: rapid.SampledFrom(
				[][]string{nil, {"p"}, {"./p", "q"}}).Draw(t, "patches"),
			EnableHelm: rapid.Bool().Draw(t, "enable helm"), LoadRestrictor: one("restrictor", "rootOnly", "none"),
		}}
	}
	return c
}

// placeOf returns the repository and branch of a component's code.
func placeOf(c *appconfig.Component) string {
	if c.Source == nil {
		return ""
	}
	return c.Source.Repo + " " + c.Source.Branch
}

// TestDiffAgreesWithBuilds: `nuon diff app` reports a rebuild of a component exactly when the
// build recipe of the same code changes, and a redeploy exactly when the digest that rollouts
// compare changes.
func TestDiffAgreesWithBuilds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{appconfig.KindTerraformModule, appconfig.KindHelmChart,
			appconfig.KindKubernetesManifest}).Draw(t, "kind")
		was, will := drawn(t, kind), drawn(t, kind)
		said := app.EffectOf(was, will)
		if rebuilt := build.BaseRecipe(was).Digest() != build.BaseRecipe(will).Digest(); said.Rebuild != rebuilt {
			t.Fatalf("the diff says of a rebuild %t, the recipe %t", said.Rebuild, rebuilt)
		}
		if again := was.ConfigDigest() != will.ConfigDigest(); said.Redeploy != again {
			t.Fatalf("the diff says of a deploy %t, the digest %t", said.Redeploy, again)
		}
		if moved := placeOf(was) != placeOf(will); said.Moved != moved {
			t.Fatalf("the diff says that the code moves: %t", said.Moved)
		}
	})
}
