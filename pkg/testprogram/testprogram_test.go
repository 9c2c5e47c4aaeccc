package testprogram_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// TestWrite writes and runs programs while other goroutines start processes.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 50 {
				path := filepath.Join(dir, strconv.Itoa(worker), strconv.Itoa(i))
				testprogram.Write(t, path, "#!/bin/sh\necho "+strconv.Itoa(i)+"\n")
				if out, err := exec.CommandContext(t.Context(), path).Output(); err != nil || string(out) != strconv.Itoa(i)+"\n" {
					t.Errorf("%q, %v", out, err)
				}
			}
		})
	}
	group.Wait()
	if mode, err := os.Stat(filepath.Join(dir, "0", "0")); err != nil || mode.Mode().Perm()&0o111 == 0 {
		t.Errorf("%v, %v", mode, err)
	}
}
