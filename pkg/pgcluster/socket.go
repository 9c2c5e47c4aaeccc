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

// maxSocketPath is the longest path of a unix socket, without the zero byte at its end, that every system takes: 103 bytes on
// macOS, 107 on Linux.
const maxSocketPath = 103

const socketName = ".s.PGSQL.5432"

// prepareSocketDir makes the directory of the socket, 0700 and the server's own:
// that is all that keeps others out, for the server trusts whoever reaches it. It lies in the cluster's directory, or, where that
// path is too long for a socket, below the temporary directory, by a name that depends on the cluster's alone.
func (c *Cluster) prepareSocketDir() error {
	c.socketDir = filepath.Join(c.dir, "run")
	if len(filepath.Join(c.socketDir, socketName+".lock")) > maxSocketPath {
		sum := sha256.Sum256([]byte(c.dir))
		c.socketDir = filepath.Join(shortTempDir(), "nuon-pg-"+hex.EncodeToString(sum[:6]))
		if err := c.owner.checkPlace(c.socketDir); err != nil {
			return fmt.Errorf("place the socket of PostgreSQL: %w", err)
		}
	}
	return makeOwned(c.socketDir, c.owner)
}

// shortTempDir prefers os.TempDir, but a TMPDIR of a test or of macOS is itself long.
func shortTempDir() string {
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// makeOwned makes a directory with mode 0700 for the owner. One that is there must be a directory of the owner's or ours: below a
// shared temporary directory another user may have been first.
func makeOwned(dir string, server owner) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	of, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !known || int(of.Uid) != server.uid && int(of.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is there already and is not a directory of ours; remove it", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return server.take(dir)
}

// clearSocket removes what a killed postmaster left. We hold the lock and have stopped any stray, so whatever process the
// socket's lock file names, it is not listening here.
func (c *Cluster) clearSocket() error {
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(c.socketDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
	}
	return nil
}
