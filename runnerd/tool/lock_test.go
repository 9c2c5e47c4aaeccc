package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestClearLocks(t *testing.T) {
	dir, old := t.TempDir(), time.Now().Add(-time.Hour)
	make := func(name string, files ...string) string {
		path := filepath.Join(dir, name+".lock")
		release, err := Lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.MkdirAll(filepath.Join(dir, name, file), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	alone, empty, full, held, young := make("alone"), make("empty", "."), make("full", "tree"), make("held"), make("young")
	free, err := tryLock(held) // unlike Lock this leaves its time alone
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }()
	release, err := Lock(t.Context(), young)
	if err != nil {
		t.Fatal(err)
	}
	release()
	removed, err := ClearLocks(dir, time.Now().Add(-time.Minute))
	if err != nil || removed != 2 {
		t.Errorf("%d removed: %v", removed, err)
	}
	for path, there := range map[string]bool{alone: false, empty: false, filepath.Join(dir, "empty"): false, full: true, held: true, young: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// Whoever waits for a lock file that is removed waits for the one that takes its place.
func TestALockFileThatWasRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer second()
	first()
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond) //walltime: nothing says that nothing comes
	defer stop()
	if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two have the lock: %v", err)
	}
}
