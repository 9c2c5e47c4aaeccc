package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// made is a module with packages that end in every way.
var made = map[string]string{
	"go.mod": "module example.test/made\n\ngo 1.26\n",
	"good/a_test.go": "package good\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Log(\"quiet\") }\nfunc TestB(t *testing.T) { t.Skip(\"needs root\") }\n" +
		"func TestC(t *testing.T) { for range 2 { t.Run(\"x\", func(t *testing.T) { t.Skip(\"no cluster\") }) } }\n",
	"bad/a_test.go":  "package bad\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Error(\"one is not two\") }) }\n",
	"dies/a_test.go": "package dies\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) { t.Log(\"last words\"); os.Exit(3) }\n",
	"none/a.go":      "package none\n",
	"torn/a_test.go": "package torn\nimport \"testing\"\nfunc TestA(t *testing.T) { undefined() }\n",
}

// TestReport: a run reads as that of go test does, and ends with what was skipped.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	for name, text := range made {
		write(t, dir, name, text)
	}
	gotest := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
		out, _ := cmd.Output() // that it fails is part of it
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
	want := " Not run:\n  example.test/made/good TestB: needs root\n  example.test/made/good TestC: no cluster (2 times)\n  the module x\n" +
		"Failed:\n  example.test/made/bad TestA\n  example.test/made/bad TestA/x\n  example.test/made/dies\n  example.test/made/torn\n"
	if list != want {
		t.Errorf("the list is\n%s\nwant\n%s", list, want)
	}
	if _, slow, found := strings.Cut(body, "\nThe slowest packages and tests, in seconds:\n"); !found || strings.Count(slow, "\n") != 3 {
		t.Errorf("it lists as the slowest three:\n%s", slow)
	}
	for _, closing := range []string{`(?m)^ok  \texample.test/made/good\t`, `(?m)^FAIL\texample.test/made/bad\t`, `(?m)^FAIL\texample.test/made/dies\t`,
		`(?m)^FAIL\texample.test/made/torn \[build failed\]`, `(?m)^\?   \texample.test/made/none\t\[no test files\]`, `one is not two`, `last words`, `undefined: undefined`} {
		if !regexp.MustCompile(closing).MatchString(body) {
			t.Errorf("%s is not in\n%s", closing, body)
		}
	}
	if strings.Contains(body, "=== RUN") || strings.Contains(body, "quiet") {
		t.Errorf("it is chatty:\n%s", body)
	}
}

// TestExitCode is that of the command.
func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 2": 2} {
		program := filepath.Join(t.TempDir(), "go")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if code, err := run([]string{"./...", "--", program, "test"}); code != want || err != nil {
			t.Errorf("%s: %d, %v", script, code, err)
		}
	}
	if code, err := run([]string{"--"}); code != 2 || err == nil {
		t.Errorf("without a command: %d, %v", code, err)
	}
}

// TestSplit: the race detector runs where code or tests may run in several goroutines, and every package is in one of the two.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.test/parts\n\ngo 1.26\n",
		"statement/a.go":     "package statement\nfunc F() { go F() }\n",
		"group/a.go":         "package group\nimport \"sync\"\nfunc F() { var g sync.WaitGroup; g.Go(F); g.Wait() }\n",
		"beside/a_test.go":   "package beside\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Parallel() }\n",
		"server/a_test.go":   "package server_test\nimport (\"net/http/httptest\"; \"testing\")\nfunc TestA(*testing.T) { httptest.NewServer(nil).Close() }\n",
		"listener/a.go":      "package listener\nimport (\"net\"; \"net/http\")\nfunc F(l net.Listener) error { return http.Serve(l, nil) }\n",
		"plain/a.go":         "package plain\n// F does not go far.\nfunc F() { println(\"go\") }\n",
		"plain/a_test.go":    "package plain\nimport \"testing\"\nfunc TestA(*testing.T) { F() }\n",
		"plain/b_windows.go": "package plain\nfunc G() { go F() }\n",
	} {
		write(t, dir, name, text)
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOOS", "linux")
	concurrent, sequential, err := split([]string{"./server", "./..."})
	if err != nil {
		t.Fatal(err)
	}
	const module = "example.test/parts/"
	if want := []string{module + "server", module + "beside", module + "group", module + "listener", module + "statement"}; !slices.Equal(concurrent, want) {
		t.Errorf("with the race detector: %v, want %v", concurrent, want)
	}
	if want := []string{module + "plain"}; !slices.Equal(sequential, want) {
		t.Errorf("without it: %v, want %v", sequential, want)
	}
	if _, _, err := split([]string{"./nowhere"}); err == nil {
		t.Error("a package that is not there is no error")
	}
}

// TestBothParts: the events of both runs are reported, the worse exit code counts, and only one of them has the race detector.
func TestBothParts(t *testing.T) {
	if !hasCompiler() {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.test/parts\n\ngo 1.26\n")
	write(t, dir, "one/a_test.go", "package one\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Parallel(); x := 0; c := make(chan int); go func() { x++; c <- 1 }(); x++; <-c }\n")
	write(t, dir, "two/a_test.go", "package two\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Skip(\"seen\") }\n")
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("CGO_ENABLED", "0")
	commands, err := raced([]string{"go", "test", "-json"}, []string{"./..."})
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
	for _, part := range []string{"DATA RACE", "example.test/parts/two TestA: seen", "Failed:\n  example.test/parts/one TestA\n"} {
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
