package sbom

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is read.
const (
	maxPackages     = 50_000    // of one image
	maxDatabase     = 64 << 20  // of dpkg or apk
	maxMetadata     = 1 << 20   // of one Python distribution or Node module
	maxExecutable   = 1 << 30   // of a program
	maxLayer        = 128 << 30 // without compression
	maxUnread       = 100       // places that the list names as not read
	maxFieldLetters = 500       // of a name or a version
)

// found is a package that a file of the image states.
type found struct {
	ecosystem            // which kind of package it is
	Name, Version string // as its ecosystem writes them
	Architecture  string // of packages of a distribution
}

// file is what was read of one file of the image.
type file struct {
	packages []found
	unread   string // why nothing could be read, or ""
}

// Inventory collects the packages of one image, layer by layer.
type Inventory struct {
	dir   string // for temporary files
	files map[string]file
	count int
	// distribution is the content of the os-release of the image, by key.
	distribution map[string]string
}

// NewInventory returns an empty Inventory, which stores one program at a time in the directory dir.
func NewInventory(dir string) *Inventory {
	return &Inventory{dir: dir, files: map[string]file{}, distribution: map[string]string{}}
}

// whiteout and opaque are the names of the files of a layer that remove a file, or all files beside it, of the layers
// below. Source: opencontainers/image-spec, layer.md.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// AddLayer adds what the next layer above changes. layer is a tar archive without compression.
func (i *Inventory) AddLayer(layer io.Reader) error {
	limited := &io.LimitedReader{R: layer, N: maxLayer}
	archive, here := tar.NewReader(limited), map[string]bool{}
	for {
		header, err := archive.Next()
		switch {
		case limited.N <= 0:
			return fmt.Errorf("a layer has more than %d GiB", maxLayer>>30)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		dir, base := path.Split(name)
		switch {
		case base == opaque:
			i.remove(dir, here)
			continue
		case strings.HasPrefix(base, whiteout):
			name = dir + strings.TrimPrefix(base, whiteout)
			i.forget(name)
			i.remove(name+"/", here)
			continue
		case header.Typeflag == tar.TypeDir:
			i.forget(name)
			continue
		}
		here[name] = true
		i.forget(name)
		i.remove(name+"/", nil)
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := i.read(name, header, archive); err != nil {
			return err
		}
	}
}

// remove removes everything below a directory but what the layer itself has.
func (i *Inventory) remove(dir string, but map[string]bool) {
	for name := range i.files {
		if strings.HasPrefix(name, dir) && !but[name] {
			i.forget(name)
		}
	}
}

func (i *Inventory) forget(name string) {
	i.count -= len(i.files[name].packages)
	delete(i.files, name)
}

// read reads a file of a layer if it states packages.
func (i *Inventory) read(name string, header *tar.Header, content io.Reader) error {
	if name == "etc/os-release" || name == "usr/lib/os-release" {
		return i.readDistribution(content)
	}
	made, err := i.packages(name, header, content)
	switch unreadable := (*unreadableError)(nil); {
	case errors.As(err, &unreadable):
		made = file{unread: unreadable.Error()}
	case err != nil:
		return err
	}
	if len(made.packages) == 0 && made.unread == "" {
		return nil
	}
	if i.count+len(made.packages) > maxPackages {
		made = file{unread: fmt.Sprintf("the list has no room for its %d packages", len(made.packages))}
	}
	i.count += len(made.packages)
	i.files[name] = made
	return nil
}

// unreadableError is why the packages in a file could not be read.
type unreadableError struct{ error }

func unreadable(format string, args ...any) error {
	return &unreadableError{fmt.Errorf(format, args...)}
}

func (i *Inventory) packages(name string, header *tar.Header, content io.Reader) (file, error) {
	for _, format := range formats {
		if !format.matches(name) {
			continue
		}
		if format.read == nil {
			return file{}, unreadable("%s", format.what)
		}
		text, err := bounded(content, header.Size, format.limit)
		if err != nil {
			return file{}, err
		}
		packages, err := format.read(text)
		if err != nil {
			return file{}, unreadable("%s: %w", format.what, err)
		}
		return file{packages: slices.DeleteFunc(packages, isInvalid)}, nil
	}
	const executable = 0o111
	if header.Mode&executable == 0 {
		return file{}, nil
	}
	packages, err := i.program(header.Size, content)
	return file{packages: slices.DeleteFunc(packages, isInvalid)}, err
}

// bounded reads a text of a size.
func bounded(content io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, unreadable("it has more than %d MiB", limit>>20)
	}
	return io.ReadAll(content)
}

// isInvalid reports whether a package has no name, or one that no list should show.
func isInvalid(f found) bool {
	for _, text := range []string{f.Name, f.Version, f.Architecture} {
		if len(text) > maxFieldLetters || strings.ContainsFunc(text, isUnprintable) {
			return true
		}
	}
	return f.Name == ""
}

func isUnprintable(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }

// unread returns the files whose packages could not be read, with the reasons.
func (i *Inventory) unread() []string {
	var made []string
	for _, name := range slices.Sorted(maps.Keys(i.files)) {
		if why := i.files[name].unread; why != "" {
			made = append(made, fmt.Sprintf("/%s: %s", name, why))
		}
	}
	if more := len(made) - maxUnread; more > 0 {
		made = append(made[:maxUnread], fmt.Sprintf("and %d more", more))
	}
	return made
}

// spool stores the start that was read of a file, and the rest of it, in a temporary file.
func (i *Inventory) spool(start []byte, rest io.Reader) (*os.File, error) {
	stored, err := os.CreateTemp(i.dir, "program-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(stored.Name()) // it exists as long as it is open
	if _, err = stored.Write(start); err == nil {
		_, err = io.Copy(stored, rest)
	}
	if err != nil {
		_ = stored.Close()
		return nil, err
	}
	return stored, nil
}
