package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestMain runs a Program when CHILD_TEST_SCRIPT is set, so that a test can kill the
// process that runs it; as a stand-in when CHILD_TEST_STANDIN is set.
func TestMain(m *testing.M) {
	script := os.Getenv("CHILD_TEST_SCRIPT")
	if script == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("CHILD_TEST_STANDIN") != "" {
		os.Exit(beJobWithStandIn(os.Getenv("CHILD_TEST_DIR"), script))
	}
	program := shell(script, time.Minute)
	program.Dir = os.Getenv("CHILD_TEST_DIR")
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	if err := program.Run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func shell(script string, grace time.Duration) Program {
	return Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Name: "the script", Grace: grace, Warn: func(string, ...any) {},
	}
}

func TestOutputAndEnd(t *testing.T) {
	program := shell("echo out; echo err >&2; exit 7", time.Minute)
	program.Dir = t.TempDir()
	var exit *exec.ExitError
	if err := program.Run(t.Context()); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatal(err)
	}
	if fmt.Sprint(program.Stdout, program.Stderr) != "out\n err\n" {
		t.Fatalf("%q", fmt.Sprint(program.Stdout, program.Stderr))
	}
	program.Path = "/nowhere"
	if err := program.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := program.Run(over); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// failing is a writer that fails on every write.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestOutputThatNobodyTakes prints more than a pipe holds to a writer that rejects it.
func TestOutputThatNobodyTakes(t *testing.T) {
	program := shell("head -c 5000000 /dev/zero", time.Minute)
	program.Stdout = failing{}
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestOutputHeldOpen checks that a grandchild that left the group and holds the output
// open does not delay Run.
func TestOutputHeldOpen(t *testing.T) {
	program := shell("setsid sleep 100000 & echo $!", time.Minute)
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(program.Stdout)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it was waited for: %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	for name, test := range map[string]struct {
		trap, said string
		group      bool
		grace      time.Duration
	}{
		"heeds": {trap: "trap 'echo heard; exit 0' INT", said: "heard\n", grace: testtime.Limit},
		"heeds in a group": {trap: "trap 'echo heard; exit 0' INT", said: "heard\n", group: true,
			grace: testtime.Limit},
		"deaf, and killed":       {trap: "trap '' INT", grace: 200 * time.Millisecond},
		"deaf group, and killed": {trap: "trap '' INT", group: true, grace: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := shell(test.trap+"\nsh -c 'trap \"\" INT; echo $$ >pid; while :; do sleep 0.1; done' &\nwhile :; do "+
				"sleep 0.1; done", test.grace)
			program.Dir, program.Group = dir, test.group
			var warned []string
			program.Warn = func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- program.Run(ctx) }()
			pid := readPID(t, filepath.Join(dir, "pid"))
			cancel()
			err := <-ended
			if fmt.Sprint(program.Stdout) != test.said || (err == nil) != (test.said != "") || len(warned) != 1 {
				t.Fatalf("%q, %v, %q", program.Stdout, err, warned)
			}
			mustBeGone(t, pid)
		})
	}
}

// TestDeathOfTheParent checks that a program continues when the process that runs it is killed:
// it may print more than is read, and ends regularly.
func TestDeathOfTheParent(t *testing.T) {
	for name, environ := range map[string]string{"a program": "", "a stand-in": "CHILD_TEST_STANDIN=1"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), environ, "CHILD_TEST_DIR="+dir,
				"CHILD_TEST_SCRIPT=echo $$ >pid; until test -e killed; do sleep 0.1; done; head -c 300000 /dev/zero; echo more "+
					">&2; touch ended")
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			pid := readPID(t, filepath.Join(dir, "pid"))
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // it was killed
			if err := os.WriteFile(filepath.Join(dir, "killed"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			mustBeGone(t, pid)
			if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
				t.Fatal("the program did not come to its end:", err)
			}
		})
	}
}

// readPID waits for a file with a process id, and returns the id.
func readPID(t *testing.T, file string) int {
	t.Helper()
	pid := 0
	testtime.UntilNoError(t, "the program starts", func() error {
		content, err := os.ReadFile(file)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
		}
		return err
	})
	return pid
}

// mustBeGone waits until a process has ended or is a zombie.
func mustBeGone(t *testing.T, pid int) {
	t.Helper()
	testtime.Until(t, "the end of the program", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
