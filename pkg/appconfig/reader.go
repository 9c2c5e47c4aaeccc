package appconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// reader reads files of the config directory, within limits. It follows symbolic links that stay in the
// repository.
type reader struct {
	fsys      fs.FS
	root      fs.FS  // the repository with the config directory; nil if only the directory is known
	base      string // the config directory in root
	limits    Limits
	bytesRead int64 // bytes so far
	entries   int
	plain     map[string]bool // paths that exist and contain no symbolic link
}

// tomlFiles lists the TOML files below a section directory, sorted. Their names have no meaning.
func (r *reader) tomlFiles(dir string) ([]string, error) {
	var files []string
	err := r.addTOMLFiles(dir, &files)
	slices.Sort(files)
	return files, err
}

func (r *reader) addTOMLFiles(dir string, files *[]string) error {
	linked := r.isLinked(dir)
	entries, err := r.readDir(dir, linked)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if r.entries++; r.entries > r.limits.Entries {
			return fmt.Errorf("there are more than %d files", r.limits.Entries)
		}
		name := path.Join(dir, entry.Name())
		switch {
		case r.isDirectory(name, entry):
			if strings.Count(name, "/") > r.limits.Depth {
				return fmt.Errorf("directories are nested more than %d levels deep", r.limits.Depth)
			}
			if err := r.addTOMLFiles(name, files); err != nil {
				return err
			}
			continue
		case entry.Type() == 0 && !linked:
			r.markPlain(name)
		}
		if strings.HasSuffix(name, ".toml") {
			*files = append(*files, name)
		}
	}
	return nil
}

// isDirectory reports whether an entry is a directory, or a link to one. A link that cannot be followed is none.
func (r *reader) isDirectory(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	tree, target, err := r.follow(name)
	if err != nil {
		return false
	}
	info, err := fs.Lstat(tree, target)
	return err == nil && info.IsDir()
}

// readDir lists a directory; linked says that a link leads to it.
func (r *reader) readDir(dir string, linked bool) ([]fs.DirEntry, error) {
	if !linked {
		return fs.ReadDir(r.fsys, dir)
	}
	tree, target, err := r.follow(dir)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(tree, target)
}

// The errors of links that are not followed.
var (
	errLinkOut    = errors.New("a symbolic link on its path leads out of the repository; put a copy in its place")
	errLinkOutDir = errors.New("a symbolic link on its path leads out of the config directory, which is in " +
		"no repository; " +
		"put a copy in its place")
	errLinkCircle = errors.New("the symbolic links on its path lead in a circle")
)

// maxLinks bounds the links on the way to one file, as Linux does.
const maxLinks = 40

// follow returns where the links on the way to a path of the config directory lead: a path without links in the
// tree.
func (r *reader) follow(name string) (tree fs.FS, target string, err error) {
	tree, out := r.root, errLinkOut
	full := path.Join(r.base, name)
	if tree == nil {
		tree, out, full = r.fsys, errLinkOutDir, name
	}
	target = "."
	links := 0
	for rest := strings.Split(full, "/"); len(rest) > 0; {
		key := rest[0]
		rest = rest[1:]
		switch key {
		case "", ".":
			continue
		case "..":
			if target == "." {
				return nil, "", out
			}
			target = path.Dir(target)
			continue
		case ".git": // no part of the commit
			return nil, "", out
		}
		next := path.Join(target, key)
		info, err := fs.Lstat(tree, next)
		if err != nil {
			return nil, "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			target = next
			continue
		}
		written, err := fs.ReadLink(tree, next)
		if err != nil {
			return nil, "", err
		}
		if links++; links > maxLinks {
			return nil, "", errLinkCircle
		}
		if path.IsAbs(written) || strings.Contains(written, `\`) {
			return nil, "", out
		}
		rest = append(strings.Split(written, "/"), rest...)
	}
	return tree, target, nil
}

var errIrregular = errors.New("it is not a regular file")

var errDirectory = errors.New("it is a directory")

// readBytes reads a file of at most limit bytes.
func (r *reader) readBytes(name string, limit int64) ([]byte, error) {
	tree := r.fsys
	if !r.plain[name] {
		info, err := fs.Lstat(r.fsys, name)
		if r.isLinked(name) {
			if tree, name, err = r.follow(name); err == nil {
				info, err = fs.Lstat(tree, name)
			}
			if err != nil {
				return nil, err
			}
		}
		switch {
		case err != nil: // Open returns the reason
		case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
			// Opening a pipe would block until something writes to it.
			return nil, errIrregular
		}
	}
	file, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errDirectory
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > limit:
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	data, err := readAll(file, info.Size(), limit)
	if err != nil {
		return nil, err
	}
	return data, r.countBytes(len(data))
}

// readAll reads a file of the approximate size, and fails if it has more than limit bytes.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	buffer := bytes.NewBuffer(make([]byte, 0, max(size, 0)+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(buffer.Len()) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return buffer.Bytes(), nil
}

// countBytes adds to the bytes read, and fails once they exceed the total limit.
func (r *reader) countBytes(size int) error {
	if r.bytesRead += int64(size); r.bytesRead > r.limits.Total {
		return fmt.Errorf("the files of the app are larger than %d bytes together", r.limits.Total)
	}
	return nil
}

// isLinked reports whether a path, or a directory above it, is a symbolic link.
func (r *reader) isLinked(name string) bool {
	var checked []string
	for at := name; at != "." && !r.plain[at]; at = path.Dir(at) {
		info, err := fs.Lstat(r.fsys, at)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
		checked = append(checked, at)
	}
	for _, at := range checked {
		r.markPlain(at)
	}
	return false
}

// markPlain records that no part of a path is a symbolic link.
func (r *reader) markPlain(name string) {
	if r.plain == nil {
		r.plain = map[string]bool{}
	}
	r.plain[name] = true
}

// readText is bytes for a file that becomes part of the App.
func (r *reader) readText(name string) (string, error) {
	data, err := r.readBytes(name, r.limits.ReferencedFile)
	if err != nil {
		return "", err
	}
	return checkUTF8(data)
}

func checkUTF8(data []byte) (string, error) {
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return "", errors.New("it is not UTF-8 text")
	}
	return string(data), nil
}

// withoutPath returns an error without its path, which the diagnostic names anyway.
func withoutPath(err error) string {
	var pathError *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.As(err, &pathError):
		return pathError.Err.Error()
	}
	return err.Error()
}
