package sourcedir

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// chartFile is the part of Chart.yaml, or of requirements.yaml in older charts, that refers to
// other charts.
type chartFile struct {
	Dependencies []chartDependency `yaml:"dependencies"`
}

type chartDependency struct {
	Name       string    `yaml:"name"`
	Repository yaml.Node `yaml:"repository"`
}

// repository returns the repository of a dependency. It resolves a YAML alias.
func (d chartDependency) repository() string {
	if d.Repository.Kind == yaml.AliasNode {
		return d.Repository.Alias.Value
	}
	return d.Repository.Value
}

// chartDirectories returns the directories that a chart of a repository is built from, sorted: its
// own, those of its file:// dependencies, and those that links in them lead to. The build fetches
// charts from chart repositories.
func chartDirectories(tree fs.FS, root string) ([]string, error) {
	dirs, charts := []string{root}, []string{root}
	for i := 0; i < len(charts); i++ {
		needs, err := localCharts(tree, charts[i])
		if err != nil {
			return nil, err
		}
		for _, chart := range slices.Concat(needs, innerCharts(tree, charts[i])) {
			if !slices.Contains(charts, chart) {
				charts = append(charts, chart)
			}
			if len(charts) > maxDirectories {
				return nil, fmt.Errorf("the chart in %s depends on more than %d others", root, maxDirectories)
			}
		}
		for _, dir := range needs {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return withLinked(tree, dirs)
}

// innerCharts returns the charts that are directories below the charts/ of another one. Their
// dependencies may be elsewhere.
func innerCharts(tree fs.FS, dir string) []string {
	entries, err := fs.ReadDir(tree, path.Join(dir, "charts"))
	if err != nil {
		return nil
	}
	var charts []string
	for _, entry := range entries {
		inner := path.Join(dir, "charts", entry.Name())
		if _, err := fs.Lstat(tree, path.Join(inner, "Chart.yaml")); err == nil && entry.IsDir() {
			charts = append(charts, inner)
		}
	}
	return charts
}

// localCharts returns the directories that one chart depends on.
func localCharts(tree fs.FS, dir string) ([]string, error) {
	var dirs []string
	vendored := sync.OnceValue(func() map[string]bool { return vendoredCharts(tree, dir) })
	for _, file := range []string{"Chart.yaml", "requirements.yaml"} {
		name := path.Join(dir, file)
		var chart chartFile
		exists, err := readYAML(tree, name, &chart)
		if err != nil {
			return nil, err
		}
		if !exists && file == "Chart.yaml" {
			return nil, fmt.Errorf("there is no Chart.yaml in %s; commit the chart there, or correct the directory",
				dir)
		}
		for _, need := range chart.Dependencies {
			chartDir, err := localChart(tree, dir, name, need, vendored)
			if err != nil {
				return nil, err
			}
			if chartDir != "" {
				dirs = append(dirs, chartDir)
			}
		}
	}
	return dirs, nil
}

// localChart returns the directory of a dependency. It returns the empty string for a dependency
// from a chart repository, or one below charts/.
func localChart(tree fs.FS, dir, file string, need chartDependency, vendored func() map[string]bool) (string, error) {
	target, local := strings.CutPrefix(need.repository(), "file://")
	if !local {
		return "", nil
	}
	chartDir := path.Join(dir, target)
	info, err := lstat(tree, chartDir)
	inside := !path.IsAbs(target) && fs.ValidPath(chartDir)
	switch {
	case inside && err == nil && info.IsDir():
		return chartDir, nil
	case vendored()[need.Name]:
		return "", nil
	case !inside:
		return "", fmt.Errorf("%s:%d: dependency %q leads out of the repository; copy it into the repository and name it "+
			"by a path such as file://../%s",
			file, need.Repository.Line, need.Name, need.Name)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", fmt.Errorf(
			"%s:%d: dependency %q is in %s, which is a symbolic link; name the directory that it leads to",
			file, need.Repository.Line, need.Name, chartDir)
	}
	return "", fmt.Errorf("%s:%d: dependency %q is in %s, which is not there; commit it, or correct the path",
		file, need.Repository.Line, need.Name, chartDir)
}

// vendoredCharts returns the names that the charts below the charts/ of another one can have: those of
// directories, and what an archive can be called before its version.
func vendoredCharts(tree fs.FS, dir string) map[string]bool {
	const longestName = 255 // of a file system
	entries, err := fs.ReadDir(tree, path.Join(dir, "charts"))
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if len(name) > longestName {
			continue
		}
		names[name] = true
		if !strings.HasSuffix(name, ".tgz") {
			continue
		}
		for i, r := range name {
			if r == '-' {
				names[name[:i]] = true
			}
		}
	}
	return names
}
