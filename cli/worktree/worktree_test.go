package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
)

// TestOverHTTPS checks which URLs of remotes a control plane can read.
func TestOverHTTPS(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example/a/b": "https://git.example/a/b", "git@git.example:a/b.git": "https://git.example/a/b.git",
		"https://vera:secret@git.example/a": "", "/srv/git/a.git": "", "ssh://git@x/y": "",
	} {
		if got := OverHTTPS(url); got != want {
			t.Errorf("%s is %q, want %q", url, got, want)
		}
	}
}

// TestURL checks that the URL of a repository is that of its remote or, without one, that of its work tree.
func TestURL(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made, err := git.PlainInit(root, false)
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(root, "apps", "shop")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		r, err := Open(below)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.URL(); got != want || r.Dir != "apps/shop" {
			t.Errorf("it is %s, %s, want %s", got, r.Dir, want)
		}
	}
	check("file://" + root)
	remote := &config.RemoteConfig{Name: "origin", URLs: []string{"git@git.example:acme/shop.git"}}
	if _, err := made.CreateRemote(remote); err != nil {
		t.Fatal(err)
	}
	check("https://git.example/acme/shop.git")
}
