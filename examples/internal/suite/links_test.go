package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// TestLinks checks that a test program is linked once for the same sources, and again after a
// change, and that only the last one is kept.
func TestLinks(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "it's kept")
	suite := filepath.Join(dir, "suite")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", suite, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(dir, "module")
	write(t, module, "go.mod", "module example.test/linked\n\ngo 1.26\n")
	write(t, module, "a_test.go", "package linked\nimport \"testing\"\nfunc TestA(*testing.T) { println(\"first\") }\n")
	gotest := func() string {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-toolexec", toolexec(suite, links(cache)))
		cmd.Dir, cmd.Env = module, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
		out, _ := cmd.CombinedOutput() // the one that is put in place of the kept program fails
		return string(out)
	}
	kept := func() string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("kept are %v, %v; want one program", found, err)
		}
		return found[0]
	}
	if out := gotest(); !strings.Contains(out, "first") || !strings.Contains(out, "ok") {
		t.Fatalf("the first run:\n%s", out)
	}
	first := kept()
	testprogram.Write(t, first, "#!/bin/sh\necho in place of the kept program\nexit 3\n")
	if out := gotest(); !strings.Contains(out, "in place of the kept program") {
		t.Errorf("without a change, it is linked again:\n%s", out)
	}
	write(t, module, "a_test.go", "package linked\nimport \"testing\"\nfunc TestA(*testing.T) { println(\"second\") }\n")
	if out := gotest(); !strings.Contains(out, "second") || !strings.Contains(out, "ok") {
		t.Errorf("after a change:\n%s", out)
	}
	if now := kept(); now == first {
		t.Error("after a change, the program before it is kept")
	}
	write(t, module, "b_test.go", "package linked\nimport \"testing\"\nfunc missing()\nfunc TestB(*testing.T) { "+
		"missing() }\n")
	write(t, module, "a.s", "")
	last := kept()
	if out := gotest(); !strings.Contains(out, "missing") || !strings.Contains(out, "FAIL") {
		t.Errorf("a program that cannot be linked:\n%s", out)
	}
	if kept() != last {
		t.Error("a failed link changed what is kept")
	}
}
