package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// neverEnding returns the context of a process that is ended by signals.
func neverEnding() context.Context { return context.Background() }

// bench is a directory to run nuon dev in, with fakes for its programs.
type bench struct {
	dir      string
	events   string
	options  Options
	out, err *testbuffer.Buffer
	saved    contexts.Context
}

// newBench returns a bench with DATABASE_URL set, so that no PostgreSQL starts: the fakes
// do not use one.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "nuon-dev-test-") // the server's user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "orders"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"reconciler", "runnerd", "nuon"} {
		if err := os.Symlink(self, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{dir: dir, events: filepath.Join(dir, "events"), out: &testbuffer.Buffer{}, err: &testbuffer.Buffer{}}
	t.Setenv("FAKE_EVENTS", b.events)
	t.Setenv("FAKE_ORDERS", filepath.Join(dir, "orders"))
	t.Setenv("DATABASE_URL", "postgres://u:secret@nowhere/db")
	t.Setenv("NUON_REGISTRY", "")
	b.options = Options{
		Console: &console.Console{Out: b.out, Err: b.err},
		DataDir: filepath.Join(dir, "data"), Listen: "127.0.0.1:0", RunnerListen: "127.0.0.1:0",
		RegistryListen: "127.0.0.1:0",
		Org:            "dev", Poll: time.Second, ReadyFile: filepath.Join(dir, "ready.json"), FileRemotes: []string{dir},
		Getenv:      os.Getenv,
		FindProgram: func(name string) (string, error) { return filepath.Join(dir, "bin", name), nil },
		SaveContext: func(name string, made contexts.Context) (Saved, error) {
			b.saved = made
			return Saved{File: "config.toml", Current: true}, nil
		},
		timeouts: timeouts{ready: testtime.Limit, stop: testtime.Limit, backoff: 10 * time.Millisecond,
			longest: 50 * time.Millisecond},
	}
	return b
}

// order makes the fakes misbehave.
func (b *bench) order(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "orders", name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) happened(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(b.events)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// await waits until the condition holds.
func (b *bench) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	testtime.UntilNoError(t, what, func() error {
		if condition() {
			return nil
		}
		return fmt.Errorf("it does not happen\n%s\n%s", b.err, strings.Join(b.happened(t), "\n"))
	})
}

func (b *bench) count(t *testing.T, pattern string) int {
	t.Helper()
	matching := regexp.MustCompile(pattern)
	found := 0
	for _, line := range b.happened(t) {
		if matching.MatchString(line) {
			found++
		}
	}
	return found
}

// start runs nuon dev until both runners are up, and returns a function that stops it.
func (b *bench) start(t *testing.T) (stop func() error) {
	t.Helper()
	before := b.count(t, "^runner .* start")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, b.options) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	b.await(t, "the start", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended with %v\n%s", err, b.err)
		default:
		}
		_, err := os.Stat(b.options.ReadyFile)
		return err == nil && b.count(t, "^runner .* start") >= before+2
	})
	return stop
}

var numbers = regexp.MustCompile(`start \d+`)

func TestLife(t *testing.T) {
	b := newBench(t)
	if err := b.start(t)(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range b.happened(t) {
		got = append(got, numbers.ReplaceAllString(line, "start PID"))
	}
	sortPairs(got)
	want := []string{
		"reconciler start PID database= remotes=" + b.dir, // DATABASE_URL is not an argument
		"bootstrap dev",
		"register build build shared=false",
		"register local install shared=true",
		"runner build start PID at http://127.0.0.1:7 token=reg-build registry=127.0.0.1:8/dev/vendor user=v password=vp " +
			"plain=1 database=",
		"runner local start PID at http://127.0.0.1:7 token=reg-local registry=127.0.0.1:8/dev/install user=i password=ip " +
			"plain=1 database=",
		"runner build stop",
		"runner local stop",
		"reconciler stop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b.saved.Token != "token-of-dev" || b.saved.Org != "dev" || !strings.HasPrefix(b.saved.URL, "http://127.0.0.1:") {
		t.Errorf("saved context %+v", b.saved)
	}
	for _, want := range []string{"reconciler   │ reconciler says hello\n", "runner:build │ on standard output  [31m\n",
		"runner:local │ on standard output", "reconciler   │ bootstrapping\n",
		"nuon dev     │ stopped; the data is in " + b.options.DataDir} {
		if !strings.Contains(b.err.String(), want) {
			t.Errorf("%q is not in the log view:\n%s", want, b.err)
		}
	}
	for _, want := range []string{"nuon dev is ready", b.saved.URL, b.options.DataDir, "dev in config.toml", "Ctrl-C"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("%q is not in the banner:\n%s", want, b.out)
		}
	}
	for _, secret := range []string{"token-of-dev", "reg-build", `"vp"`, "secret@"} {
		if strings.Contains(b.err.String()+b.out.String(), secret) {
			t.Errorf("%q is on the screen", secret)
		}
	}
	if _, err := os.Stat(b.options.ReadyFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ready file is left: %v", err)
	}
	for _, file := range []string{"admission.json", "server.key"} {
		if info, err := os.Stat(filepath.Join(b.options.DataDir, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

// sortPairs sorts the lines of the two runners, whose order is random.
func sortPairs(lines []string) {
	for i := 1; i < len(lines); i++ {
		before, after := strings.Fields(lines[i-1]), strings.Fields(lines[i])
		if before[0] == "runner" && after[0] == "runner" && before[1] == "local" && before[2] == after[2] {
			lines[i], lines[i-1] = lines[i-1], lines[i]
		}
	}
}

func TestSecondStartAsksForNothingNew(t *testing.T) {
	b := newBench(t)
	for range 2 {
		if err := b.start(t)(); err != nil {
			t.Fatal(err)
		}
	}
	if b.count(t, "^bootstrap") != 1 || b.count(t, "^register") != 2 || b.count(t, "token=reg-") != 2 {
		t.Errorf("the second start asked again:\n%s", strings.Join(b.happened(t), "\n"))
	}
}

func TestForgottenTokenIsReplaced(t *testing.T) {
	b := newBench(t)
	if err := b.start(t)(); err != nil {
		t.Fatal(err)
	}
	b.order(t, "token-forgotten")
	if err := b.start(t)(); err != nil {
		t.Fatal(err)
	}
	if got := b.count(t, "^bootstrap"); got != 2 {
		t.Errorf("%d bootstraps, want 2", got)
	}
}

func TestTakenRunnerNameGetsANumber(t *testing.T) {
	b := newBench(t)
	b.order(t, "build-is-taken")
	if err := b.start(t)(); err != nil {
		t.Fatal(err)
	}
	if b.count(t, "^register build-2 build") != 1 || b.count(t, "^runner build-2 start") != 1 {
		t.Errorf("no build-2:\n%s", strings.Join(b.happened(t), "\n"))
	}
}

// pidOf returns the process id in the last line that starts with start.
func (b *bench) pidOf(t *testing.T, start string) int {
	t.Helper()
	pid := 0
	for _, line := range b.happened(t) {
		if rest, found := strings.CutPrefix(line, start+" "); found {
			pid, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	if pid == 0 {
		t.Fatalf("no %q in\n%s", start, strings.Join(b.happened(t), "\n"))
	}
	return pid
}

func TestKilledChildrenComeBack(t *testing.T) {
	b := newBench(t)
	stop := b.start(t)
	where := b.saved.URL
	for _, start := range []string{"reconciler start", "runner build start", "runner local start"} {
		for round := 2; round <= 3; round++ {
			if err := syscall.Kill(b.pidOf(t, start), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			b.await(t, start+" again", func() bool { return b.count(t, "^"+start) == round })
		}
	}
	// The restarted reconciler listens on its old port, although the system selected it.
	b.await(t, "the control API on its old port", func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(where, "http://"))
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.err.String(), "reconciler   │ it exited (signal: killed); starting it again in") {
		t.Errorf("the log view does not say so:\n%s", b.err)
	}
	if got := b.count(t, "^reconciler stop"); got != 1 {
		t.Errorf("%d orderly stops, want 1", got)
	}
}

func TestStartThatFails(t *testing.T) {
	for order, want := range map[string]string{
		"reconciler-fails": "the reconciler did not start: exit status 3",
		"reconciler-hangs": "is not ready after",
		"bootstrap-fails":  "create the org dev: reconciler bootstrap: exit status 1",
	} {
		t.Run(order, func(t *testing.T) {
			b := newBench(t)
			b.order(t, order)
			if order == "reconciler-hangs" {
				b.options.timeouts.ready = 300 * time.Millisecond
			}
			err := Run(t.Context(), b.options)
			for order == "reconciler-hangs" && b.count(t, "^reconciler start") == 0 { // it was stopped before it ran at all
				b.options.timeouts.ready *= 2
				err = Run(t.Context(), b.options)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if order == "reconciler-fails" && !strings.Contains(b.err.String(), "│ cannot migrate\n") {
				t.Errorf("its unfinished last line is not shown:\n%s", b.err)
			}
			if alive(b.pidOf(t, "reconciler start")) {
				t.Error("the reconciler lives on")
			}
		})
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestDeafChildIsKilled(t *testing.T) {
	b := newBench(t)
	b.options.timeouts.stop = 300 * time.Millisecond
	b.order(t, "reconciler-deaf")
	stop := b.start(t)
	pid := b.pidOf(t, "reconciler start")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) || !strings.Contains(b.err.String(), "it did not stop within 300ms; killing it") {
		t.Errorf("alive %v\n%s", alive(pid), b.err)
	}
}

func TestTwoOnOneDirectory(t *testing.T) {
	b := newBench(t)
	stop := b.start(t)
	err := Run(t.Context(), b.options)
	if err == nil || !strings.Contains(err.Error(), "another nuon dev uses "+b.options.DataDir) {
		t.Errorf("the second gets %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for want, edit := range map[string]func(*Options){
		"the port is in use":    func(o *Options) { o.Listen = taken.Addr().String() },
		"use host:port":         func(o *Options) { o.RunnerListen = "nonsense" },
		"no such directory":     func(o *Options) { o.FileRemotes = []string{"/no/such/place"} },
		"not found beside nuon": func(o *Options) { o.FindProgram = FindProgram },
		"not a directory":       func(o *Options) { o.DataDir = "/dev/null/x" },
	} {
		b := newBench(t)
		edit(&b.options)
		t.Setenv("PATH", "/nowhere")
		if err := Run(t.Context(), b.options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if events := b.happened(t); len(events) > 1 {
			t.Errorf("%s: something was started: %v", want, events)
		}
	}
}

// asProcess runs nuon dev as a separate process and waits until it is up.
func (b *bench) asProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command(filepath.Join(b.dir, "bin", "nuon"))
	command.Env = append(os.Environ(), "FAKE_DATA="+b.options.DataDir, "FAKE_READY="+b.options.ReadyFile,
		"FAKE_PROGRAMS="+filepath.Join(b.dir, "bin"))
	command.Stdout, command.Stderr = b.out, b.err
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	b.await(t, "the start", func() bool {
		_, err := os.Stat(b.options.ReadyFile)
		return err == nil && b.count(t, "^runner .* start") >= 2
	})
	return command
}

func TestSignals(t *testing.T) {
	for _, name := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(name.String(), func(t *testing.T) {
			b := newBench(t)
			command := b.asProcess(t)
			if err := command.Process.Signal(name); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			events := b.happened(t)
			if last := events[len(events)-1]; last != "reconciler stop" {
				t.Errorf("the last event is %q", last)
			}
		})
	}
}

func TestSecondInterruptKills(t *testing.T) {
	b := newBench(t)
	b.order(t, "reconciler-deaf")
	command := b.asProcess(t)
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.await(t, "the deafness", func() bool { return b.count(t, "deaf") == 1 })
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// Without the second signal, nuon dev would wait for the deaf child until the test hangs.
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if err := testtime.Receive(t, ended, "the end of nuon dev"); err != nil {
		t.Error(err)
	}
	if alive(b.pidOf(t, "reconciler start")) {
		t.Error("the reconciler lives on")
	}
}

func TestKilledDevTakesItsChildrenWithIt(t *testing.T) {
	if childAttributes().Setpgid && !tellsOrphans() {
		t.Skip("this system does not tell a child that its parent is gone")
	}
	b := newBench(t)
	command := b.asProcess(t)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	b.await(t, "the end of the children", func() bool { return b.count(t, " stop$") == 3 })
	// The next run starts on the same data directory.
	if err := b.start(t)(); err != nil {
		t.Error(err)
	}
}

func TestWithItsOwnPostgres(t *testing.T) {
	b := newBench(t)
	t.Setenv("DATABASE_URL", "")
	stop := b.start(t)
	if b.count(t, `^reconciler start \d+ database=host=`) != 1 {
		t.Errorf("the reconciler got no cluster:\n%s", strings.Join(b.happened(t), "\n"))
	}
	pidFile := filepath.Join(b.options.DataDir, "postgres", "data", "postmaster.pid")
	postmaster := func() int {
		content, _ := os.ReadFile(pidFile)
		lines := strings.Split(string(content), "\n")
		if len(lines) < 8 || strings.TrimSpace(lines[7]) != "ready" {
			return 0
		}
		pid, _ := strconv.Atoi(lines[0])
		return pid
	}
	first := postmaster()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await(t, "another postmaster", func() bool { return postmaster() != 0 && postmaster() != first })
	second := postmaster()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.await(t, "the end of the postmaster", func() bool { return !alive(second) })
	if !strings.Contains(b.out.String(), "on a unix socket") {
		t.Errorf("the banner does not name the database:\n%s", b.out)
	}
}

func TestView(t *testing.T) {
	var out testbuffer.Buffer
	v := newLogMux(&out, true)
	one, two := v.newWriter("reconciler", 0), v.newWriter("runner:build", 1)
	fmt.Fprint(one, "half ")
	fmt.Fprint(two, "whole\nlines\n")
	fmt.Fprint(one, "a line\nrest")
	one.finish()
	want := "\x1b[32mrunner:build │ \x1b[0mwhole\n\x1b[32mrunner:build │ \x1b[0mlines\n\x1b[36mreconciler   │ " +
		"\x1b[0mhalf a line\n\x1b[36mreconciler   │ \x1b[0mrest\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	var long testbuffer.Buffer
	fmt.Fprint(newLogMux(&long, false).newWriter("x", 0), strings.Repeat("y", 3*maxLineBytes))
	if lines := strings.Count(long.String(), "\n"); lines != 2 {
		t.Errorf("a line without an end was cut into %d", lines)
	}
}

func TestDefaultDataDir(t *testing.T) {
	environment := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	open := newBench(t).dir
	closed := t.TempDir() // only the owner can enter its parent
	got, err := DefaultDataDir(environment(map[string]string{"XDG_DATA_HOME": open, "HOME": "/elsewhere"}))
	if err != nil || got != filepath.Join(open, "nuon", "dev") {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = DefaultDataDir(environment(map[string]string{"HOME": open}))
	if err != nil || got != filepath.Join(open, ".local", "share", "nuon", "dev") {
		t.Errorf("got %s, %v", got, err)
	}
	want := filepath.Join(closed, ".local", "share", "nuon", "dev")
	if os.Geteuid() == 0 {
		want = rootDataDir
	}
	if got, err = DefaultDataDir(environment(map[string]string{"HOME": closed})); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestRepositoryRoot(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := repositoryRoot(below); got != below {
		t.Errorf("outside of a repository: %s", got)
	}
	// In a worktree .git is a file.
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := repositoryRoot(below); got != dir {
		t.Errorf("inside of a repository: %s", got)
	}
}

func TestSaveContext(t *testing.T) {
	t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "config.toml"))
	made := contexts.Context{URL: "http://127.0.0.1:1", Token: "t", Org: "dev"}
	saved, err := SaveContext("dev", made)
	if err != nil || !saved.Current {
		t.Fatalf("the first: %+v, %v", saved, err)
	}
	other := contexts.File{Current: "prod", Contexts: map[string]contexts.Context{"prod": {URL: "https://prod"}}}
	if err := other.Save(); err != nil {
		t.Fatal(err)
	}
	if saved, err = SaveContext("dev", made); err != nil || saved.Current {
		t.Errorf("beside another: %+v, %v", saved, err)
	}
	file, err := contexts.Load()
	if err != nil || file.Current != "prod" || file.Contexts["dev"] != made || len(file.Contexts) != 2 {
		t.Errorf("the file is %+v, %v", file, err)
	}
}

func TestAdmissionLasts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a := devcontract.BootstrapCredentials{Token: "t"}
	if !isValidFor(a, now) {
		t.Error("without an end it lasts")
	}
	a.Registry.Vendor.Expires = now.Add(renewBefore + time.Hour)
	if !isValidFor(a, now) {
		t.Error("with time left it lasts")
	}
	a.Registry.Install.Expires = now.Add(renewBefore - time.Hour)
	if isValidFor(a, now) || isValidFor(devcontract.BootstrapCredentials{}, now) {
		t.Error("near its end, or empty, it does not")
	}
}
