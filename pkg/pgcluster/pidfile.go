package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is the content of postmaster.pid, which a postmaster writes to its data directory: line 1
// is its process id, line 8 its status.
type pidFile struct {
	pid    int
	status string
	lines  []string
}

func (c *Cluster) pidFileName() string { return filepath.Join(c.data, "postmaster.pid") }

// readPidFile returns the zero value if there is no file.
func (c *Cluster) readPidFile() pidFile {
	content, err := os.ReadFile(c.pidFileName())
	if err != nil {
		return pidFile{}
	}
	read := pidFile{lines: strings.Split(string(content), "\n")}
	read.pid, _ = strconv.Atoi(strings.TrimSpace(read.lines[0]))
	if len(read.lines) > 7 {
		read.status = strings.TrimSpace(read.lines[7])
	}
	return read
}

// stopStale prepares for a new postmaster. A postmaster that still runs on this directory has
// outlived its supervisor, because this process holds the lock; stopStale stops it. It disarms a
// pid file that names another process.
func (c *Cluster) stopStale(ctx context.Context) error {
	read := c.readPidFile()
	if read.lines == nil {
		return nil
	}
	if c.isOurPostmaster(read.pid) {
		if err := c.stopStalePostmaster(ctx, read.pid); err != nil {
			return err
		}
		read = c.readPidFile()
	}
	return c.disarmPidFile(read)
}

func (c *Cluster) isOurPostmaster(pid int) bool {
	if pid <= 0 || pid == os.Getpid() {
		return false
	}
	return strings.Contains(commandLine(pid), "\x00"+c.data+"\x00")
}

// stopStalePostmaster stops a postmaster, gently at first and then by force.
func (c *Cluster) stopStalePostmaster(ctx context.Context, pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop PostgreSQL %d, left over in %s: %w", pid, c.data, err)
		}
		exited, err := pollUntil(ctx, stopTimeout, func() bool { return !c.isOurPostmaster(pid) })
		if err != nil || exited {
			return err
		}
	}
	return fmt.Errorf("PostgreSQL process %d still holds %s and does not end; end it by hand: kill -9 %d",
		pid, c.data, pid)
}

// disarmPidFile handles a pid file that names a process other than this cluster's postmaster. If
// that process is alive and belongs to the same user, as happens when pids restart after a reboot,
// PostgreSQL would mistake it for a running postmaster and refuse to start. disarmPidFile replaces
// the pid by that of this process, the parent of the new postmaster. PostgreSQL then treats the
// file as stale, but still checks the shared memory that the file names, and so detects surviving
// children of a killed postmaster. Therefore the file is changed and never removed, unless
// PostgreSQL cannot parse it either.
func (c *Cluster) disarmPidFile(read pidFile) error {
	if read.lines == nil {
		return nil
	}
	if read.pid <= 0 {
		if err := os.Remove(c.pidFileName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a broken pid file: %w", err)
		}
		return nil
	}
	read.lines[0] = strconv.Itoa(os.Getpid())
	if len(read.lines) > 7 {
		read.lines[7] = "" // it is not ready any more
	}
	return c.replacePidFile(strings.Join(read.lines, "\n"))
}

// replacePidFile writes a temporary file and renames it, so that a crash leaves no partial file.
func (c *Cluster) replacePidFile(content string) error {
	tempFile := c.pidFileName() + ".nuon"
	if err := os.WriteFile(tempFile, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	if err := c.owner.chown(tempFile); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	if err := os.Rename(tempFile, c.pidFileName()); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	return nil
}

// pollUntil calls done every few milliseconds until it returns true, for at most limit. It polls
// because there is no signal for the end of a process that is not a child.
func pollUntil(ctx context.Context, limit time.Duration, done func() bool) (bool, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if done() {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline.C:
			return false, nil
		case <-ticker.C:
		}
	}
}
