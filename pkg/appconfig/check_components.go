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
	for _, one := range c.components {
		c.checkRetries(one.table, one.MaxAutoRetries)
		c.checkOwnRoles(one.table, one.OperationRoles, "a component", componentOperations)
		c.checkContext(one.table, one.KubernetesContext)
		c.tellContext(one)
		switch {
		case one.module != nil:
			c.checkVersion(one.table, "terraform_version", one.module.TerraformVersion)
			c.checkEnvironment(one.table, "env_vars")
			c.needsSource(one.table, one.module.Repositories)
		case one.chart != nil:
			c.checkChart(one)
		case one.image != nil:
			c.checkImage(one)
		case one.build != nil:
			c.checkVariableNames(one.table, "env_vars") // build arguments, which no program of the runner reads
			c.checkDockerfile(one)
			c.needsSource(one.table, one.build.Repositories)
		case one.manifest != nil:
			c.checkManifest(one)
		case one.pulumi != nil:
			c.checkVersion(one.table, "pulumi_version", one.pulumi.PulumiVersion)
			c.checkEnvironment(one.table, "env_vars")
			c.needsSource(one.table, one.pulumi.Repositories)
		}
	}
	c.checkReleases()
}

func (c *checker) checkRetries(t *syntax.Table, retries int) {
	if retries < 0 || retries > maxRetries {
		c.errorf(ruleWrongValue, t.Place("max_auto_retries"), "",
			"max_auto_retries must be between 0 and %d", maxRetries)
	}
}

var exampleVersions = map[string]string{"terraform_version": "1.11.4", "pulumi_version": "3.190.0"}

func (c *checker) checkVersion(t *syntax.Table, key, version string) {
	if version == "" || exactVersion.MatchString(version) {
		return
	}
	hint := `write it like "` + exampleVersions[key] + `"`
	if plain := strings.TrimPrefix(strings.TrimSpace(strings.TrimLeft(version, "=~><! ")), "v"); exactVersion.MatchString(plain) {
		hint = "write " + diagnostic.Quote(plain)
	}
	c.errorf(ruleVersion, t.Place(key), hint, "%s must be one exact version, not %s", key, diagnostic.Quote(version))
}

func (c *checker) checkDockerfile(one *component) {
	file := one.build.Dockerfile
	if _, text := one.texts["dockerfile"]; text || strings.ContainsAny(file, "\r\n") {
		return
	}
	if outside(file) {
		c.errorf(ruleRepository, one.table.Place("dockerfile"), "write a path below the directory of the repository",
			"dockerfile %s is outside of the repository", diagnostic.Quote(file))
	}
}

// outside reports whether a path leads out of the directory that it is relative to.
func outside(name string) bool {
	clean := path.Clean(name)
	return path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsAny(clean, "\\\x00\n")
}
