package appconfig

import (
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// maxRetries bounds max_auto_retries; more retries would only hide a broken component.
const maxRetries = 100

// checkComponents checks each component alone: section 10.
func (c *checker) checkComponents() {
	for _, comp := range c.components {
		c.checkRetries(comp.table, comp.MaxAutoRetries)
		c.checkOwnRoles(comp.table, comp.OperationRoles, "a component", componentOperations)
		c.checkContext(comp.table, comp.KubernetesContext)
		c.noteContext(comp)
		switch {
		case comp.module != nil:
			c.checkVersion(comp.table, "terraform_version", comp.module.TerraformVersion)
			c.checkEnvironment(comp.table, "env_vars")
			c.requireSource(comp.table, comp.module.Repositories)
		case comp.chart != nil:
			c.checkChart(comp)
		case comp.image != nil:
			c.checkImage(comp)
		case comp.build != nil:
			c.checkDockerBuild(comp)
		case comp.manifest != nil:
			c.checkManifest(comp)
		case comp.pulumi != nil:
			c.checkVersion(comp.table, "pulumi_version", comp.pulumi.PulumiVersion)
			c.checkEnvironment(comp.table, "env_vars")
			c.requireSource(comp.table, comp.pulumi.Repositories)
		}
	}
	c.checkReleases()
}

func (c *checker) checkRetries(t *syntax.Table, retries int) {
	if retries < 0 || retries > maxRetries {
		c.errorf(ruleWrongValue, t.Position("max_auto_retries"), "",
			"max_auto_retries must be between 0 and %d", maxRetries)
	}
}

var exampleVersions = map[string]string{"terraform_version": "1.11.4", "pulumi_version": "3.190.0"}

func (c *checker) checkVersion(t *syntax.Table, key, version string) {
	if version == "" || exactVersion.MatchString(version) {
		return
	}
	hint := `write it like "` + exampleVersions[key] + `"`
	if plain := strings.TrimPrefix(strings.TrimSpace(strings.TrimLeft(version, "=~><! ")), "v"); exactVersion.MatchString(
		plain) {
		hint = "write " + diagnostic.Quote(plain)
	}
	c.errorf(ruleVersion, t.Position(key), hint, "%s must be one exact version, not %s", key, diagnostic.Quote(version))
}

// escapesRoot reports whether a path leads out of the directory that it is relative to.
func escapesRoot(name string) bool {
	clean := path.Clean(name)
	return path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsAny(clean, "\\\x00\n")
}
