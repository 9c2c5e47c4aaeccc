package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

// TestBuildsOfAnotherUser checks that root writes the settings of Buildah through no link that a program of another
// job put into the directory of the build, and that the program can read and not change them.
func TestBuildsOfAnotherUser(t *testing.T) {
	root := childtest.UseOtherUser(t)
	home, private := t.TempDir(), filepath.Join(root, "private")
	w := &workspace{dir: filepath.Join(root, "work", "build"), environ: []string{"HOME=" + home}}
	allowed := filepath.Join(home, userPolicy)
	if err := errors.Join(os.MkdirAll(filepath.Dir(allowed), 0o700), os.WriteFile(allowed, []byte("{}"), 0o600),
		os.WriteFile(private, []byte("the key"), 0o600), os.Mkdir(w.dir, 0o700),
		os.Symlink(private, w.path("registries.conf")), os.Symlink(private, w.path("policy.json")),
		subprocess.GrantOwnership(w.dir)); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() (string, error){"registries": w.registries, "policy": w.policy} {
		file, err := write()
		if err != nil {
			t.Fatal(err)
		}
		program := subprocess.Program{Path: "/bin/sh", Args: []string{"sh", "-c", `test -r "$0" && test ! -w "$0"`, file},
			Dir: w.dir, Name: "the script"}
		if err := program.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if content, err := os.ReadFile(private); err != nil || string(content) != "the key" {
		t.Errorf("root wrote %q through a link, %v", content, err)
	}
}
