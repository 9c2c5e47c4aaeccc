package fmt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

const (
	// maxEntries is how many files and directories are looked at.
	maxEntries = 200_000
	// maxDepth is how many directories an app, or a file of one, may lie below another directory.
	maxDepth = 12
)

// finder finds the TOML files of apps.
type finder struct {
	ctx      context.Context
	roots    []string // names and patterns of files at the root of an app
	sections []string // directories of an app whose TOML files count
	found    []string
	entries  int
}

// find gives the files that the arguments name, each once.
func find(ctx context.Context, args []string) ([]string, error) {
	f := &finder{ctx: ctx}
	f.roots, f.sections = layout()
	for _, name := range args {
		if name == "-" {
			return nil, exit.Usagef("- formats what comes in, so it must be the only argument")
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

// layout tells where the format has its files.
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

// directory finds the files of the app that a directory is, or is a part of, or of those below it.
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
		err = exit.Usagef("there is no app in %s or below it: name the directory that has the metadata.toml, or files", dir)
	}
	return err
}

// isPart says that a directory lies in a section of an app, such as components.
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

// isApp says that these are the entries of an app's directory.
func isApp(entries []os.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		single, _ := filepath.Match("nuon.*.toml", e.Name())
		return !e.IsDir() && (single || e.Name() == "metadata.toml" || e.Name() == "sandbox.toml")
	})
}

// apps finds all apps at and below a directory. No app lies in another, and none in what was downloaded.
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
		case !app && e.IsDir() && depth < maxDepth && !foreign(e.Name()):
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

// foreign says that nothing below a directory is a person's own.
func foreign(name string) bool {
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

// entriesOf lists a directory, in the order of the names, as long as there is not too much in all.
func (f *finder) entriesOf(dir string) ([]os.DirEntry, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, missing(dir, err)
	}
	if f.entries += len(entries); f.entries > maxEntries {
		return nil, exit.Usagef("format %s: more than %d files lie there; name the directory of an app", dir, maxEntries)
	}
	return entries, nil
}
