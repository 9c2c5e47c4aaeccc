package spool

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// varRemove makes this test binary remove a directory as a user other than root,
// for whom permissions matter.
const varRemove = "SPOOL_TEST_REMOVE"

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
