package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// ReadLocal reads a local chart directory, and the directories that it depends on, as
// a source tree. The root of the tree is the root of their git repository, or else a
// common parent directory. at is the path of the chart in the tree.
func ReadLocal(dir string) (files []artifact.File, at string, err error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, "", err
	}
	wanted, err := localDirs(full)
	if err != nil {
		return nil, "", err
	}
	root := repositoryRoot(full)
	if root == "" {
		root = commonParent(wanted)
	}
	wanted = withLinked(root, wanted)
	within := make([]string, 0, len(wanted))
	for _, w := range wanted {
		if below, err := filepath.Rel(root, w); err == nil && filepath.IsLocal(below) {
			within = append(within, filepath.ToSlash(below)) // the tree reports what is outside of it as missing
		}
	}
	files, err = artifact.ReadDir(root, artifact.ReadOptions{Skip: func(name string, entry fs.DirEntry) bool {
		return entry.Name() == ".git" || !isRelated(name, within)
	}})
	if err != nil {
		return nil, "", fmt.Errorf("read the chart in %s: %w", quote(dir), err)
	}
	below, err := filepath.Rel(root, full)
	return files, filepath.ToSlash(below), err
}

// isRelated reports whether a path is a parent of one of these directories, or is inside one.
func isRelated(name string, dirs []string) bool {
	for _, dir := range dirs {
		if dir == "." || name == dir || strings.HasPrefix(name, dir+"/") || strings.HasPrefix(dir, name+"/") {
			return true
		}
	}
	return false
}

// localDirs returns the directory of a chart and those that it depends on by file://,
// also indirectly.
func localDirs(dir string) ([]string, error) {
	found := []string{dir}
	for i := 0; i < len(found); i++ {
		if len(found) > maxCharts {
			return nil, fmt.Errorf("the chart needs more than %d directories; take some out", maxCharts)
		}
		for _, next := range localReferences(found[i]) {
			if !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	return found, nil
}

// localReferences returns the directories that a chart, and those in its charts/, reference by file://.
func localReferences(dir string) []string {
	charts := []string{dir}
	if inner, err := filepath.Glob(filepath.Join(escaped.Replace(dir), "charts", "*")); err == nil {
		charts = append(charts, inner...)
	}
	var found []string
	for _, chart := range charts {
		for _, file := range []string{chartFile, requirementsFile} {
			for _, below := range localPaths(filepath.Join(chart, file)) {
				found = append(found, filepath.Join(chart, filepath.FromSlash(below)))
			}
		}
	}
	return found
}

// escaped escapes the special characters of a pattern in a path.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// withLinked adds the targets of links in directories, as far as they are below root.
// The number of links is bounded; the tree reports the targets of others as missing.
func withLinked(root string, dirs []string) []string {
	seen := 0
	for i := 0; i < len(dirs) && len(dirs) <= maxCharts; i++ {
		// An unreadable file is reported again when it is needed.
		_ = filepath.WalkDir(dirs[i], func(name string, entry fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxSeen {
				return fs.SkipAll
			}
			if entry.Type() != fs.ModeSymlink {
				return nil
			}
			if target := linkTarget(name); isWithin(target, root) && !slices.ContainsFunc(dirs, func(dir string) bool {
				return isWithin(target, dir)
			}) {
				dirs = append(dirs, target)
			}
			return nil
		})
	}
	return dirs
}

// linkTarget returns the target of a link, which may be a link, too; empty for one that
// cannot be followed in a repository.
func linkTarget(name string) string {
	written, err := os.Readlink(name)
	if err != nil || filepath.IsAbs(written) {
		return ""
	}
	return filepath.Join(filepath.Dir(name), written)
}

// isWithin reports whether a clean path is a directory, or is inside it.
func isWithin(name, dir string) bool {
	below, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(below)
}

// localPaths returns the relative paths that a Chart.yaml references by file://.
// Errors in the file are reported when the chart is read.
func localPaths(file string) []string {
	opened, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer opened.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(opened, maxMetadata))
	var meta chart.Metadata
	if err != nil || yaml.Unmarshal(content, &meta) != nil {
		return nil
	}
	var found []string
	for _, dependency := range meta.Dependencies {
		if dependency == nil {
			continue
		}
		if below, is := strings.CutPrefix(dependency.Repository, "file://"); is && !path.IsAbs(below) {
			found = append(found, below)
		}
	}
	return found
}

// repositoryRoot returns the root of the work tree that contains dir, or "" if there is none.
func repositoryRoot(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// commonParent returns the nearest directory that contains all of them and is none of them.
func commonParent(dirs []string) string {
	root := filepath.Dir(dirs[0])
	for _, dir := range dirs[1:] {
		for root != filepath.Dir(root) && !strings.HasPrefix(dir, root+string(filepath.Separator)) {
			root = filepath.Dir(root)
		}
	}
	return root
}
