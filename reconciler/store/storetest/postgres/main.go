// Command postgres runs another command beside a private Postgres that all of that command's tests share: its address is in
// NUON_TEST_DATABASE_URL (see storetest), and where its programs are in NUON_POSTGRES_BIN. They are found on the machine, else
// fetched. With the first variable set already it only runs the command.
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
)

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
		dir, err := os.MkdirTemp("", "nuon-pg-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary directory is emptied some day
		cluster, err := pgcluster.Start(ctx, pgcluster.Options{
			Dir: dir, Settings: map[string]string{"fsync": "off", "max_connections": "300"},
			Search: pgcluster.Search{Fetch: &pgcluster.Fetch{Progress: func(text string) { fmt.Fprintln(os.Stderr, text) }}},
		})
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, cluster.Stop()) }()
		cmd.Env = append(cmd.Env, "NUON_TEST_DATABASE_URL="+cluster.DSN("postgres"), "NUON_POSTGRES_BIN="+cluster.Binaries().Dir)
	}
	var exited *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exited) {
		return max(exited.ExitCode(), 1), nil
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}
