package format

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

const (
	// maxEntries is the maximum number of files and directories that are visited.
	maxEntries = 200_000
	// maxDepth is the maximum number of directory levels between a named directory and an
	// app, or a file of one.
	maxDepth = 12
)

// finder finds the TOML files of apps.
type finder struct {
	ctx      context.Context
	roots    []string // names and patterns of files at the root of an app
	sections []string // directories of an app whose TOML files are formatted
	found    []string
	entries  int
}

// find returns the files that the arguments name, without duplicates.
func find(ctx context.Context, args []string) ([]string, error) {
	f := &finder{ctx: ctx}
	f.roots, f.sections = layout()
	for _, name := range args {
		if name == "-" {
			return nil, exitcode.Usagef("- formats stdin, so it must be the only argument")
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, missing(name, err)
		}
		if !info.IsDir() {
			f.found = append(f.found, name)
			continue
		}
		if err := f.directory(filepath.Clean(name)); err != nil {
			return nil, err
		}
	}
	var once []string
	seen := map[string]bool{}
	for _, name := range f.found {
		if key := filepath.Clean(name); !seen[key] {
			seen[key], once = true, append(once, key)
		}
	}
	return once, nil
}

// layout returns the locations of the files of the format.
func layout() (roots, sections []string) {
	for _, k := range format.Kinds() {
		for _, p := range k.Paths {
			if section, _, below := strings.Cut(p, "/"); below {
				sections = append(sections, section)
			} else {
				roots = append(roots, p)
			}
		}
	}
	return roots, sections
}

// directory finds the files of the app that a directory is or is part of, or else of
// the apps below it.
func (f *finder) directory(dir string) error {
	before := len(f.found)
	part, err := f.isPart(dir)
	switch {
	case err != nil:
		return err
	case part:
		err = f.section(dir, 0)
	default:
		err = f.apps(dir, 0)
	}
	if err == nil && len(f.found) == before {
		err = exitcode.Usagef("no app in %s or below it: name the directory of metadata.toml, or files",
			dir)
	}
	return err
}

// isPart reports whether a directory is in a section of an app, such as components.
func (f *finder) isPart(dir string) (bool, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	for range maxDepth {
		above := filepath.Dir(at)
		if above == at {
			break
		}
		if slices.Contains(f.sections, filepath.Base(at)) {
			entries, err := os.ReadDir(above)
			if err == nil && isApp(entries) {
				return true, nil
			}
		}
		at = above
	}
	return false, nil
}

// isApp reports whether a directory with these entries is an app.
func isApp(entries []os.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		single, _ := filepath.Match("nuon.*.toml", e.Name())
		return !e.IsDir() && (single || e.Name() == "metadata.toml" || e.Name() == "sandbox.toml")
	})
}

// apps finds all apps in a directory and below it. It does not search within apps and
// in downloaded code.
func (f *finder) apps(dir string, depth int) error {
	entries, err := f.entriesOf(dir)
	if err != nil {
		return err
	}
	app := isApp(entries)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case app && e.IsDir() && slices.Contains(f.sections, e.Name()):
			err = f.section(name, 0)
		case app && e.Type().IsRegular() && f.isRoot(e.Name()):
			f.found = append(f.found, name)
		case !app && e.IsDir() && depth < maxDepth && !isSkipped(e.Name()):
			err = f.apps(name, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) isRoot(name string) bool {
	return slices.ContainsFunc(f.roots, func(pattern string) bool {
		is, err := filepath.Match(pattern, name)
		return err == nil && is
	})
}

// isSkipped reports whether a directory contains downloaded or hidden files.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

// section finds all TOML files of a section.
func (f *finder) section(dir string, depth int) error {
	entries, err := f.entriesOf(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxDepth:
			if err := f.section(name, depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".toml"):
			f.found = append(f.found, name)
		}
	}
	return nil
}

// entriesOf returns the entries of a directory sorted by name, or an error once the
// search exceeds its limit.
func (f *finder) entriesOf(dir string) ([]os.DirEntry, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, missing(dir, err)
	}
	if f.entries += len(entries); f.entries > maxEntries {
		return nil, exitcode.Usagef("format %s: more than %d files; name the directory of an app",
			dir, maxEntries)
	}
	return entries, nil
}
