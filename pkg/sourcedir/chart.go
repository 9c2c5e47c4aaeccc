package sourcedir

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// chartFile is what of Chart.yaml, and of requirements.yaml as older charts have it, says of other charts.
type chartFile struct {
	Dependencies []chartDependency `yaml:"dependencies"`
}

type chartDependency struct {
	Name       string    `yaml:"name"`
	Repository yaml.Node `yaml:"repository"`
}

// repository is where a chart is looked for, also where it stands elsewhere in the file.
func (d chartDependency) repository() string {
	if d.Repository.Kind == yaml.AliasNode {
		return d.Repository.Alias.Value
	}
	return d.Repository.Value
}

// chartDirectories are the directories that a chart of a repository is built from: its own, those that its dependencies name as file://, and
// those that links in them lead to. Charts of chart repositories are the build's business. Sorted.
func chartDirectories(tree fs.FS, root string) ([]string, error) {
	dirs, charts := []string{root}, []string{root}
	for i := 0; i < len(charts); i++ {
		if len(charts) > maxDirectories {
			return nil, fmt.Errorf("the chart in %s depends on more than %d others", root, maxDirectories)
		}
		needs, err := localCharts(tree, charts[i])
		if err != nil {
			return nil, err
		}
		for _, dir := range needs {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		for _, chart := range append(needs, innerCharts(tree, charts[i])...) {
			if !slices.Contains(charts, chart) {
				charts = append(charts, chart)
			}
		}
	}
	return withLinked(tree, dirs)
}

// innerCharts are the charts that lie in the charts/ of another one as directories. What they need may lie elsewhere.
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

// localCharts are the directories that one chart depends on.
func localCharts(tree fs.FS, dir string) ([]string, error) {
	var dirs []string
	for _, file := range []string{"Chart.yaml", "requirements.yaml"} {
		name := path.Join(dir, file)
		var chart chartFile
		there, err := readYAML(tree, name, &chart)
		if err != nil {
			return nil, err
		}
		if !there && file == "Chart.yaml" {
			return nil, fmt.Errorf("there is no Chart.yaml in %s; commit the chart there, or correct the directory", dir)
		}
		for _, need := range chart.Dependencies {
			at, err := localChart(tree, dir, name, need)
			if err != nil {
				return nil, err
			}
			if at != "" {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs, nil
}

// localChart is the directory of a dependency; empty for one that is elsewhere, or that was put below charts/.
func localChart(tree fs.FS, dir, file string, need chartDependency) (string, error) {
	target, local := strings.CutPrefix(need.repository(), "file://")
	if !local {
		return "", nil
	}
	at := path.Join(dir, target)
	info, err := lstat(tree, at)
	inside := !path.IsAbs(target) && fs.ValidPath(at)
	switch {
	case inside && err == nil && info.IsDir():
		return at, nil
	case vendored(tree, dir, need.Name):
		return "", nil
	case !inside:
		return "", fmt.Errorf("%s:%d: dependency %q leads out of the repository; copy it into the repository and name it by a path such as file://../%s",
			file, need.Repository.Line, need.Name, need.Name)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", fmt.Errorf("%s:%d: dependency %q is in %s, which is a symbolic link; name the directory that it leads to", file, need.Repository.Line, need.Name, at)
	}
	return "", fmt.Errorf("%s:%d: dependency %q is in %s, which is not there; commit it, or correct the path", file, need.Repository.Line, need.Name, at)
}

// vendored says whether a chart is below the charts/ of another one, as a directory or packed.
func vendored(tree fs.FS, dir, name string) bool {
	entries, err := fs.ReadDir(tree, path.Join(dir, "charts"))
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == name || strings.HasPrefix(e.Name(), name+"-") && strings.HasSuffix(e.Name(), ".tgz")
	})
}
