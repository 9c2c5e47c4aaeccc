package spool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// varRemove makes this test binary remove a directory: as a user other than root, for whom permissions matter, or
// with a limit of open files.
const varRemove = "SPOOL_TEST_REMOVE"

// TestRemoveADeepTree checks that a tree with more levels than a process can open files, and than a path can have
// bytes, is removed, and that nothing outside of it is.
func TestRemoveADeepTree(t *testing.T) {
	const limit, levels = 64, 300
	if dir := os.Getenv(varRemove); dir != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		if err := RemoveTree(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	base := t.TempDir()
	outside, tree := filepath.Join(base, "outside", "kept"), filepath.Join(base, "tree")
	if err := errors.Join(os.MkdirAll(outside, 0o755), os.Mkdir(tree, 0o755)); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(tree)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		name := strings.Repeat("d", 100)
		err := errors.Join(at.Mkdir(name, 0o755), at.Mkdir("beside", 0o755), at.WriteFile("beside/file", nil, 0o600),
			at.Symlink(filepath.Dir(outside), "link"), at.Symlink(name, "inner"))
		below, openErr := at.OpenRoot(name)
		if err := errors.Join(err, openErr, at.Chmod(".", 0o500), at.Close()); err != nil {
			t.Fatal(err)
		}
		at = below
	}
	if err := at.Close(); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), varRemove+"="+tree)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Error("the tree is still there")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a link was followed:", err)
	}
}

func TestRemoveTreeWithoutRights(t *testing.T) {
	if dir := os.Getenv(varRemove); dir != "" {
		if err := RemoveTree(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	outside := filepath.Join(t.TempDir(), "outside")
	base := t.TempDir()
	dir := filepath.Join(base, "tree")
	closed := filepath.Join(dir, "a", "b")
	for _, each := range []string{closed, outside} {
		if err := os.MkdirAll(each, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(closed, "secret"), []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, "-test.run", t.Name())
	command.Env = append(os.Environ(), varRemove+"="+dir)
	if os.Getuid() == 0 {
		const nobody = 65534
		for _, each := range []string{closed, filepath.Dir(closed), dir, base} {
			if err := os.Chown(each, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(base), 0o755); err != nil { // the parent is that of t.TempDir
			t.Fatal(err)
		}
		program := filepath.Join(base, "program")
		if err := os.Link(self, program); err != nil {
			content, err := os.ReadFile(self)
			if err != nil {
				t.Fatal(err)
			}
			testprogram.Write(t, program, string(content))
		}
		command.Path = program
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	for _, each := range []string{closed, filepath.Dir(closed)} {
		if err := os.Chmod(each, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Error("the tree is still there")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a link was followed:", err)
	}
}
