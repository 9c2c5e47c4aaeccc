// Command suite runs `go test` on packages, prints what that prints, and ends with a list of what was not run and why: tests that were
// skipped, and the modules of this repository that the run does not reach; then the tests that failed, by name. With -race, packages
// that start goroutines are tested with the race detector and, beside them, the others without. With -slowest N, it lists the packages
// and tests that took longest. Its exit code is that of `go test`.
//
//	go run ./examples/suite [-slowest N] [-race] ./... -- go test -shuffle=on
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
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
	race := flags.Bool("race", false, "test packages that start goroutines with the race detector")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	args = flags.Args()
	end := slices.Index(args, "--")
	if end < 1 || len(args) < end+3 || args[end+2] != "test" {
		return 2, errors.New("name packages and the command that tests them, such as: ./... -- go test")
	}
	packages, command := args[:end], slices.Insert(slices.Clone(args[end+1:]), 2, "-json")
	left := []string{}
	for _, module := range []string{"examples/cluster", "examples/provider", "diff/bench"} {
		left = append(left, fmt.Sprintf("the module %s, which is apart: cd %s && go test ./...", module, module))
	}
	commands := []*exec.Cmd{exec.Command(command[0], slices.Concat(command[1:], packages)...)} //nolint:gosec // the caller's own
	if !*race || !hasCompiler() {
		left = append(left, "the race detector: it needs a C compiler, and -race")
	} else if commands, err = raced(command, packages); err != nil {
		return 1, err
	}
	r := newReport(os.Stdout)
	code, err = runAll(commands, r)
	r.end(left, *slowest)
	return code, err
}

// raced returns the commands that test packages where goroutines may race with the race detector, and the others without, one at a time
// so that they fill what the first ones leave of the machine.
func raced(command, packages []string) ([]*exec.Cmd, error) {
	concurrent, sequential, err := split(packages)
	if err != nil {
		return nil, err
	}
	var commands []*exec.Cmd
	if len(concurrent) > 0 {
		cmd := exec.Command(command[0], slices.Concat(command[1:], []string{"-race"}, concurrent)...) //nolint:gosec // the caller's own
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		commands = append(commands, cmd)
	}
	if len(sequential) > 0 {
		alone := []string{"-p=1"}
		if len(concurrent) == 0 {
			alone = nil
		}
		cmd := exec.Command(command[0], slices.Concat(command[1:], alone, sequential)...) //nolint:gosec // the caller's own
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")                                   // as the programs are built, so that the build cache serves both
		commands = append(commands, cmd)
	}
	return commands, nil
}

// hasCompiler reports whether there is a C compiler, without which Go links no race detector.
func hasCompiler() bool {
	return slices.ContainsFunc([]string{os.Getenv("CC"), "gcc", "clang"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return name != "" && err == nil
	})
}

// runAll runs commands side by side, and reports their events in the order in which they come. It returns the highest exit code, and
// as an error only what no exit code says.
func runAll(commands []*exec.Cmd, r *report) (code int, err error) {
	// An interrupt at the terminal reaches go test as well; its end is waited for.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	var (
		readers sync.WaitGroup
		failure = make([]error, len(commands))
		started []*exec.Cmd
	)
	for i, cmd := range commands {
		cmd.Stderr = os.Stderr
		var events io.ReadCloser
		if events, err = cmd.StdoutPipe(); err != nil {
			break
		}
		if err = cmd.Start(); err != nil {
			break
		}
		started = append(started, cmd)
		readers.Go(func() { failure[i] = r.read(events) })
	}
	go func() {
		for s := range interrupted {
			for _, cmd := range started {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		}
	}()
	readers.Wait()
	for i, cmd := range started {
		ended := cmd.Wait()
		if exited := (*exec.ExitError)(nil); errors.As(ended, &exited) {
			code, ended = max(code, exited.ExitCode(), 1), nil
		}
		err = errors.Join(err, failure[i], ended)
	}
	if err != nil {
		code = max(code, 1)
	}
	return code, err
}
