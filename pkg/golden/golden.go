// Package golden compares what a test made with a file of the repository. With the flag -update of the
// test binary (go test ./PACKAGE -args -update) it writes the file instead. Only tests use it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Updating reports whether the test is to write its golden files.
func Updating() bool { return *update }

// Write writes a golden file.
func Write(t testing.TB, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // of the repository
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // of the repository
		t.Fatal(err)
	}
}

// Check compares got with a golden file, or writes the file.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		Write(t, file, []byte(got))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run the test with -args -update, and read what it writes", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is different (-file +now; -args -update writes it):\n%s", file, d)
	}
}
