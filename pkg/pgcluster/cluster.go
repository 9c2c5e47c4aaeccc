package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
)

// ErrInUse is wrapped by Start if another process supervises the directory.
var ErrInUse = errors.New("in use by another process")

// Superuser is the only role of a new cluster.
const Superuser = "nuon"

const (
	// stopTimeout is how long a stop waits after each signal.
	stopTimeout = 15 * time.Second
	// orphanTimeout is how long the children of a killed postmaster may take to exit.
	orphanTimeout = time.Minute
	// retryPause is the wait between two attempts to start.
	retryPause = 200 * time.Millisecond
)

// Options configure Start.
type Options struct {
	// Dir is the cluster's directory, which is created if it does not exist. It then belongs to the
	// server's user; do not store other files in it.
	Dir string
	// Binaries are the result of Find. If it is zero, Start calls Find with Search, for the version
	// that created the cluster.
	Binaries Binaries
	// Search is used if Binaries is zero.
	Search Search
	// Settings are additional server settings, such as "fsync": "off" for a disposable cluster of a
	// test.
	Settings map[string]string
	// Log receives the server's log; nil discards it.
	Log io.Writer
}

// Cluster is a running PostgreSQL server. It is safe for concurrent use.
type Cluster struct {
	dir, data, socketDir string
	binaries             Binaries
	owner                owner
	output               *tail
	settings             map[string]string
	lock                 *os.File

	cmd  *exec.Cmd
	done chan struct{} // closed when the postmaster has exited
	err  error         // the reason; valid after done is closed

	stop sync.Once
}

// Start starts the cluster of a directory, or creates it, and returns when it accepts connections.
// The error wraps ErrInUse if another process supervises the directory, and ErrNoBinaries if there
// are no binaries. ctx bounds only the start; the cluster runs until Stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	cluster, err := prepare(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := cluster.start(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL in %s: %w", cluster.dir, err), cluster.unlock())
	}
	return cluster, nil
}

// prepare creates the directories and takes the lock.
func prepare(ctx context.Context, options Options) (*Cluster, error) {
	server, err := serverOwner()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{dir: dir, data: filepath.Join(dir, "data"), owner: server, output: &tail{to: options.Log},
		settings: options.Settings}
	if err := server.checkDir(dir); err != nil {
		return nil, err
	}
	// The parents are accessible to others; only the cluster's own directory is private.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := makeOwned(dir, server); err != nil {
		return nil, err
	}
	if err := cluster.takeLock(ctx); err != nil {
		return nil, err
	}
	return cluster, nil
}

// takeLock makes this process the only supervisor. Without the lock, the next step could stop the
// running server of another supervisor. The kernel releases the lock when the process ends for any
// reason.
func (c *Cluster) takeLock(ctx context.Context) error {
	lock, err := filelock.Claim(ctx, filepath.Join(c.dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("%s: %w; stop that one or choose another directory", c.dir, ErrInUse)
	}
	c.lock = lock
	return err
}

// unlock releases the directory. Closing the file alone would not release it while a newly forked
// child has a copy of the descriptor.
func (c *Cluster) unlock() error { return filelock.Unlock(c.lock) }

func (c *Cluster) start(ctx context.Context, options Options) error {
	if err := c.selectBinaries(ctx, options); err != nil {
		return err
	}
	if err := c.prepareSocketDir(); err != nil {
		return err
	}
	if err := c.initialize(ctx); err != nil {
		return err
	}
	giveUp := time.Now().Add(orphanTimeout)
	for {
		if err := c.stopStale(ctx); err != nil {
			return err
		}
		if err := c.clearSocket(); err != nil {
			return err
		}
		err := c.startOnce(ctx)
		if err == nil || !c.childrenRemain() || time.Now().After(giveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// selectBinaries determines the binaries. A data directory can be used by one major version only.
func (c *Cluster) selectBinaries(ctx context.Context, options Options) error {
	major, err := c.majorOfData()
	if err != nil {
		return err
	}
	c.binaries = options.Binaries
	if c.binaries.Dir != "" {
		if major != 0 && major != c.binaries.Major {
			return fmt.Errorf("the cluster was made by PostgreSQL %d, and %s is version %s; use binaries of version %d, or "+
				"another directory",
				major, c.binaries.Dir, c.binaries.Version, major)
		}
		return nil
	}
	search := options.Search
	search.Major = major
	c.binaries, err = Find(ctx, search)
	return err
}

// majorOfData returns the major version that created the data directory, or zero if there is none.
func (c *Cluster) majorOfData() (int, error) {
	content, err := os.ReadFile(filepath.Join(c.data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("%s is not a PostgreSQL data directory: its PG_VERSION says %.20q; move it away",
			c.data, content)
	}
	return major, nil
}

// initialize creates the data directory under a temporary name and renames it when it is complete,
// so that an interrupted initdb leaves nothing that looks like a cluster.
func (c *Cluster) initialize(ctx context.Context) error {
	if major, err := c.majorOfData(); err != nil || major != 0 {
		return err
	}
	if _, err := os.Lstat(c.data); err == nil {
		return fmt.Errorf("%s is there but is not a PostgreSQL data directory; move it away", c.data)
	}
	tempDir := c.data + ".new"
	if err := os.RemoveAll(tempDir); err != nil {
		return err
	}
	// The thread must live as long as the child, which gets a signal when the thread ends.
	runtime.LockOSThread()
	err := execretry.Retry(ctx, func() error {
		command := c.command(ctx, syscall.SIGKILL, "initdb", "-D", tempDir, "-U", Superuser,
			"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions", "--no-sync")
		// initdb reports its progress on stdout; only errors matter.
		command.Stdout = nil
		return command.Run()
	})
	runtime.UnlockOSThread()
	if err != nil {
		return errors.Join(fmt.Errorf("make a new cluster: initdb: %w: %s", err, c.output), os.RemoveAll(tempDir))
	}
	if err := os.Rename(tempDir, c.data); err != nil {
		return fmt.Errorf("make a new cluster: %w", err)
	}
	return nil
}

func (c *Cluster) command(
	ctx context.Context, whenOrphaned syscall.Signal, name string, arguments ...string,
) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(c.binaries.Dir, name), arguments...)
	command.Dir, command.Stdout, command.Stderr = c.dir, c.output, c.output
	// childrenRemain parses the messages, so they must be in English for any locale of the user.
	command.Env = []string{"PATH=" + c.binaries.Dir + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	command.SysProcAttr = childAttributes(c.owner.credential(), whenOrphaned)
	// Children of a killed postmaster keep its output open; do not wait for them.
	command.WaitDelay = 2 * time.Second
	return command
}

// startOnce starts a postmaster and waits until it is ready or has exited.
func (c *Cluster) startOnce(ctx context.Context) error {
	c.output.reset()
	c.done = make(chan struct{})
	started := make(chan error, 1)
	go c.watch(ctx, started)
	if err := <-started; err != nil {
		return err
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return fmt.Errorf("the server left at once: %w: %s", c.Err(), c.output)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), c.end())
		case <-ticker.C:
			if read := c.readPidFile(); read.pid == c.cmd.Process.Pid && read.status == "ready" {
				return nil
			}
		}
	}
}

// arguments returns the server's arguments: its directory, its socket and its settings. The
// caller's settings precede the last two, which deny access to others.
func (c *Cluster) arguments() []string {
	arguments := []string{"-D", c.data, "-k", c.socketDir}
	settings := []string{"max_connections=100", "shared_buffers=64MB", "log_min_messages=log", "log_checkpoints=off",
		"logging_collector=off"}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		settings = append(settings, name+"="+c.settings[name])
	}
	for _, setting := range append(settings, "listen_addresses=", "unix_socket_permissions=0700") {
		arguments = append(arguments, "-c", setting)
	}
	return arguments
}

// watch starts the postmaster, waits until it exits, and records the reason. It occupies its thread
// for that time, because the kernel ties the signal for orphans to the thread. ctx bounds only the
// start; the postmaster outlives it.
func (c *Cluster) watch(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	c.err = execretry.Retry(ctx, func() error {
		c.cmd = c.command(context.WithoutCancel(ctx), syscall.SIGINT, "postgres", c.arguments()...)
		return c.cmd.Start()
	})
	started <- c.err
	if c.err != nil {
		return
	}
	c.err = c.cmd.Wait()
	if c.err == nil {
		c.err = errors.New("it ended by itself")
	}
}

// childrenRemain reports whether processes of a killed postmaster still use its shared memory,
// according to the server's last messages. Such processes are about to exit.
func (c *Cluster) childrenRemain() bool {
	return strings.Contains(c.output.String(), "pre-existing shared memory block")
}

// DSN returns a connection string for a database of the cluster; an empty name means "postgres",
// which always exists. The string contains no secret.
func (c *Cluster) DSN(database string) string {
	if database == "" {
		database = "postgres"
	}
	return fmt.Sprintf("host=%s user=%s dbname=%s sslmode=disable", quote(c.socketDir), Superuser, quote(database))
}

// quote quotes a value for the keyword form of a connection string.
func quote(value string) string {
	if value != "" && !strings.ContainsAny(value, ` '\`) {
		return value
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// Binaries returns the binaries of the cluster.
func (c *Cluster) Binaries() Binaries { return c.binaries }

// PID returns the process id of the postmaster.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the postmaster has exited for any reason. Call Stop
// then too, to release the directory; after that, Start can start the cluster again.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err returns the reason why the postmaster exited, or nil while it runs.
func (c *Cluster) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Stop stops the server, first by closing its connections and then by force, and releases the
// directory. It may be called several times.
func (c *Cluster) Stop() error {
	var err error
	c.stop.Do(func() {
		err = errors.Join(c.end(), c.unlock())
	})
	return err
}

// end sends the signals for a fast shutdown, an immediate shutdown and a kill, and waits after
// each.
func (c *Cluster) end() error {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := c.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		timeout := time.NewTimer(stopTimeout)
		select {
		case <-c.done:
			timeout.Stop()
			return nil
		case <-timeout.C:
		}
	}
	return fmt.Errorf("stop PostgreSQL: process %d does not end", c.cmd.Process.Pid)
}
