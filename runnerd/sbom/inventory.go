package sbom

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Bounds of what is read.
const (
	maxPackages   = 50_000    // of one image, with the files whose packages could not be read
	maxBytes      = 32 << 20  // of all names, versions and places together
	maxDatabase   = 64 << 20  // of dpkg or apk
	maxMetadata   = 1 << 20   // of one Python distribution or Node module
	maxExecutable = 512 << 20 // of a program
	maxBuildInfo  = 1 << 20   // in a program
	maxLayer      = 128 << 30 // without compression
	maxUnread     = 100       // files that the list names as not read
	maxField      = 500       // of a name or a version
	maxPath       = 4096      // as in Linux
)

// found is a package that a file of the image states.
type found struct {
	ecosystem            // which kind of package it is
	Name, Version string // as its ecosystem writes them
	Architecture  string // of a package of a distribution
	Source        string // of a package of a distribution: NAME or NAME@VERSION of what it was built from, if that differs
}

// file is what was read of one file of the image.
type file struct {
	packages []found
	unread   string            // why packages are missing; "" if none are
	release  map[string]string // the content of an os-release, by key
}

// Inventory collects the packages of one image, layer by layer.
type Inventory struct {
	dir   string // for temporary files
	files tree
	layer int
	notes []string // layers that were not read to the end
	more  int      // files for which there was no room
	size  size
}

// size is what the list takes.
type size struct{ entries, bytes int }

func (s size) plus(more size) size { return size{s.entries + more.entries, s.bytes + more.bytes} }
func (s size) less(gone size) size { return size{s.entries - gone.entries, s.bytes - gone.bytes} }

// NewInventory returns an empty Inventory, which stores one program at a time in the directory dir.
func NewInventory(dir string) *Inventory {
	made := &Inventory{dir: dir}
	made.files.dropped = func(name string, f file) { made.size = made.size.less(sizeOf(name, f)) }
	return made
}

// whiteout and opaque are the names of the files of a layer that remove a file, or all files beside it, of the layers
// below. Source: opencontainers/image-spec, layer.md.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// AddLayer adds what the next layer above changes. open opens it as a tar archive without compression; it is called
// again if files of the layer have several names. What is damaged or too large is noted; the error is that of ctx, or
// of open.
func (i *Inventory) AddLayer(ctx context.Context, name string, open func() (io.ReadCloser, error)) error {
	i.layer++
	links := map[string][]string{}
	err := each(ctx, open, func(header *tar.Header, content io.Reader) { i.add(header, content, links) })
	if err == nil && len(links) > 0 {
		err = each(ctx, open, func(header *tar.Header, content io.Reader) { i.addLinked(header, content, links) })
	}
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		i.notes, err = append(i.notes, fmt.Sprintf("layer %s: %s", name, damaged.why)), nil
	}
	for _, target := range sorted(links) {
		for _, linked := range links[target] {
			i.put(linked, file{unread: "a hard link to a file that the layer does not have"})
		}
	}
	return err
}

// damagedError is why a layer was not read to the end.
type damagedError struct{ why string }

// Error returns the reason.
func (d *damagedError) Error() string { return d.why }

// each calls use for the entries of a layer.
func each(ctx context.Context, open func() (io.ReadCloser, error), use func(*tar.Header, io.Reader)) error {
	opened, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	limited := &io.LimitedReader{R: untilDone{ctx, opened}, N: maxLayer}
	archive := tar.NewReader(limited)
	for {
		header, err := archive.Next()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case limited.N <= 0:
			return &damagedError{fmt.Sprintf("only its first %d GiB were read", maxLayer>>30)}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &damagedError{"it is damaged, so the rest of it was not read"}
		}
		use(header, archive)
	}
}

// untilDone reads until a context is done.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	io.Reader
}

// Read reads into p.
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}

// clean returns a path of an archive as the tree has it: without a slash at the start.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// add adds an entry of a layer. links receives the names of files that are read once the layer is known: hard links, by
// their target.
func (i *Inventory) add(header *tar.Header, content io.Reader, links map[string][]string) {
	name := clean(header.Name)
	dir, base := path.Split(name)
	switch {
	case len(name) > maxPath || base == whiteout:
		return // no program makes such an entry
	case base == opaque:
		i.files.removeOlder(dir, i.layer)
		return
	case strings.HasPrefix(base, whiteout):
		i.files.removeOlder(dir+strings.TrimPrefix(base, whiteout), i.layer)
		return
	case header.Typeflag == tar.TypeDir:
		i.files.removeFile(name)
		return
	}
	i.files.remove(name)
	switch header.Typeflag {
	case tar.TypeReg:
		i.put(name, i.read(name, header, content))
	case tar.TypeLink:
		target := clean(header.Linkname)
		if known := i.files.find(target); known != nil {
			i.put(name, *known)
		} else if formatOf(name) != nil && len(target) <= maxPath && i.fits(size{1, len(name) + len(target)}) {
			links[target] = append(links[target], name)
		}
	}
}

// addLinked reads a file of a layer that has other names, which say what it is.
func (i *Inventory) addLinked(header *tar.Header, content io.Reader, links map[string][]string) {
	target := clean(header.Name)
	names := links[target]
	if len(names) == 0 || header.Typeflag != tar.TypeReg {
		return
	}
	delete(links, target)
	made := i.read(names[0], header, content)
	for _, name := range names {
		i.put(name, made)
	}
}

// put stores what a file states.
func (i *Inventory) put(name string, f file) {
	if len(f.packages) == 0 && f.unread == "" && f.release == nil {
		return
	}
	more := sizeOf(name, f)
	if !i.fits(more) {
		i.more++
		return
	}
	i.files.put(name, i.layer, f)
	i.size = i.size.plus(more)
}

func (i *Inventory) fits(more size) bool {
	sum := i.size.plus(more)
	return sum.entries <= maxPackages && sum.bytes <= maxBytes
}

// directoryBytes is what a directory of a path takes in memory, about.
const directoryBytes = 64

func sizeOf(name string, f file) size {
	made := size{max(1, len(f.packages)), len(name) + len(f.unread) + directoryBytes*strings.Count(name, "/")}
	for _, p := range f.packages {
		made.bytes += len(p.Name) + len(p.Version) + len(p.Architecture) + len(p.Source)
	}
	return made
}

// Unread returns what could not be read, with the reasons: at most maxUnread files, and how many more there are.
func (i *Inventory) Unread() []string {
	made, more := slices.Clone(i.notes), i.more
	for name, f := range i.files.all() {
		switch {
		case f.unread == "":
		case len(made) >= maxUnread:
			more++
		default:
			made = append(made, fmt.Sprintf("%s: %s", place(name), f.unread))
		}
	}
	if more > 0 {
		made = append(made, fmt.Sprintf("%d more files", more))
	}
	return made
}
