// Command suite runs `go test`, prints what that prints, and ends with a list of what was not run and why: tests that were skipped,
// and the modules of this repository that the run does not reach; then the tests that failed, by name. With -slowest N, it lists the
// packages and tests that took longest. Its exit code is that of `go test`.
//
//	go run ./examples/suite [-slowest N] -- go test -race ./...
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command, or one of its own with an error.
func run(args []string) (code int, err error) {
	flags := flag.NewFlagSet("suite", flag.ContinueOnError)
	slowest := flags.Int("slowest", 0, "how many of the slowest packages and tests to list")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	args = flags.Args()
	at := slices.Index(args, "test")
	if at < 1 {
		return 2, errors.New("name the command to run after --, such as: go test ./...")
	}
	args = slices.Insert(slices.Clone(args), at+1, "-json")
	// An interrupt at the terminal reaches go test as well; its end is waited for.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	r := newReport(os.Stdout)
	go func() {
		for s := range interrupted {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	readErr := r.read(events)
	err = cmd.Wait()
	r.end(unreached(args), *slowest)
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		return max(exited.ExitCode(), 1), readErr
	}
	if err = errors.Join(err, readErr); err != nil {
		return 1, err
	}
	return 0, nil
}

// unreached returns what the run leaves out by its nature.
func unreached(args []string) []string {
	var left []string
	for _, module := range []string{"examples/cluster", "examples/provider", "diff/bench"} {
		left = append(left, fmt.Sprintf("the module %s, which is apart: cd %s && go test ./...", module, module))
	}
	if !slices.Contains(args, "-race") {
		left = append(left, "the race detector: it needs a C compiler, and -race")
	}
	return left
}
