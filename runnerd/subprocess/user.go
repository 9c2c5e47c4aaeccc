package subprocess

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// User is the user that programs run as when it differs from that of this process.
// Configure sets it, in a process of root.
type User struct {
	UID, GID uint32
	// Home and Temp are the user's own directories. They become HOME and TMPDIR of programs,
	// unless those are set to other values than in this process.
	Home, Temp string
}

// HasOtherUser reports whether programs run as another user than this process.
func HasOtherUser() bool { return setup.User != nil }

// The functions below do nothing where programs run as this process's own user.
// They are for a process of root that runs beside possibly hostile programs: they never
// change the owner of a file that a program can already reach, and never open a file by a path
// that a program can change.

// AllowTraverse allows programs to traverse a directory, but not to list or change it.
// They cannot replace its entries.
func AllowTraverse(dir string) error {
	if setup.User == nil {
		return nil
	}
	return errors.Join(os.Chmod(dir, 0o710), os.Lchown(dir, os.Geteuid(), int(setup.User.GID)))
}

// GrantRead allows programs to read a file, or a directory with everything below it, and to execute
// what its owner may execute. The path is in a directory that programs cannot change.
func GrantRead(path string) error {
	return walkUp(path, func(root *os.Root, name string, mode fs.FileMode) error {
		if err := root.Lchown(name, os.Geteuid(), int(setup.User.GID)); err != nil || mode&fs.ModeSymlink != 0 {
			return err
		}
		return root.Chmod(name, mode.Perm()&0o700|mode.Perm()&0o500>>3)
	})
}

// GrantOwnership makes programs the owner of a file, or of a directory with everything below it.
// The path is in a directory that programs cannot change, and only this process has
// had access to it so far.
func GrantOwnership(path string) error {
	return walkUp(path, func(root *os.Root, name string, _ fs.FileMode) error {
		return root.Lchown(name, int(setup.User.UID), int(setup.User.GID))
	})
}

// walkUp calls each for everything below a path and then for the path itself, so that the path
// stays closed to programs until all is done. It follows no links.
func walkUp(path string, each func(root *os.Root, name string, mode fs.FileMode) error) error {
	if setup.User == nil {
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("hand %s to the job's user: %w", path, err)
	}
	defer func() { _ = parent.Close() }()
	if err := walkBelow(parent, filepath.Base(path), each); err != nil {
		return fmt.Errorf("hand %s to the job's user: %w", path, err)
	}
	return nil
}

func walkBelow(root *os.Root, name string, each func(root *os.Root, name string, mode fs.FileMode) error) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		dir, err := root.OpenRoot(name)
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		entries, err := fs.ReadDir(dir.FS(), ".")
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := walkBelow(dir, entry.Name(), each); err != nil {
				return err
			}
		}
	}
	return each(root, name, info.Mode())
}

// CheckOwner returns an error unless programs own the file: a program can place a hard
// link to a file that it may not read where this process reads. Callers pass the
// FileInfo of an open file.
func CheckOwner(info fs.FileInfo) error {
	if setup.User == nil {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != setup.User.UID {
		return fmt.Errorf("%s does not belong to the user that the job's programs run as; it is not read", info.Name())
	}
	return nil
}

// ReadUntrusted reads a file that a program left in or below dir. The file must be regular,
// have at most most bytes, belong to the programs' user, and not be reached by a link
// that leads out of dir.
func ReadUntrusted(dir, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return ReadUntrustedIn(root, name, most)
}

// ReadUntrustedIn is ReadUntrusted for a directory that the caller has opened, because a program
// can replace the path of it.
func ReadUntrustedIn(root *os.Root, name string, most int64) ([]byte, error) {
	file, err := untrusted.OpenIn(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := CheckOwner(info); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrTooLarge, filepath.Base(name), most)
	}
	return content, err
}

// ErrTooLarge is the error that ReadUntrusted wraps for a file that is too large.
var ErrTooLarge = errors.New("too large")

// environ replaces the home and temporary directories of this process with the user's.
func (u *User) environ(given []string) []string {
	var made []string
	own := map[string]string{"HOME": u.Home, "TMPDIR": u.Temp}
	for _, entry := range given {
		name, value, _ := strings.Cut(entry, "=")
		if _, replaced := own[name]; replaced {
			if value == "" || value == os.Getenv(name) {
				continue
			}
			delete(own, name)
		}
		made = append(made, entry)
	}
	for _, name := range []string{"HOME", "TMPDIR"} {
		if value := own[name]; value != "" {
			made = append(made, name+"="+value)
		}
	}
	return made
}
