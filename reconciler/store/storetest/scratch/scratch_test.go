package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDir: each directory is new, empty and writable, wherever it is.
func TestDir(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		dir, err := Dir("nuon-scratch-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 || seen[dir] {
			t.Errorf("%s: %v, %v; seen before: %v", dir, left, err, seen[dir])
		}
		seen[dir] = true
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
		if in := memory(); in != "" && filepath.Dir(dir) != in {
			t.Errorf("%s is not in %s", dir, in)
		}
	}
}
