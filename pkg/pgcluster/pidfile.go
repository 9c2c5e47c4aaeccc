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

// pidFile is what a postmaster writes into its data directory, postmaster.pid:
// line 1 its process id, line 8 its status.
type pidFile struct {
	pid    int
	status string
	lines  []string
}

func (c *Cluster) pidFileName() string { return filepath.Join(c.data, "postmaster.pid") }

// readPidFile gives the zero value when there is none.
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

// clearStray makes way for a new postmaster. One that still runs on this very directory outlived its supervisor, for we hold the
// lock: it is stopped. A pid file that names some other process is disarmed.
func (c *Cluster) clearStray(ctx context.Context) error {
	read := c.readPidFile()
	if read.lines == nil {
		return nil
	}
	if c.isOurPostmaster(read.pid) {
		if err := c.stopStray(ctx, read.pid); err != nil {
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

// stopStray ends a postmaster gently, then firmly.
func (c *Cluster) stopStray(ctx context.Context, pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop PostgreSQL %d, left over in %s: %w", pid, c.data, err)
		}
		gone, err := until(ctx, stopPatience, func() bool { return !c.isOurPostmaster(pid) })
		if err != nil || gone {
			return err
		}
	}
	return fmt.Errorf("PostgreSQL process %d still holds %s and does not end; end it by hand: kill -9 %d", pid, c.data, pid)
}

// disarmPidFile deals with a pid file that names a process which is not our postmaster. When that process is alive and of our own
// user, as happens when pids start over after a reboot, PostgreSQL would take it for a running postmaster and refuse. Putting the
// pid of its parent, ours, in its place makes PostgreSQL see the file as stale and yet go on to check the shared memory that the
// file names:
// children of a killed postmaster that still live are noticed. So the file is changed, never removed, unless it is garbage that
// PostgreSQL cannot read either.
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
		read.lines[7] = "" // it is no longer ready
	}
	return c.replacePidFile(strings.Join(read.lines, "\n"))
}

// replacePidFile writes beside and renames, so that a crash leaves no half of it.
func (c *Cluster) replacePidFile(content string) error {
	beside := c.pidFileName() + ".nuon"
	if err := os.WriteFile(beside, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	if err := c.owner.take(beside); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	if err := os.Rename(beside, c.pidFileName()); err != nil {
		return fmt.Errorf("write pid file: %w", err)
	}
	return nil
}

// until asks done every few milliseconds, for at most limit; there is no signal to wait for when a process is not our child.
func until(ctx context.Context, limit time.Duration, done func() bool) (bool, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if done() {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline.C:
			return false, nil
		case <-again.C:
		}
	}
}
