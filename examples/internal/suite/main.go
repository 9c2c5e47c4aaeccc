// Command suite runs `go test` on packages and prints its output. At the end it lists what did not
// run and why: skipped tests, and the modules of this repository that the run does not cover; then
// the failed tests by name. With -race concurrent, packages that share memory between goroutines
// run with the race detector, and the others at the same time without it; see split.go for the
// rule. With -race all, every package runs with it. Tests in files with the build constraint !race
// run without it in any case. With -slowest N, it lists the slowest packages and tests. Its exit
// code is that of `go test`. As `suite tool` it runs the linker for go test; see links.go.
//
//	go run ./examples/internal/suite [-slowest N] [-race concurrent|all] ./... -- go test -shuffle=on
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
	"strings"
	"sync"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/scratch"
)

// space is the number of bytes that must be free in memory for the test programs and what they write,
// which then need no disk.
const space = 8 << 30

func main() {
	args, do := os.Args[1:], run
	if len(args) > 0 && args[0] == "tool" {
		args, do = args[1:], tool
	}
	code, err := do(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command, or its own with an error.
func run(args []string) (code int, err error) {
	flags := flag.NewFlagSet("suite", flag.ContinueOnError)
	slowest := flags.Int("slowest", 0, "how many of the slowest packages and tests to list")
	race := flags.String("race", "none", "which packages to test with the race detector: none, concurrent or all")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	args = flags.Args()
	end := slices.Index(args, "--")
	if end < 1 || len(args) < end+3 || args[end+2] != "test" {
		return 2, errors.New("name packages and the command that tests them, such as: ./... -- go test")
	}
	if !slices.Contains([]string{"none", "concurrent", "all"}, *race) {
		return 2, fmt.Errorf("-race %s: must be none, concurrent or all", *race)
	}
	packages, command := args[:end], slices.Insert(slices.Clone(args[end+1:]), 2, "-json")
	if l, ok := keptLinks(); ok {
		suite, err := os.Executable()
		if err != nil {
			return 1, err
		}
		command = slices.Insert(command, 2, "-toolexec", toolexec(suite, l))
	}
	left := []string{}
	for _, module := range []string{"examples/internal/cluster", "examples/internal/provider",
		"examples/internal/cloud/provider", "diff/bench"} {
		left = append(left, fmt.Sprintf("the module %s, which is apart: cd %s && go test ./...", module, module))
	}
	commands := []*exec.Cmd{exec.Command(command[0], slices.Concat(command[1:], packages)...)} //nolint:gosec // the caller's own
	if *race == "none" || !hasCompiler() {
		left = append(left, "the race detector: it needs a C compiler, and -race")
	} else if commands, err = parts(command, packages, *race == "all"); err != nil {
		return 1, err
	}
	dir, err := scratch.Dir("nuon-", space)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, cmd := range commands {
		cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
	}
	r := newReport(os.Stdout)
	code, err = runAll(commands, r)
	r.end(left, *slowest)
	return code, err
}

// withoutPlugins leaves plugins of kustomize out, which exist only with cgo and which nothing here loads. With them the
// linker keeps a quarter more code and has the C compiler link: a third of the processor time of a link.
const withoutPlugins = "kustomize_disable_go_plugin_support"

// parts returns the commands that test the packages with and without the race detector, divided by
// split, and those tests of the former that the race detector excludes.
func parts(command, packages []string, all bool) ([]*exec.Cmd, error) {
	d, err := split(packages, all)
	if err != nil {
		return nil, err
	}
	var commands []*exec.Cmd
	for _, part := range []struct {
		packages []string
		options  []string
		env      string
	}{
		{d.raced, []string{"-race", "-tags", withoutPlugins}, "CGO_ENABLED=1"},
		{d.others, nil, "CGO_ENABLED=0"}, // as the programs are built, so that the build cache serves both
		{d.exempt, []string{"-run", "^(" + strings.Join(d.excluded, "|") + ")$"}, "CGO_ENABLED=0"},
	} {
		if len(part.packages) == 0 {
			continue
		}
		cmd := exec.Command(command[0], slices.Concat(command[1:], part.options, part.packages)...) //nolint:gosec // the caller's own
		cmd.Env = append(os.Environ(), part.env)
		commands = append(commands, cmd)
	}
	return commands, nil
}

// hasCompiler reports whether there is a C compiler, which Go needs to link the race detector.
func hasCompiler() bool {
	return slices.ContainsFunc([]string{os.Getenv("CC"), "gcc", "clang"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return name != "" && err == nil
	})
}

// runAll runs commands concurrently, and reports their events as they arrive. It returns the
// highest exit code. An error means a failure without an exit code, such as a signal.
func runAll(commands []*exec.Cmd, r *report) (code int, err error) {
	// An interrupt at the terminal reaches go test as well; wait for its end. After a SIGQUIT, the
	// tests print the stacks of their goroutines.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
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
			code = max(code, exited.ExitCode(), 1)
			if exited.Exited() {
				ended = nil
			} else { // it was killed, and has not reported all its packages
				ended = fmt.Errorf("%s test: %w", cmd.Args[0], ended)
			}
		}
		err = errors.Join(err, failure[i], ended)
	}
	if err != nil {
		code = max(code, 1)
	}
	return code, err
}
