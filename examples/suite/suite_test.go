package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
		if code, err := run([]string{"--", program, "test", "./..."}); code != want || err != nil {
			t.Errorf("%s: %d, %v", script, code, err)
		}
	}
	if code, err := run([]string{"--"}); code != 2 || err == nil {
		t.Errorf("without a command: %d, %v", code, err)
	}
}
