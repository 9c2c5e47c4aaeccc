package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// library starts programs as terraform-exec does: it kills them when this process dies, gives them one
// interrupt, and does not wait for a program during whose start its context ended.
func library(ctx context.Context, executable string, args []string, environ map[string]string, delay time.Duration,
	stdout, stderr io.Writer) error {
	command := exec.CommandContext(ctx, executable, args...)
	command.Env = entriesOf(environ)
	command.Dir = "/"
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = delay
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	wrong, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = command.Start()
	if ctx.Err() != nil {
		return libraryError{err, ctx.Err()}
	}
	if err != nil {
		return err
	}
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = io.Copy(stdout, out) })
	readers.Go(func() { _, _ = io.Copy(stderr, wrong) })
	readers.Wait()
	err = command.Wait()
	if ctx.Err() != nil {
		return libraryError{err, ctx.Err()}
	}
	if err != nil {
		return fmt.Errorf("%w\nand what it said", err)
	}
	return nil
}

// libraryError is the error of a command whose context has ended; err may be nil.
type libraryError struct{ err, ctx error }

func (e libraryError) Is(target error) bool { return errors.Is(e.ctx, target) }
func (e libraryError) Unwrap() error        { return e.err }
func (e libraryError) Error() string        { return e.err.Error() }

// runScript runs a script of a shell by a stand-in, and returns its output.
func runScript(ctx context.Context, dir, script string, grace time.Duration,
	warn func(format string, args ...any)) (string, error) {
	standIn := StandIn{Path: "/bin/sh", Name: "the script", Dir: dir, Grace: grace, Warn: warn,
		Answers: map[string]string{"who are you": "the stand-in"}}
	executable, environ, err := standIn.Command(map[string]string{"PATH": os.Getenv("PATH")})
	if err != nil {
		return "", err
	}
	args := []string{"-c", script}
	if strings.HasPrefix(script, "who ") {
		args = strings.Fields(script)
	}
	var stdout, stderr bytes.Buffer
	err = standIn.Run(ctx, &stderr, func(ctx context.Context, stderr io.Writer) error {
		return library(ctx, executable, args, environ, standIn.WaitDelay(), &stdout, stderr)
	})
	return stdout.String() + stderr.String(), err
}

func noWarning(t *testing.T) func(string, ...any) {
	return func(format string, args ...any) { t.Errorf(format, args...) }
}

// TestStandIn checks that the output and the end of a program reach the library's caller as
// those of a Program do.
func TestStandIn(t *testing.T) {
	for name, test := range map[string]struct{ script, said, failed string }{
		"succeeds":             {script: "echo out; echo err >&2", said: "out\nerr\n"},
		"prints no whole line": {script: "printf out; printf err >&2", said: "outerr"},
		"fails":                {script: "echo 1 >&2; exit 7", said: "1\n", failed: "exit status 7"},
		"is killed":            {script: "kill -9 $$", failed: "signal: killed"},
		"is answered":          {script: "who are you", said: "the stand-in"},
		"has its own group":    {script: `test "$(ps -o pgid= $$ | tr -d ' ')" = $$ && env | grep NUON_`, failed: "exit status 1"},
		"prints much": {script: "head -c 40000000 /dev/zero; head -c 40000000 /dev/zero >&2",
			said: strings.Repeat("\x00", 40000000+maxStderr)},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := runScript(t.Context(), t.TempDir(), test.script, testtime.Limit, noWarning(t))
			if said != test.said || (err == nil) != (test.failed == "") || err != nil && err.Error() != test.failed {
				t.Errorf("%v: %.200q of %d bytes", err, said, len(said))
			}
		})
	}
	standIn := StandIn{Path: "/nowhere", Name: "nothing"}
	executable, environ, err := standIn.Command(nil)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	err = standIn.Run(t.Context(), &stderr, func(ctx context.Context, stderr io.Writer) error {
		return library(ctx, executable, nil, environ, time.Minute, io.Discard, stderr)
	})
	if err == nil || !strings.Contains(stderr.String(), "start nothing: fork/exec /nowhere: no such file") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// TestStandInInterrupt checks that a program gets one interrupt, and is killed with everything
// that it started when it does not end.
func TestStandInInterrupt(t *testing.T) {
	for name, test := range map[string]struct {
		trap, said, failed string
		grace              time.Duration
	}{
		"heeds": {trap: "trap 'echo heard; exit 3' INT", said: "heard\n", failed: "exit status 3",
			grace: testtime.Limit},
		"succeeds anyway": {trap: "trap 'echo heard; exit 0' INT", said: "heard\n", grace: testtime.Limit},
		"is killed by it": {trap: "trap - INT", failed: "signal: interrupt", grace: testtime.Limit},
		"deaf, and killed": {trap: "trap '' INT", said: "did not end in 200ms", failed: "signal: killed",
			grace: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var said string
			ended := make(chan error, 1)
			go func() {
				var err error
				said, err = runScript(ctx, dir, test.trap+"\nsh -c 'trap \"\" INT; echo $$ >pid; while :; do sleep 0.1; done' &\n"+
					"while :; do sleep 0.1; done", test.grace, noWarning(t))
				ended <- err
			}()
			pid := readPID(t, filepath.Join(dir, "pid"))
			cancel()
			err := <-ended
			if !strings.Contains(said, test.said) || err != nil && err.Error() != test.failed ||
				(err == nil) != (test.failed == "") {
				t.Errorf("%q, %v", said, err)
			}
			mustBeGone(t, pid)
		})
	}
}

// TestStandInInterruptedAtItsStart checks that no program runs when Run has returned, whenever the
// interrupt comes.
func TestStandInInterruptedAtItsStart(t *testing.T) {
	dir := t.TempDir()
	for after := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		//walltime: when the interrupt comes; any time is right
		timer := time.AfterFunc(time.Duration(after)*500*time.Microsecond, cancel)
		_, err := runScript(ctx, dir, "echo $$ >>pids; while :; do sleep 0.1; done", testtime.Limit, noWarning(t))
		timer.Stop()
		if err == nil {
			t.Fatal("it was not interrupted")
		}
	}
	started, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(started)) {
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("%s is running", pid)
		}
	}
}

// beJobWithStandIn is the main function of a process that runs a script by a stand-in and
// writes what comes of it to the file result.
func beJobWithStandIn(dir, script string) int {
	// This process becomes the parent of its orphaned descendants, as a job process is.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 2
	}
	said, err := runScript(context.Background(), dir, script, testtime.Limit, func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
	})
	if err := os.WriteFile(filepath.Join(dir, "result"), fmt.Appendf(nil, "%s%v", said, err), 0o600); err != nil {
		return 2
	}
	return 0
}

// startJob starts such a process, and returns the process ids of the script and of its stand-in.
func startJob(t *testing.T, dir, script string) (job *exec.Cmd, program, standIn int) {
	t.Helper()
	job = exec.Command(os.Args[0])
	job.Env = append(os.Environ(), "CHILD_TEST_STANDIN=1", "CHILD_TEST_DIR="+dir, "CHILD_TEST_SCRIPT=echo $PPID >parent\n"+
		script)
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	program = readPID(t, filepath.Join(dir, "pid"))
	return job, program, readPID(t, filepath.Join(dir, "parent"))
}

// TestInterruptAfterTheDeathOfTheParent checks that a stand-in whose parent is dead passes no interrupt on,
// because runnerd interrupts the program itself, and once.
func TestInterruptAfterTheDeathOfTheParent(t *testing.T) {
	dir := t.TempDir()
	job, program, standIn := startJob(t, dir, `trap 'echo x >>heard; test -e twice && exit' INT
echo $$ >pid
while :; do sleep 0.1; done`)
	if err := job.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = job.Wait() // it was killed
	for range 3 {
		if err := syscall.Kill(standIn, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "twice"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(program, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, program)
	mustBeGone(t, standIn)
	if heard, err := os.ReadFile(filepath.Join(dir, "heard")); err != nil || string(heard) != "x\n" {
		t.Errorf("%q, %v", heard, err)
	}
}

// TestDeathOfTheStandIn checks that a program whose stand-in was killed is interrupted, and that Run does
// not return before it has ended.
func TestDeathOfTheStandIn(t *testing.T) {
	dir := t.TempDir()
	job, program, standIn := startJob(t, dir, `trap 'sleep 0.3; echo heard >heard; exit' INT
echo $$ >pid
while :; do sleep 0.1; done`)
	if err := syscall.Kill(standIn, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, program)
	result, err := os.ReadFile(filepath.Join(dir, "result"))
	if heard, unheard := os.ReadFile(filepath.Join(dir, "heard")); err != nil || unheard != nil ||
		string(heard) != "heard\n" || string(result) != "signal: killed" {
		t.Errorf("%q, %q, %v, %v", heard, result, err, unheard)
	}
}

// TestStandInOfAnotherUser requires that the program runs as the other user and
// cannot regain rights.
func TestStandInOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: a stand-in starts a program as another user")
	}
	before := setup
	t.Cleanup(func() { setup = before })
	Configure(Setup{User: &User{UID: 65534, GID: 65534, Home: "/nonexistent", Temp: "/tmp"}})
	said, err := runScript(t.Context(), "/", `env | grep NUON_; id -u; id -G; echo "$HOME"; grep NoNewPrivs /proc/self/status`,
		testtime.Limit, noWarning(t))
	if want := "65534\n65534\n/nonexistent\nNoNewPrivs:\t1\n"; err != nil || said != want {
		t.Errorf("%v: %q, want %q", err, said, want)
	}
}
