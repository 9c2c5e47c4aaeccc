package initialize

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// chart is a Helm chart.
type chart struct {
	name, version, appVersion string
	values                    []setting // values that installs often set, with the chart's defaults
}

// setting is one value of a chart: its key in the notation of helm --set, and its value as TOML.
type setting struct{ key, value string }

// commonSettings lists the values that most charts have and most installs set.
var commonSettings = [][]string{
	{"image", "repository"}, {"image", "tag"}, {"replicaCount"}, {"replicas"}, {"ingress", "enabled"},
	{"ingress", "className"},
	{"ingress", "host"}, {"ingress", "hostname"}, {"ingress", "hosts", "0", "host"},
}

// chart finds a chart in a directory. It skips library charts, which cannot be installed.
func (s *searcher) chart(dir string, files map[string]bool) (found find, ok bool, err error) {
	if !files["Chart.yaml"] {
		return find{}, false, nil
	}
	text, ok := s.read(path.Join(dir, "Chart.yaml"))
	if !ok {
		return find{}, false, errors.New("its Chart.yaml cannot be read")
	}
	all, err := documents(text)
	if err != nil || len(all) == 0 {
		return find{}, false, errors.Join(errors.New("its Chart.yaml is empty"), err)
	}
	if scalarAt(all[0], "type") == "library" {
		return find{}, false, nil
	}
	c := chart{name: scalarAt(all[0], "name"), version: scalarAt(all[0], "version"),
		appVersion: scalarAt(all[0], "appVersion")}
	if c.name == "" {
		return find{}, false, errors.New("its Chart.yaml has no name")
	}
	if files["values.yaml"] {
		c.values = s.settings(path.Join(dir, "values.yaml"), c.appVersion)
	}
	return find{about: strings.TrimSpace("Helm chart " + c.name + " " + c.version), part: c}, true, nil
}

// settings returns the values listed in often that the values.yaml of a chart
// contains. It returns none for a file that cannot be parsed.
func (s *searcher) settings(name, appVersion string) (found []setting) {
	text, _ := s.read(name)
	all, err := documents(text)
	if err != nil || len(all) == 0 {
		return nil
	}
	for _, keys := range commonSettings {
		if nodeAt(all[0], keys...) == nil {
			continue
		}
		value := appconfig.Quote(scalarAt(all[0], keys...))
		switch at := nodeAt(all[0], keys...); {
		case keys[len(keys)-1] == "tag" && value == `""`:
			value = appconfig.Quote(appVersion)
		case at.ShortTag() == "!!bool" && (at.Value == "true" || at.Value == "false"),
			at.ShortTag() == "!!int" && isCount(at.Value):
			value = at.Value
		}
		found = append(found, setting{strings.ReplaceAll(strings.Join(keys, "."), ".0.", "[0]."), value})
	}
	return found
}

// isCount reports whether YAML and TOML parse a text as the same integer.
func isCount(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(n) == text
}

func (c chart) addTo(a *app, dir string) {
	name := a.componentName(c.name)
	release := label(c.name)
	if len(release) < shortestRelease {
		release = label(a.name + "-" + release)
	}
	if len(release) < shortestRelease {
		release += "-release"
	}
	release = uniqueName(release, "-", func(name string) bool { return slices.Contains(a.releases, name) })
	a.releases = append(a.releases, release)
	var b strings.Builder
	fmt.Fprintf(&b, `# helm
type       = "helm_chart"
name       = %s
chart_name = %s # of the release
namespace  = %s

[public_repo]
repo      = "." # the repository that this file is in, at the same commit
directory = %s # of the chart %s
`, appconfig.Quote(name), appconfig.Quote(release), appconfig.Quote(label(c.name)), appconfig.Quote(dir), strings.TrimSpace(c.name+" "+c.version))
	if len(c.values) > 0 {
		b.WriteString("\n# Values that installs often set. To set one, take the # away, also that of [values]; a value " +
			"may read\n" +
			"# {{.nuon.inputs.inputs.NAME}} of an input in inputs.toml.\n# [values]\n")
	}
	for _, v := range c.values {
		fmt.Fprintf(&b, "# %s = %s\n", appconfig.Quote(v.key), v.value)
	}
	a.components = append(a.components, component{name: name, text: b.String()})
	a.notes = append(a.notes, fmt.Sprintf("The component %s is the chart in %s.", name, placeOf(dir)))
}

// Helm and the config format accept release names of 5 to 53 bytes; three are left for a number.
const (
	shortestRelease = 5
	longestRelease  = 50
)

// label derives a valid Kubernetes label (RFC 1035) from any name.
func label(name string) string {
	l := simplifyName(name, "-")
	if l == "" || l[0] < 'a' {
		l = strings.TrimSuffix("app-"+l, "-")
	}
	return strings.TrimRight(l[:min(len(l), longestRelease)], "-")
}
