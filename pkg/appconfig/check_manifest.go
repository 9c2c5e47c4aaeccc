package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// checkManifest checks a kubernetes_manifest: section 10.5.
func (c *checker) checkManifest(comp *component) {
	t, kustomize := comp.table, has(comp.table, "kustomize")
	switch {
	case has(t, "manifest") && kustomize:
		c.errorf(ruleChooseOne, t.KeyPosition("kustomize"), "keep one of them", "both manifest and kustomize are given")
	case !has(t, "manifest") && !kustomize:
		c.errorf(ruleChooseOne, t.At, `write manifest = "./manifests/NAME.yaml"`, "manifest or [kustomize] is missing")
	}
	if n := t.Get("manifest"); n != nil && !kustomize {
		if text, ok := n.Text(); ok && strings.TrimSpace(text) == "" {
			c.errorf(ruleMissingKey, n.At, "", "the manifest is empty")
		}
	}
	if !kustomize {
		for _, key := range []string{"public_repo", "connected_repo"} {
			if n := t.Get(key); n != nil {
				c.errorf(ruleChooseOne, n.Key, "remove it, or write [kustomize]", "%s is for kustomize only", key)
			}
		}
		for _, f := range fragments("", t, comp.keys, comp.kind(), comp.texts, isManifest) {
			c.checkManifestYAML(&f)
			c.checkImages(&f)
		}
		return
	}
	if comp.manifest.PublicRepo == nil && comp.manifest.ConnectedRepo == nil && !has(t, "public_repo") &&
		!has(t, "connected_repo") {
		c.errorf(ruleMissingKey, t.Position("kustomize"), `repo = "." is the app's own repository`,
			"kustomize needs a [public_repo] or [connected_repo]")
	} else {
		c.checkSource(t, "", comp.manifest.Repositories)
	}
	if k := comp.manifest.Kustomize; k != nil {
		c.checkKustomize(t, k)
	}
}

// checkKustomize checks the settings of a kustomization: its paths must be below the directory of
// the repository.
func (c *checker) checkKustomize(t *syntax.Table, k *format.Kustomize) {
	const remedy = "write a path below the directory of the repository"
	if escapesRoot(k.Path) {
		c.errorf(ruleRepository, t.Position("kustomize.path"), remedy,
			"path %s is outside of the repository", diagnostic.Quote(k.Path))
	}
	for _, patch := range k.Patches {
		if escapesRoot(patch) {
			c.errorf(ruleRepository, t.Position("kustomize.patches"), remedy,
				"patch %s is outside of the repository", diagnostic.Quote(patch))
		}
	}
	if k.EnableHelm {
		c.warnf(ruleRemovedValue, t.Position("kustomize.enable_helm"), "make the chart a component of type helm_chart",
			"kustomize inflates no charts here")
	}
}

func isManifest(k *format.Key) bool { return k.Path == "manifest" }
