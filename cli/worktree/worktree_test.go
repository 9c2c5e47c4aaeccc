package worktree

import (
	"os"
	"path/filepath"
	"slices"
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

// TestIgnoredFiles checks that the files of a work tree lack those that .gitignore or the user's own ignore file names,
// which is that of ~/.gitconfig or the one in the configuration directory.
func TestIgnoredFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // in the home directory
		want  []string
	}{
		"~/.gitconfig": {map[string]string{".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "# keys\n*.pem\n"},
			[]string{".gitignore", "a.toml"}},
		"~/.config": {map[string]string{".config/git/ignore": "# keys\n\n*.pem\n"}, []string{".gitignore", "a.toml"}},
		"neither":   {nil, []string{".gitignore", "a.toml", "key.pem"}},
	} {
		home, root := t.TempDir(), t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", "")
		for file, text := range c.files {
			write(t, filepath.Join(home, file), text)
		}
		if _, err := git.PlainInit(root, false); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{".gitignore": ".env\n", ".env": "k", "a.toml": "a", "key.pem": "k"} {
			write(t, filepath.Join(root, file), text)
		}
		r, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Files(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
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
