package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func try(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func mustBeHeld(t *testing.T, path string, want bool) {
	t.Helper()
	if held, err := Held(path); held != want || err != nil {
		t.Errorf("held: %v, %v; want %v", held, err, want)
	}
}

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	mustBeHeld(t, path, false)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Held made the file: %v", err)
	}
	file := try(t, path)
	mustBeHeld(t, path, true)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), path) {
		t.Errorf("taken twice: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeHeld(t, path, false)
	try(t, path)
}

func TestTryWhereThereIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "lock")
	if _, err := Try(path); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrHeld) {
		t.Errorf("Try: %v", err)
	}
	if _, err := Wait(t.Context(), path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Wait: %v", err)
	}
	mustBeHeld(t, path, false)
}

// TestALinkIsNoLock checks that a link does not make a file of another directory a lock.
func TestALinkIsNoLock(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("Try: %v", err)
	}
	if _, err := Held(path); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("Held: %v", err)
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("the other file was made")
	}
}

func TestUnlockFreesWhatACopyHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for name, test := range map[string]struct {
		free func(*os.File) error
		held bool
	}{
		"close":  {(*os.File).Close, true},
		"unlock": {Unlock, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := try(t, path)
			forked, err := syscall.Dup(int(file.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(forked) //nolint:errcheck // it is a number
			if err := test.free(file); err != nil {
				t.Fatal(err)
			}
			mustBeHeld(t, path, test.held)
		})
	}
}

// The kernel releases the lock of a killed process.
func TestDeathFreesTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file := try(t, path)
	holder := exec.CommandContext(t.Context(), "sleep", "1000")
	holder.ExtraFiles = []*os.File{file}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeHeld(t, path, true)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	mustBeHeld(t, path, false)
}

// TestClaim checks that Claim waits for a lock that is held for some seconds, not for longer, and not
// after its context has ended.
func TestClaim(t *testing.T) {
	for name, test := range map[string]struct {
		held, within time.Duration
		taken        bool
	}{
		"free":             {taken: true},
		"by a fork":        {held: 4 * time.Second, taken: true},
		"by a program":     {held: time.Hour},
		"the context ends": {held: 4 * time.Second, within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.within > 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, test.within)
					defer cancel()
				}
				if test.held > 0 {
					other := try(t, path)
					freed := time.AfterFunc(test.held, func() { _ = Unlock(other) })
					defer freed.Stop()
				}
				file, err := Claim(ctx, path)
				if test.taken {
					if err != nil {
						t.Fatal(err)
					}
					mustBeHeld(t, path, true)
					_ = Unlock(file)
				} else if !errors.Is(err, ErrHeld) {
					t.Errorf("got %v, want ErrHeld", err)
				}
			})
		})
	}
}

func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Wait(t.Context(), path, func() { t.Error("a free lock is held") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	times := 0
	if _, err := Wait(ctx, path, func() { times++; cancel() }); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("two hold the lock: %v", err)
	}
	second, err := Wait(t.Context(), path, func() { times++; first() })
	if err != nil {
		t.Fatal(err)
	}
	second()
	if times != 2 {
		t.Errorf("held was called %d times by two that waited", times)
	}
}

// A waiter for a lock file that is removed then waits for its replacement.
func TestALockFileThatWasRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := try(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second := try(t, path)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("two have the lock: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeHeld(t, path, false)
}

func TestClear(t *testing.T) {
	dir, old := t.TempDir(), time.Now().Add(-time.Hour)
	make := func(name string, files ...string) string {
		path := filepath.Join(dir, name+".lock")
		release, err := Wait(t.Context(), path, nil)
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
	alone, empty, full, held, young := make("alone"), make("empty", "."), make("full", "tree"),
		make("held"), make("young")
	try(t, held) // unlike Wait, this does not change its modification time
	release, err := Wait(t.Context(), young, nil)
	if err != nil {
		t.Fatal(err)
	}
	release()
	removed, err := Clear(dir, time.Now().Add(-time.Minute))
	if err != nil || removed != 2 {
		t.Errorf("%d removed: %v", removed, err)
	}
	for path, there := range map[string]bool{
		alone: false, empty: false, filepath.Join(dir, "empty"): false, full: true, held: true, young: true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
