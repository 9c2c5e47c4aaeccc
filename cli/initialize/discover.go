package initialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// What a search looks at, at most. A repository is as large as its authors like.
const (
	maxEntries = 50_000 // files and directories
	maxDepth   = 10     // directories below the one where it begins
	maxFinds   = 50     // things to make components of
	maxFile    = 1 << 20
	maxTotal   = 32 << 20 // bytes of all files that are read
)

// find is something in the repository that a component can be made of.
type find struct {
	dir   string // in the repository
	about string // what it is, in a line
	part  part
}

// part makes components of what was found.
type part interface {
	// addTo adds them to the app.
	addTo(a *app, dir string)
}

// seeker looks through the repository for what an app can be made of. It follows no symbolic link and runs nothing.
type seeker struct {
	ctx     context.Context
	fsys    fs.FS
	entries int
	bytes   int // that were read
	finds   []find
	notes   []string        // what was left out, and why
	used    map[string]bool // directories that others of the finds are made of
}

// seek finds what lies at a directory of the repository, and below it. If whole, it is content with what is in the directory itself,
// if anything is.
func (p place) seek(ctx context.Context, dir string, whole bool) (finds []find, notes []string, err error) {
	root, err := os.OpenRoot(p.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look through %s: %w", p.root, err)
	}
	defer root.Close() //nolint:errcheck // only read
	s := &seeker{ctx: ctx, fsys: root.FS(), used: map[string]bool{}}
	entries, err := s.list(dir)
	if err == nil && whole {
		_, err = s.here(dir, entries)
	}
	if err == nil && len(s.finds) == 0 {
		err = s.walk(dir, 0)
	}
	return s.outer(), s.notes, err
}

// walk looks at a directory, and then at those in it.
func (s *seeker) walk(dir string, depth int) error {
	entries, err := s.list(dir)
	if err != nil {
		return err
	}
	if depth > 0 && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "metadata.toml" }) {
		return nil // an app that is there already
	}
	closed, err := s.here(dir, entries)
	if err != nil || closed || depth == maxDepth {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || strange(e.Name()) || foreign(e.Name()) {
			continue
		}
		if err := s.walk(path.Join(dir, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// here adds what is in one directory. Closed says that what lies below belongs to it.
func (s *seeker) here(dir string, entries []fs.DirEntry) (closed bool, err error) {
	files := map[string]bool{}
	for _, e := range entries {
		if e.Type().IsRegular() && !strange(e.Name()) {
			files[e.Name()] = true
		}
	}
	for _, look := range []func(dir string, files map[string]bool) (find, bool, error){s.chart, s.kustomization, s.module, s.manifests} {
		found, ok, err := look(dir, files)
		if err != nil {
			s.leaveOut(dir, err)
			continue
		}
		if !ok {
			continue
		}
		if len(s.finds) == maxFinds {
			return false, exit.Usagef("more than %d charts, modules and manifests lie there: name one of their directories with --from", maxFinds)
		}
		found.dir = dir
		s.finds = append(s.finds, found)
		if _, closed = found.part.(chart); closed {
			break
		}
		if _, made := found.part.(kustomization); made {
			maps.DeleteFunc(files, func(name string, _ bool) bool { return isYAML(name) }) // they are what it is made of
		}
	}
	return closed, nil
}

// leaveOut takes note of what cannot be read. A directory may be looked at twice.
func (s *seeker) leaveOut(dir string, why error) {
	if note := fmt.Sprintf("%s is left out: %s", dir, why); !slices.Contains(s.notes, note) {
		s.notes = append(s.notes, note)
	}
}

// outer are the finds that are no part of another: no module below a module, and nothing that a kustomization is made of.
func (s *seeker) outer() (all []find) {
	for _, f := range s.finds {
		_, isModule := f.part.(module)
		inner := isModule && slices.ContainsFunc(s.finds, func(other find) bool {
			_, is := other.part.(module)
			return is && other.dir != f.dir && (other.dir == "." || strings.HasPrefix(f.dir, other.dir+"/"))
		})
		if !inner && (isModule || !s.used[f.dir]) {
			all = append(all, f)
		}
	}
	return all
}

// list reads a directory, as long as there is not too much in all.
func (s *seeker) list(dir string) ([]fs.DirEntry, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look through %s: %w", dir, err)
	}
	if s.entries += len(entries); s.entries > maxEntries {
		return nil, exit.Usagef("more than %d files lie there: name a smaller directory with --from", maxEntries)
	}
	if s.bytes > maxTotal {
		return nil, exit.Usagef("more than %d MiB of YAML lie there: name a smaller directory with --from", maxTotal>>20)
	}
	return entries, nil
}

// read gives a file; false for one that is too large, or not there.
func (s *seeker) read(name string) ([]byte, bool) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	s.bytes += len(text)
	return text, err == nil && len(text) <= maxFile
}

// strange says that a name would not show what it is, cannot be written into a file of TOML, or would be taken for a template there.
func strange(name string) bool {
	return strings.Contains(name, "{{") || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) || strings.ContainsRune(name, '\ufffd')
}

// foreign says that what lies below a directory is no part of a product: git's own files, what was downloaded, and tests.
func foreign(name string) bool {
	switch name {
	case "vendor", "node_modules", "testdata", "test", "tests", "examples":
		return true
	}
	return strings.HasPrefix(name, ".")
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// maxWords is how much of somebody's text is taken over, in characters.
const maxWords = 200

// plain is somebody's text on one line that shows what it says.
func plain(text string) string {
	words := []rune(strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) || r == '\ufffd' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))), " "))
	if len(words) > maxWords {
		words = append(words[:maxWords-1], '…')
	}
	return string(words)
}
