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

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Limits of a search, because repositories can be of any size.
const (
	maxEntries = 50_000 // files and directories
	maxDepth   = 10     // directory levels below the start
	maxFinds   = 50     // finds that become components
	maxFile    = 1 << 20
	maxTotal   = 32 << 20 // bytes read from all files
)

// find is something in the repository that can become a component.
type find struct {
	dir   string // relative to the repository
	about string // one-line description
	part  part
}

// part converts a find into components.
type part interface {
	// addTo adds the components to the app.
	addTo(a *app, dir string)
}

// searcher searches the repository for finds. It follows no symbolic links and executes nothing.
type searcher struct {
	ctx     context.Context
	fsys    fs.FS
	entries int
	bytes   int // read so far
	finds   []find
	notes   []string        // what was left out, and why
	used    map[string]bool // directories that other finds read from
}

// seek searches a directory of the repository and its subdirectories. If whole is set,
// it searches the subdirectories only if the directory itself contains nothing.
func (p place) seek(ctx context.Context, dir string, whole bool) (finds []find, notes []string, err error) {
	root, err := os.OpenRoot(p.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("search %s: %w", p.root, err)
	}
	defer root.Close() //nolint:errcheck // only read
	s := &searcher{ctx: ctx, fsys: root.FS(), used: map[string]bool{}}
	entries, err := s.list(dir)
	if err == nil && whole {
		_, err = s.here(dir, entries)
	}
	if err == nil && len(s.finds) == 0 {
		err = s.walk(dir, 0)
	}
	return s.outer(), s.notes, err
}

// walk searches a directory and then its subdirectories.
func (s *searcher) walk(dir string, depth int) error {
	entries, err := s.list(dir)
	if err != nil {
		return err
	}
	if depth > 0 && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "metadata.toml" }) {
		return nil // another app
	}
	closed, err := s.here(dir, entries)
	if err != nil || closed || depth == maxDepth {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || hasUnsafeCharacters(e.Name()) || isSkipped(e.Name()) {
			continue
		}
		if err := s.walk(path.Join(dir, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// here adds the finds of one directory. Closed reports that its subdirectories belong
// to one of them.
func (s *searcher) here(dir string, entries []fs.DirEntry) (closed bool, err error) {
	files := map[string]bool{}
	for _, e := range entries {
		if e.Type().IsRegular() && !hasUnsafeCharacters(e.Name()) {
			files[e.Name()] = true
		}
	}
	for _, look := range []func(dir string, files map[string]bool) (find, bool, error){s.chart, s.kustomization,
		s.module, s.manifests} {
		found, ok, err := look(dir, files)
		if err != nil {
			s.leaveOut(dir, err)
			continue
		}
		if !ok {
			continue
		}
		if len(s.finds) == maxFinds {
			return false, exitcode.Usagef("found more than %d charts, modules and manifests: name one of their "+
				"directories with --from", maxFinds)
		}
		found.dir = dir
		s.finds = append(s.finds, found)
		if _, closed = found.part.(chart); closed {
			break
		}
		if _, made := found.part.(kustomization); made {
			maps.DeleteFunc(files, func(name string, _ bool) bool { return isYAML(name) }) // the kustomization uses these files
		}
	}
	return closed, nil
}

// leaveOut adds a note about a directory that cannot be read, once even if the
// directory is searched twice.
func (s *searcher) leaveOut(dir string, why error) {
	if note := fmt.Sprintf("skipped %s: %s", dir, why); !slices.Contains(s.notes, note) {
		s.notes = append(s.notes, note)
	}
}

// outer returns the finds that are not part of another one. It leaves out modules
// below a module, and what a kustomization reads.
func (s *searcher) outer() (all []find) {
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

// list returns the entries of a directory, or an error once the search exceeds its limit.
func (s *searcher) list(dir string) ([]fs.DirEntry, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", dir, err)
	}
	if s.entries += len(entries); s.entries > maxEntries {
		return nil, exitcode.Usagef("found more than %d files: name a smaller directory with --from", maxEntries)
	}
	if s.bytes > maxTotal {
		return nil, exitcode.Usagef("found more than %d MiB of YAML: name a smaller directory with --from",
			maxTotal>>20)
	}
	return entries, nil
}

// read returns the content of a file; false if the file is too large or does not exist.
func (s *searcher) read(name string) ([]byte, bool) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	s.bytes += len(text)
	return text, err == nil && len(text) <= maxFile
}

// hasUnsafeCharacters reports whether a name contains characters that are not printable or not
// allowed in TOML, or would be parsed as a template.
func hasUnsafeCharacters(name string) bool {
	return strings.Contains(name, "{{") ||
		strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) ||
		strings.ContainsRune(name, '\ufffd')
}

// isSkipped reports whether a directory does not belong to a product: git's own files,
// downloaded code, or tests.
func isSkipped(name string) bool {
	switch name {
	case "vendor", "node_modules", "testdata", "test", "tests", "examples":
		return true
	}
	return strings.HasPrefix(name, ".")
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// maxWords is the maximum length of a text copied from another file, in characters.
const maxWords = 200

// plain returns the beginning of a text on one line, with a space for each character that is
// not printable.
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
