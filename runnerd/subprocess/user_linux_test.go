package subprocess_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

func shell(script string) subprocess.Program {
	return subprocess.Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Name: "the script", Grace: time.Minute,
		Warn: func(string, ...any) {},
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHandingOver checks that a program can traverse what it is admitted to, can read what it
// is shown, and owns what it is given.
func TestHandingOver(t *testing.T) {
	dir := childtest.UseOtherUser(t)
	shown, given := filepath.Join(dir, "shown"), filepath.Join(dir, "given")
	write(t, filepath.Join(shown, "below", "vars"), "vars")
	write(t, filepath.Join(given, "below", "tree"), "tree")
	write(t, filepath.Join(dir, "secret"), "secret")
	outside := write(t, filepath.Join(t.TempDir(), "outside"), "outside")
	if err := os.Symlink(outside, filepath.Join(given, "link")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(subprocess.GrantRead(shown), subprocess.GrantOwnership(given)); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]bool{
		"cat shown/below/vars": true, "echo x >shown/below/vars": false, "rm -r shown": false, "touch shown/below/new": false,
		"echo x >>given/below/tree": true, "touch given/new": true, "mv given moved": false, "cat secret": false,
		"ls .": false, "touch new": false,
		`test "$HOME $TMPDIR" = "$PWD/home $PWD/tmp" -a -w "$HOME" -a -w "$TMPDIR"`: true,
		`test "$(id -u) $(id -G)" = "65534 65534"`:                                  true,
		"grep -q 'NoNewPrivs:.1' /proc/self/status":                                 true,
	} {
		program := shell(script)
		program.Dir, program.Env = dir, append(program.Env, "HOME="+os.Getenv("HOME"))
		if err := program.Run(t.Context()); (err == nil) != want {
			t.Errorf("%s: %v %v", script, err, program.Stderr)
		}
	}
	if info, err := os.Stat(outside); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("what a link leads to was given away: %v", err)
	}
	// A HOME that was set explicitly stays, and this process has lost no rights.
	program := shell(`test "$HOME" = /elsewhere`)
	program.Env = append(program.Env, "HOME=/elsewhere")
	if err := program.Run(t.Context()); err != nil {
		t.Error(err)
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t0") {
		t.Errorf("this process may get no new rights: %v", err)
	}
}

// TestTrapsForRoot checks that root reads no file on behalf of a program that the program could
// not read, even if the program replaces a file by a link.
func TestTrapsForRoot(t *testing.T) {
	dir := childtest.UseOtherUser(t)
	secret, tree := write(t, filepath.Join(dir, "install.key"), "the key"), filepath.Join(dir, "tree")
	for _, trap := range []string{"none", "symbolic link", "relative link", "hard link", "named pipe", "directory",
		"link to a directory"} {
		t.Run(trap, func(t *testing.T) {
			left := write(t, filepath.Join(tree, "below", "left"), "left")
			t.Cleanup(func() { _ = os.RemoveAll(tree) })
			if err := subprocess.GrantOwnership(tree); err != nil {
				t.Fatal(err)
			}
			err := os.Remove(left)
			switch trap {
			case "none":
				err = errors.Join(os.WriteFile(left, []byte("left"), 0o600), os.Lchown(left, 65534, 65534))
			case "symbolic link":
				err = errors.Join(err, os.Symlink(secret, left))
			case "relative link":
				err = errors.Join(err, os.Symlink("../../install.key", left))
			case "hard link": // a program may make one where fs.protected_hardlinks is 0
				err = errors.Join(err, os.Link(secret, left))
			case "named pipe":
				err = errors.Join(err, syscall.Mkfifo(left, 0o600))
			case "directory":
				err = errors.Join(err, os.Mkdir(left, 0o700))
			case "link to a directory":
				err = errors.Join(err, os.Remove(filepath.Dir(left)), os.Symlink(dir, filepath.Dir(left)),
					os.Link(secret, filepath.Join(dir, "left")))
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := subprocess.ReadUntrusted(tree, "below/left", 100)
			if (err == nil) != (trap == "none") || string(content) == "the key" {
				t.Errorf("read %q, %v", content, err)
			}
			files, err := artifact.ReadDir(tree, artifact.ReadOptions{Accept: subprocess.CheckOwner})
			for _, file := range files {
				if strings.Contains(string(file.Content), "key") {
					t.Errorf("packed the key: %v", err)
				}
			}
		})
	}
}
