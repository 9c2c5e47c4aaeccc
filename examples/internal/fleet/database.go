package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// Database is a private Postgres.
type Database struct {
	options pgcluster.Options

	mu      sync.Mutex
	cluster *pgcluster.Cluster
	log     *os.File
}

func openDatabase(ctx context.Context, dir, logFile string) (*Database, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the database: %w", err)
	}
	d := &Database{log: log, options: pgcluster.Options{Dir: dir, Log: log,
		Settings: map[string]string{"max_connections": "200"}}}
	if d.cluster, err = pgcluster.Start(ctx, d.options); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	d.options.Binaries = d.cluster.Binaries()
	return d, nil
}

// DSN returns the connection string; it is the same after a restart of the server.
func (d *Database) DSN() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster.DSN("")
}

// Binaries returns those of the server; pg_dump and psql are beside them if the installation has
// them.
func (d *Database) Binaries() pgcluster.Binaries { return d.options.Binaries }

// Crash ends the server like a power failure, with every connection, and starts it again on the
// same data.
func (d *Database) Crash(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	// SIGQUIT is Postgres' "immediate" shutdown: no checkpoint, so the next start is a recovery.
	if err := syscall.Kill(d.cluster.PID(), syscall.SIGQUIT); err != nil {
		return fmt.Errorf("crash the database: %w", err)
	}
	<-d.cluster.Done()
	if err := d.cluster.Stop(); err != nil {
		return fmt.Errorf("crash the database: %w", err)
	}
	again, err := pgcluster.Start(ctx, d.options)
	if err != nil {
		return fmt.Errorf("start the database after its crash: %w", err)
	}
	d.cluster = again
	return nil
}

// Dump writes a backup of the database to a file, like a nightly backup while everything runs.
func (d *Database) Dump(ctx context.Context, file string) error {
	return d.tool(ctx, "pg_dump", "--format=custom", "--file="+file, "--dbname="+d.DSN())
}

// Wipe ends the server and creates an empty one in its place.
func (d *Database) Wipe(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.cluster.Stop(); err != nil {
		return fmt.Errorf("wipe the database: %w", err)
	}
	if err := os.RemoveAll(d.options.Dir); err != nil {
		return fmt.Errorf("wipe the database: %w", err)
	}
	again, err := pgcluster.Start(ctx, d.options)
	if err != nil {
		return fmt.Errorf("start a new database: %w", err)
	}
	d.cluster = again
	return nil
}

// Restore loads a dump into a database that `reconciler migrate` has prepared.
func (d *Database) Restore(ctx context.Context, file string) error {
	return d.tool(ctx, "pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error",
		"--dbname="+d.DSN(), file)
}

// tool runs a program of the server's version.
func (d *Database) tool(ctx context.Context, name string, args ...string) error {
	// It is beside the server itself; the path of the server may be a link.
	server, err := filepath.EvalSymlinks(filepath.Join(d.options.Binaries.Dir, "postgres"))
	if err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(server), name)
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("%w; install PostgreSQL %d with its client programs, or name another with %s", err,
			d.options.Binaries.Major, pgcluster.BinariesVariable)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func (d *Database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.cluster.Stop(), d.log.Close())
}
