package scratch

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// TestDir checks that each directory is new and empty, that programs run in it, and that it is in
// memory only if there is enough.
func TestDir(t *testing.T) {
	seen := map[string]bool{}
	for _, space := range []uint64{1, 1, math.MaxUint64} {
		dir, err := Dir("nuon-scratch-", space)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 || seen[dir] {
			t.Errorf("%s: %v, %v; seen before: %v", dir, left, err, seen[dir])
		}
		seen[dir] = true
		program := filepath.Join(dir, "program")
		testprogram.Write(t, program, "#!/bin/sh\n")
		if err := exec.CommandContext(t.Context(), program).Run(); err != nil {
			t.Error(err)
		}
		if in := memory(space); in != "" && filepath.Dir(dir) != in || in == "" && filepath.Dir(dir) == "/dev/shm" {
			t.Errorf("%s is not in %q", dir, in)
		}
	}
}
