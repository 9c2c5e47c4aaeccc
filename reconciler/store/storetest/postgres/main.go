// Command postgres runs another command with a private Postgres that all its tests share:
// NUON_TEST_DATABASE_URL (see storetest) has its address, and NUON_POSTGRES_BIN the directory of
// its programs, which are found on the machine or downloaded. If the first variable is already
// set, it only runs the command.
//
//	go run ./reconciler/store/storetest/postgres -- go test ./...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/pkg/scratch"
)

// settings are for a server whose data is worthless after the run: it never waits for a disk, and
// its log stays small because it may be in memory.
var settings = map[string]string{"fsync": "off", "full_page_writes": "off", "max_connections": "300",
	"max_wal_size": "256MB"}

// space is the number of bytes that must be free in memory. A test run has dozens of databases of
// ten megabytes each at a time, and its write-ahead log.
const space = 2 << 30

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("name the command to run, after --")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, os.Environ()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if os.Getenv("NUON_TEST_DATABASE_URL") == "" {
		cluster, dir, startErr := start(ctx)
		if startErr != nil {
			return 1, startErr
		}
		defer func() { err = errors.Join(err, cluster.Stop(), os.RemoveAll(dir)) }()
		cmd.Env = append(cmd.Env, "NUON_TEST_DATABASE_URL="+cluster.DSN("postgres"),
			"NUON_POSTGRES_BIN="+cluster.Binaries().Dir)
	}
	var exited *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exited) {
		return max(exited.ExitCode(), 1), nil
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}

// start starts the server in a new directory, which the caller must remove.
func start(ctx context.Context) (cluster *pgcluster.Cluster, dir string, err error) {
	if dir, err = scratch.Dir("nuon-pg-", space); err != nil {
		return nil, "", err
	}
	cluster, err = pgcluster.Start(ctx, pgcluster.Options{
		Dir: dir, Settings: settings,
		Search: pgcluster.Search{Fetch: &pgcluster.Fetch{Progress: func(text string) { fmt.Fprintln(os.Stderr, text) }}},
	})
	if err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(dir))
	}
	return cluster, dir, nil
}
