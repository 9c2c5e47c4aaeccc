package pgcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the user that runs the server. Only root has to choose another user: PostgreSQL refuses
// to run as root, and initdb refuses a user without a passwd entry.
type owner struct {
	name     string
	uid, gid int
	// switched is true if the server runs as another user than this process.
	switched bool
}

// serverOwner returns the current user or, for root, the user postgres or nobody.
func serverOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(found.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(found.Gid)
		if err != nil {
			continue
		}
		return owner{name: name, uid: uid, gid: gid, switched: true}, nil
	}
	return owner{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as; " +
		"run: useradd --system postgres")
}

func (o owner) credential() *syscall.Credential {
	if !o.switched {
		return nil
	}
	return &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
}

// chown changes the owner of a file or directory to o.
func (o owner) chown(path string) error {
	if !o.switched {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// canAccess reports whether the owner may traverse a directory or execute a file.
func (o owner) canAccess(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && int(stat.Uid) == o.uid:
		return mode&0o100 != 0
	case known && int(stat.Gid) == o.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// CheckDir reports an error if a cluster cannot be in dir: the server's user must be able to
// traverse every existing directory above it. The check matters only for root, because the server
// then runs as another user, to which root's home is not accessible.
func CheckDir(dir string) error {
	server, err := serverOwner()
	if err != nil {
		return err
	}
	return server.checkDir(dir)
}

func (o owner) checkDir(dir string) error {
	if !o.switched {
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !o.canAccess(info) {
			return fmt.Errorf("%s: the user %s, who runs PostgreSQL for root, may not pass through %s; use a directory that "+
				"is open to it, for example below /var/lib",
				dir, o.name, parent)
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// reachableByServer reports an error if the server's user cannot run a file, for example because it
// is installed in root's home.
func reachableByServer(file string) error {
	server, err := serverOwner()
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if !server.canAccess(info) {
		return fmt.Errorf("%s: the user who runs PostgreSQL may not run it", file)
	}
	if err := server.checkDir(file); err != nil {
		return err
	}
	return server.checkDir(resolved)
}
