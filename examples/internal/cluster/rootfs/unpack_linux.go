package rootfs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// A whiteout removes a path of the layers below; an opaque whiteout removes everything that they have in its directory.
const whiteout, opaque = ".wh.", ".wh..wh..opq"

// unpackIn makes dir the root of this process, and unpacks a layer there.
func unpackIn(dir string, layer io.Reader) error {
	if err := syscall.Chroot(dir); err != nil {
		return fmt.Errorf("make %s the root of the process: %w", dir, err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	syscall.Umask(0)
	u := unpacker{made: map[string]bool{"/": true}}
	archive := tar.NewReader(layer)
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, layer)
			return err
		}
		if err == nil && n >= maxEntries {
			err = fmt.Errorf("it has more than %d entries", maxEntries)
		}
		if err == nil {
			err = u.unpack(h, archive)
		}
		if err != nil {
			return err
		}
	}
}

// unpacker unpacks one layer into the root of the process.
type unpacker struct {
	made map[string]bool // the paths that this layer has made
}

// unpack makes one entry.
func (u *unpacker) unpack(h *tar.Header, content io.Reader) error {
	at := path.Clean("/" + h.Name)
	if strings.ContainsRune(h.Name, 0) {
		return errors.New("a name has a NUL byte")
	}
	if dir, name := path.Split(at); strings.HasPrefix(name, whiteout) {
		return u.hide(path.Clean(dir), name)
	}
	if err := u.parents(path.Dir(at)); err != nil {
		return err
	}
	u.made[at] = true
	switch h.Typeflag {
	case tar.TypeDir:
		return u.directory(at, h)
	case tar.TypeReg:
		return u.file(at, h, content)
	case tar.TypeSymlink:
		if err := replace(at, func() error { return os.Symlink(h.Linkname, at) }); err != nil {
			return err
		}
		return os.Lchown(at, h.Uid, h.Gid)
	case tar.TypeLink:
		return replace(at, func() error { return os.Link(path.Clean("/"+h.Linkname), at) })
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeXGlobalHeader:
		return nil // a container has its own devices
	}
	return fmt.Errorf("%s has the unknown type %q", at, h.Typeflag)
}

// hide applies a whiteout in a directory.
func (u *unpacker) hide(dir, name string) error {
	if name == opaque {
		return u.hideAll(dir)
	}
	hidden := strings.TrimPrefix(name, whiteout)
	if hidden == "" || hidden == "." || hidden == ".." {
		return fmt.Errorf("%s/%s hides no name", dir, name)
	}
	return os.RemoveAll(path.Join(dir, hidden))
}

// hideAll removes what is in a directory, except for what this layer has made there.
func (u *unpacker) hideAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case !u.made[at]:
			err = errors.Join(err, os.RemoveAll(at))
		case e.IsDir():
			err = errors.Join(err, u.hideAll(at))
		}
	}
	return err
}

// parents makes the directories above an entry that the layer does not have.
func (u *unpacker) parents(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for ; !u.made[dir]; dir = path.Dir(dir) {
		u.made[dir] = true
	}
	return nil
}

func (u *unpacker) directory(at string, h *tar.Header) error {
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		if err := replace(at, func() error { return os.Mkdir(at, 0o755) }); err != nil {
			return err
		}
	}
	return own(at, h)
}

func (u *unpacker) file(at string, h *tar.Header, content io.Reader) error {
	return replace(at, func() error {
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := own(at, h); err != nil {
			return err
		}
		return os.Chtimes(at, h.ModTime, h.ModTime)
	})
}

// replace makes something in place of what has its path.
func replace(at string, create func() error) error {
	if at == "/" {
		return errors.New("the root can only be a directory")
	}
	if err := os.RemoveAll(at); err != nil {
		return err
	}
	return create()
}

// own sets the owner and the mode of a file or directory. The mode is last, because a new owner clears a part of it.
func own(at string, h *tar.Header) error {
	if err := os.Lchown(at, h.Uid, h.Gid); err != nil {
		return err
	}
	return os.Chmod(at, h.FileInfo().Mode())
}
