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

// reader reads files of the config directory, within limits.
type reader struct {
	fsys      fs.FS
	limits    Limits
	bytesRead int64 // bytes so far
	entries   int
	plain     map[string]bool // paths that exist and contain no symbolic link
}

// tomlFiles lists the TOML files below a section directory, sorted. Their names have no meaning.
func (r *reader) tomlFiles(dir string) ([]string, error) {
	if r.isLinked(dir) {
		return nil, errLink
	}
	var files []string
	err := fs.WalkDir(r.fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if r.entries++; r.entries > r.limits.Entries {
			return fmt.Errorf("there are more than %d files", r.limits.Entries)
		}
		if entry.IsDir() {
			if strings.Count(name, "/") > r.limits.Depth {
				return fmt.Errorf("directories are nested more than %d levels deep", r.limits.Depth)
			}
			return nil
		}
		if entry.Type() == 0 { // the walk follows no links, so no parent is one either
			r.markPlain(name)
		}
		if strings.HasSuffix(name, ".toml") {
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

var errLink = errors.New("it is a symbolic link, or below one, and links are not followed")

var errIrregular = errors.New("it is not a regular file")

var errDirectory = errors.New("it is a directory")

// readBytes reads a file of at most limit bytes. No part of its path may be a symbolic link.
func (r *reader) readBytes(name string, limit int64) ([]byte, error) {
	if !r.plain[name] {
		info, err := fs.Lstat(r.fsys, name)
		switch {
		case err != nil: // Open returns the reason
		case info.Mode()&fs.ModeSymlink != 0 || r.isLinked(path.Dir(name)):
			return nil, errLink
		case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
			// Opening a pipe would block until something writes to it.
			return nil, errIrregular
		}
	}
	file, err := r.fsys.Open(name)
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

// isLinked reports whether a path, or a directory above it, is a symbolic link. Links are rejected,
// not followed within bounds, so that a checkout, a git tree and an upload of one app give the
// same result.
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
