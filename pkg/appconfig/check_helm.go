package appconfig

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// releaseName is an RFC 1035 label: section 12, rule 14. Helm limits its length.
var releaseName = lazyregexp.New(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

const (
	minReleaseName = 5
	maxReleaseName = 53 // Helm's limit
)

// checkChart checks a Helm chart: section 10.2.
func (c *checker) checkChart(comp *component) {
	chart, t := comp.chart, comp.table
	c.checkReleaseName(t, chart.ChartName)
	c.checkValuesBelow(t.Get("values").Table())
	c.checkChartSource(comp)
	c.checkDriver(t, "storage_driver", chart.StorageDriver)
	for key, n := range t.Get("values").Table().Each {
		if text, ok := n.Value.(string); ok && (text == "true" || text == "false") {
			c.warnf(ruleValuesFlag, n.At, "write "+text+" without quotes",
				`%s is the text %q, and in a condition of a chart every text counts as true`,
				syntax.Join("values", key), text)
		}
		if problem := valuesKeyProblem(key); problem != "" {
			c.errorf(ruleValuesKey, n.Key, `write it as for helm --set, such as "image.tag" or "hosts[0]"`,
				"the key %s %s", diagnostic.Quote(key), problem)
		}
	}
	for i, file := range chart.ValuesFiles {
		path := syntax.JoinIndex("values_file", i)
		switch {
		case file.Contents != "" && file.Path != "":
			c.errorf(ruleChooseOne, t.KeyPosition(path+".path"), "keep contents",
				"%s: both contents and path are given", path)
		case file.Contents == "" && file.Path == "" && t.Find(path+".contents") == nil:
			c.errorf(ruleMissingKey, t.Position(path), `write contents = "./values/NAME.yaml"`,
				"%s: contents is missing", path)
		}
	}
	for _, f := range fragments("", t, comp.keys, comp.kind(), comp.texts, isValuesFile) {
		c.checkValuesYAML(&f)
	}
}

// checkValuesBelow reports a key whose parent key has a value too.
func (c *checker) checkValuesBelow(values *syntax.Table) {
	for key, n := range values.Each {
		for i, r := range key {
			if r != '.' && r != '[' || values.Get(key[:i]) == nil {
				continue
			}
			c.errorf(ruleValuesKey, n.Key, "remove one of them",
				"the key %s lies below %s, which has a value of its own", diagnostic.Quote(key),
				diagnostic.Quote(key[:i]))
			break
		}
	}
}

// checkDriver warns about the former storage driver "nuon", which means configmap now.
func (c *checker) checkDriver(t *syntax.Table, key, driver string) {
	if driver == driverNuon {
		c.warnf(ruleRemovedValue, t.Position(key), "write "+diagnostic.Quote(driverConfigMap),
			"%s nuon means configmap here: Helm's records stay in the cluster", key)
	}
}

func isValuesFile(k *format.Key) bool { return strings.HasPrefix(k.Path, "values_file.") }

func (c *checker) checkReleaseName(t *syntax.Table, name string) {
	at := t.Position("chart_name")
	switch {
	case name == "":
	case !releaseName.MatchString(name):
		hint := "begin with a letter, and use lower-case letters, digits and dashes"
		if plain := strings.ReplaceAll(suggestName(name), "_", "-"); releaseName.MatchString(plain) &&
			len(plain) >= minReleaseName && len(plain) <= maxReleaseName {
			hint = "write " + diagnostic.Quote(plain)
		}
		c.errorf(ruleReleaseName, at, hint, "%s is no name for a Helm release", diagnostic.Quote(name))
	case len(name) < minReleaseName || len(name) > maxReleaseName:
		c.errorf(ruleReleaseName, at, fmt.Sprintf("use %d to %d characters", minReleaseName, maxReleaseName),
			"%s is no name for a Helm release: it has %d characters", diagnostic.Quote(name), len(name))
	}
}

// checkChartSource requires exactly one source of the chart.
func (c *checker) checkChartSource(comp *component) {
	t := comp.table
	switch {
	case !has(t, "helm_repo") && !has(t, "public_repo") && !has(t, "connected_repo"):
		c.errorf(ruleMissingKey, t.At, `repo = "." is the app's own repository`,
			"[public_repo], [connected_repo] or [helm_repo] is missing")
		return
	case has(t, "helm_repo") && (has(t, "public_repo") || has(t, "connected_repo")):
		c.errorf(ruleChooseOne, t.KeyPosition("helm_repo"), "keep one of them",
			"both helm_repo and a repository are given")
	}
	c.checkSource(t, "", comp.chart.Repositories)
	if repo := comp.chart.HelmRepo; repo != nil && repo.RepoURL != "" {
		c.checkHelmRepository(t, repo)
	}
}

// checkHelmRepository checks where a chart is fetched from, and reports what a build would reject.
func (c *checker) checkHelmRepository(t *syntax.Table, repo *format.HelmRepository) {
	at := t.Position("helm_repo.repo_url")
	const form = `write it like "https://charts.example.com" or "oci://ghcr.io/acme/charts"`
	address, err := url.Parse(repo.RepoURL)
	switch {
	case strings.Contains(repo.RepoURL, "{{"):
	case err != nil || strings.ContainsAny(repo.RepoURL, " \t\r\n"):
		c.errorf(ruleWrongValue, at, form, "repo_url is no address of a chart repository")
	case address.User != nil:
		c.errorf(ruleWrongValue, at, "remove it, and put a private chart into the repository of the app",
			"repo_url contains a user or a password, and charts are fetched without")
	case !slices.Contains([]string{"https", "http", "oci"}, address.Scheme) || address.Host == "":
		c.errorf(ruleWrongValue, at, form, "repo_url is no address of a chart repository")
	case address.Scheme == "http" && !isLoopback(address.Hostname()):
		c.errorf(ruleWrongValue, at, "write https://", "charts are fetched over https only")
	case address.RawQuery != "" || address.Fragment != "" ||
		address.Scheme == "oci" && strings.Contains(path.Base(address.Path), ":"):
		c.errorf(ruleWrongValue, at, "write the address alone, and chart and version as keys of their own",
			"repo_url is more than the address of a chart repository")
	}
	if repo.Chart != "" && !chartName.MatchString(repo.Chart) {
		c.errorf(ruleWrongValue, t.Position("helm_repo.chart"),
			"write it as the repository has it, and what stands before it into repo_url", "%s is no name of a chart",
			diagnostic.Quote(repo.Chart))
	}
	switch {
	case repo.Chart != "" && repo.Version == "":
		c.warnf(ruleChartVersion, t.KeyPosition("helm_repo"), `write version = "VERSION" into [helm_repo]`,
			"chart %s has no version: the newest there is when it is first built is taken, and kept",
			diagnostic.Quote(repo.Chart))
	case repo.Version != "" && !strings.ContainsAny(repo.Version, "0123456789*"):
		c.errorf(ruleWrongValue, t.Position("helm_repo.version"), `write one like "1.4.0" or "~1.4"`,
			"%s is neither a version nor a range of them", diagnostic.Quote(repo.Version))
	}
}

// chartName matches valid names of charts: the name becomes part of URLs and paths.
var chartName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,249}$`)

// isLoopback reports whether a host is the local machine, with which plain http is allowed.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkReleases reports two components that are one release to Helm. It compares a templated
// namespace as text.
func (c *checker) checkReleases() {
	type release struct{ context, namespace, name string }
	first := map[release]*component{}
	for _, comp := range c.components {
		if comp.chart == nil || comp.chart.ChartName == "" {
			continue
		}
		namespace := comp.chart.Namespace
		this := release{cmp.Or(comp.KubernetesContext, SandboxName), normalizeRoleName(namespace), comp.chart.ChartName}
		if other := first[this]; other != nil && other.Name != comp.Name {
			at := other.table.Position("chart_name")
			c.errorf(ruleReleaseTwice, comp.table.Position("chart_name"), "choose another chart_name or namespace",
				"component %s is the release %s in namespace %s already: %s:%d", other.Name,
				diagnostic.Quote(this.name), diagnostic.Quote(namespace), at.File, at.Line)
			continue
		}
		first[this] = comp
	}
}
