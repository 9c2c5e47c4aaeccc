package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// made is a module with packages for every kind of result.
var made = map[string]string{
	"go.mod": "module example.test/made\n\ngo 1.26\n",
	"good/a_test.go": "package good\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Log(\"quiet\") }\nfunc TestB(t " +
		"*testing.T) { t.Skip(\"needs root\") }\n" +
		"func TestC(t *testing.T) { for range 2 { t.Run(\"x\", func(t *testing.T) { t.Skip(\"no cluster\") }) } }\n",
	"bad/a_test.go": "package bad\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { " +
		"t.Error(\"one is not two\") }) }\n",
	"dies/a_test.go": "package dies\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) { t.Log(\"last words\"); " +
		"os.Exit(3) }\n",
	"none/a.go":      "package none\n",
	"torn/a_test.go": "package torn\nimport \"testing\"\nfunc TestA(t *testing.T) { undefined() }\n",
}

// TestReport checks that the output is that of go test, followed by what was skipped.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	for name, text := range made {
		write(t, dir, name, text)
	}
	gotest := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
		out, _ := cmd.Output() // it is expected to fail
		return string(out)
	}
	var shown bytes.Buffer
	r := newReport(&shown)
	if err := r.read(strings.NewReader(gotest("-json", "./..."))); err != nil {
		t.Fatal(err)
	}
	r.end([]string{"the module x"}, 3)
	body, list, found := strings.Cut(shown.String(), "\n3 tests ran.")
	if !found {
		t.Fatalf("no list at the end of\n%s", shown.String())
	}
	want := " Not run:\n  example.test/made/good TestB: needs root\n  example.test/made/good TestC: no cluster (2 " +
		"times)\n  the module x\n" +
		"Failed:\n  example.test/made/bad TestA\n  example.test/made/bad TestA/x\n  example.test/made/dies\n  " +
		"example.test/made/torn\n"
	if list != want {
		t.Errorf("the list is\n%s\nwant\n%s", list, want)
	}
	if _, slow, found := strings.Cut(body, "\nThe slowest packages and tests, in seconds:\n"); !found ||
		strings.Count(slow, "\n") != 3 {
		t.Errorf("it lists as the slowest three:\n%s", slow)
	}
	for _, closing := range []string{`(?m)^ok  \texample.test/made/good\t`, `(?m)^FAIL\texample.test/made/bad\t`,
		`(?m)^FAIL\texample.test/made/dies\t`,
		`(?m)^FAIL\texample.test/made/torn \[build failed\]`, `(?m)^\?   \texample.test/made/none\t\[no test files\]`,
		`one is not two`, `last words`, `(?m)^tests that did not end: TestA$`, `undefined: undefined`} {
		if !regexp.MustCompile(closing).MatchString(body) {
			t.Errorf("%s is not in\n%s", closing, body)
		}
	}
	if strings.Contains(body, "=== RUN") || strings.Contains(body, "quiet") {
		t.Errorf("it is chatty:\n%s", body)
	}
}

// TestExitCode checks that the exit code is that of the command.
func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 2": 2} {
		program := filepath.Join(t.TempDir(), "go")
		testprogram.Write(t, program, "#!/bin/sh\n"+script+"\n")
		if code, err := run([]string{"./...", "--", program, "test"}); code != want || err != nil {
			t.Errorf("%s: %d, %v", script, code, err)
		}
	}
	killed := filepath.Join(t.TempDir(), "go")
	testprogram.Write(t, killed, "#!/bin/sh\nkill -TERM $$\n")
	if code, err := run([]string{"./...", "--", killed, "test"}); code != 1 || err == nil ||
		!strings.Contains(err.Error(), killed+" test: signal: terminated") {
		t.Errorf("a command that is killed: %d, %v", code, err)
	}
	if code, err := run([]string{"--"}); code != 2 || err == nil {
		t.Errorf("without a command: %d, %v", code, err)
	}
}

// TestStacksOfAHang checks that, after a SIGQUIT to the suite and what it started, the stacks of a
// test that hangs are reported.
func TestStacksOfAHang(t *testing.T) {
	dir, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
	write(t, dir, "go.mod", "module example.test/hang\n\ngo 1.26\n")
	write(t, dir, "a_test.go", fmt.Sprintf("package hang\nimport (\"os\"; \"testing\"; \"time\")\nfunc TestA(t "+
		"*testing.T) { _ = os.WriteFile(%q, nil, 0o600); waits() }\nfunc waits() { time.Sleep(time.Hour) }\n", started))
	program := filepath.Join(t.TempDir(), "suite")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var shown bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, ".", "--", "go", "test")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stdout, cmd.SysProcAttr = &shown, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testtime.UntilNoError(t, "the start of the test", func() error { _, err := os.Stat(started); return err })
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the suite ended with %v, want exit code 1", err)
	}
	for _, part := range []string{"hang.waits(", "Failed:\n  example.test/hang"} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("%q is not in\n%s", part, shown.String())
		}
	}
}

// TestSplit checks that, without all, the race detector runs for the packages of the product that
// share memory between goroutines and whose code or tests run it in several, and that every package
// is in exactly one list.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	const parallel = "import \"testing\"\nfunc TestA(t *testing.T) { t.Parallel() }\n"
	for name, text := range map[string]string{
		"go.mod":         "module example.test/parts\n\ngo 1.26\n",
		"statement/a.go": "package statement\nfunc F() { go F() }\n",
		"group/a.go":     "package group\nimport \"sync\"\nfunc F() { var g sync.WaitGroup; g.Go(F); g.Wait() }\n",
		"listener/a.go": "package listener\nimport (\"net\"; \"net/http\")\nfunc F(l net.Listener) error { return " +
			"http.Serve(l, nil) }\n",
		"lock/a.go":      "package lock\nimport \"sync\"\ntype T struct { l sync.Mutex }\n",
		"lock/a_test.go": "package lock\n" + parallel,
		"atomic/a.go":    "package atomic\nimport a \"sync/atomic\"\nvar N a.Int64\n",
		"atomic/a_test.go": "package atomic_test\nimport (\"net/http/httptest\"; \"testing\")\nfunc TestA(*testing.T) " +
			"{ httptest.NewServer(nil).Close() }\n",
		"channel/a.go":         "package channel\nfunc F(c chan int) { c <- 1 }\n",
		"channel/a_test.go":    "package channel\nimport \"testing\"\nfunc TestA(*testing.T) { go F(make(chan int, 1)) }\n",
		"once/a.go":            "package once\nimport \"sync\"\nvar V = sync.OnceValue(func() int { return 1 })\n",
		"once/a_test.go":       "package once\n" + parallel,
		"beside/a_test.go":     "package beside\n" + parallel,
		"sequential/a.go":      "package sequential\nimport \"sync\"\ntype T struct { l sync.Mutex }\n",
		"sequential/a_test.go": "package sequential\nimport \"testing\"\nfunc TestA(*testing.T) {}\n",
		"plain/a.go":           "package plain\n// F does not go far.\nfunc F() { println(\"go\") }\n",
		"plain/a_test.go":      "package plain\nimport \"testing\"\nfunc TestA(*testing.T) { F() }\n",
		"plain/b_windows.go":   "package plain\nfunc G() { go F() }\n",
		"examples/tool/a.go":   "package main\nfunc main() { go main() }\n",
		"lock/large_test.go": "//go:build !race\n\npackage lock\nimport \"testing\"\nfunc TestB(*testing.T) {}\nfunc FuzzC(" +
			"*testing.F) {}\nfunc help() {}\n",
		"channel/linux_test.go": "//go:build linux\n\npackage channel\nimport \"testing\"\nfunc TestD(*testing.T) {}\n",
		"plain/large_test.go":   "//go:build !race\n\npackage plain\nimport \"testing\"\nfunc TestE(*testing.T) {}\n",
	} {
		write(t, dir, name, text)
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOOS", "linux")
	of := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, "example.test/parts/"+name)
		}
		return paths
	}
	d, err := split([]string{"./lock", "./plain", "./..."}, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := of("lock", "atomic", "channel", "group", "listener", "statement"); !slices.Equal(d.raced, want) {
		t.Errorf("with the race detector: %v, want %v", d.raced, want)
	}
	if want := of("plain", "beside", "examples/tool", "once", "sequential"); !slices.Equal(d.others, want) {
		t.Errorf("without it: %v, want %v", d.others, want)
	}
	if !slices.Equal(d.exempt, of("lock")) || !slices.Equal(d.excluded, []string{"TestB", "FuzzC"}) {
		t.Errorf("the race detector excludes %v of %v", d.excluded, d.exempt)
	}
	d, err = split([]string{"./..."}, true)
	if err != nil || len(d.raced) != 11 || len(d.others) > 0 {
		t.Errorf("all with the race detector: %v, without it: %v, %v", d.raced, d.others, err)
	}
	if !slices.Equal(d.exempt, of("lock", "plain")) || !slices.Equal(d.excluded, []string{"TestB", "FuzzC", "TestE"}) {
		t.Errorf("of all, the race detector excludes %v of %v", d.excluded, d.exempt)
	}
	if _, err := split([]string{"./nowhere"}, false); err == nil {
		t.Error("a package that does not exist is no error")
	}
}

// TestBothParts checks that the events of all runs are reported, that the worst exit code counts,
// that only one run has the race detector, and that the tests that it excludes run once.
func TestBothParts(t *testing.T) {
	if !hasCompiler() {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.test/parts\n\ngo 1.26\n")
	write(t, dir, "one/a.go", "package one\nfunc F(c chan int, x *int) { *x++; c <- 1 }\n")
	write(t, dir, "one/a_test.go", "package one\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Parallel(); x := 0; c "+
		":= make(chan int); go F(c, &x); x++; <-c }\n")
	write(t, dir, "one/large_test.go", "//go:build !race\n\npackage one\nimport \"testing\"\nfunc TestB(t *testing.T) { "+
		"t.Error(\"large\") }\n")
	write(t, dir, "two/a_test.go", "package two\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip(\"seen\") }\n")
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("CGO_ENABLED", "0")
	commands, err := parts([]string{"go", "test", "-json"}, []string{"./..."}, false)
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	r := newReport(&shown)
	code, err := runAll(commands, r)
	r.end(nil, 0)
	if err != nil || code != 1 {
		t.Errorf("exit code %d, %v; want 1", code, err)
	}
	for _, part := range []string{"DATA RACE", "example.test/parts/two TestA: seen",
		"Failed:\n  example.test/parts/one TestA\n  example.test/parts/one TestB\n", "\n2 tests ran."} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("%q is not in\n%s", part, shown.String())
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
