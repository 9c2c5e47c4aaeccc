package pgcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath is the maximum length in bytes of a unix socket path that every system supports,
// without the terminating zero byte: 103 on macOS, 107 on Linux.
const maxSocketPath = 103

const socketName = ".s.PGSQL.5432"

// prepareSocketDir creates the directory of the socket with mode 0700 for the server's user. The
// mode is the only access control, because the server trusts every client. The directory is in the
// cluster's directory or, if that path is too long for a socket, below the temporary directory,
// with a name that depends only on the cluster's path.
func (c *Cluster) prepareSocketDir() error {
	c.socketDir = filepath.Join(c.dir, "run")
	if len(filepath.Join(c.socketDir, socketName+".lock")) > maxSocketPath {
		sum := sha256.Sum256([]byte(c.dir))
		c.socketDir = filepath.Join(shortTempDir(), "nuon-pg-"+hex.EncodeToString(sum[:6]))
		if err := c.owner.checkDir(c.socketDir); err != nil {
			return fmt.Errorf("place the socket of PostgreSQL: %w", err)
		}
	}
	return makeOwned(c.socketDir, c.owner)
}

// shortTempDir returns os.TempDir unless it is long, as in tests and on macOS.
func shortTempDir() string {
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// makeOwned creates a directory with mode 0700 for the owner. An existing file must be a directory
// of the owner or of the current user: below a shared temporary directory, another user may have
// created it.
func makeOwned(dir string, server owner) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !known || int(stat.Uid) != server.uid && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is there already and is not a directory of ours; remove it", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return server.chown(dir)
}

// clearSocket removes the socket files of a killed postmaster. This process holds the lock and has
// stopped any stray postmaster, so no process is listening on them, even if the socket's lock file
// names one.
func (c *Cluster) clearSocket() error {
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(c.socketDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
	}
	return nil
}
