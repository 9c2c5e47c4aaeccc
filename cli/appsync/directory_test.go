package appsync

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	elsewhere "github.com/nuon-toolkit/nuon/pkg/configfetch"
)

// runGit runs git in a directory and returns its output.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c",
		"commit.gpgsign=false"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v (install git): %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repository creates a work tree with an app in apps/shop and a file outside of it,
// commits everything, and returns the directory and the commit.
func repository(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	runGit(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "README.md", "about\n")
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, "apps/shop/metadata.toml", "version = \"v2\"\n")
	write(t, dir, "apps/shop/components/web.toml", "name = \"web\"\n")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	return dir, runGit(t, dir, "rev-parse", "HEAD")
}

// TestCommitted checks that a directory is at a commit only if nothing below it
// differs from that commit. Files outside the directory do not matter.
func TestCommitted(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(dir string)
		differs string // the file that the error names, relative to the app's directory; empty for none
	}{
		"nothing": {func(string) {}, ""},
		"changed": {func(dir string) { write(t, dir, "apps/shop/metadata.toml", "version = \"v3\"\n") },
			"metadata.toml"},
		"changed and staged": {func(dir string) {
			write(t, dir, "apps/shop/metadata.toml", "#\n")
			runGit(t, dir, "add",
				".")
		}, "metadata.toml"},
		"untracked": {func(dir string) { write(t, dir, "apps/shop/installs/acme.toml", "#\n") },
			"installs/acme.toml"},
		"new and staged": {func(dir string) { write(t, dir, "apps/shop/new.toml", "#\n"); runGit(t, dir, "add", ".") },
			"new.toml"},
		"a name of two dots": {func(dir string) { write(t, dir, "apps/shop/..values", "#\n") }, "..values"},
		"deleted": {func(dir string) { runGit(t, dir, "rm", "-q", "apps/shop/components/web.toml") },
			"components/web.toml"},
		"deleted, unstaged": {func(dir string) {
			if err := os.Remove(filepath.Join(dir, "apps", "shop", "metadata.toml")); err != nil {
				t.Fatal(err)
			}
		}, "metadata.toml"},
		"moved out": {func(dir string) { runGit(t, dir, "mv", "apps/shop/metadata.toml", "metadata.toml") },
			"metadata.toml"},
		"moved in":    {func(dir string) { runGit(t, dir, "mv", "README.md", "apps/shop/README.md") }, "README.md"},
		"ignored":     {func(dir string) { write(t, dir, "apps/shop/build.log", "x") }, ""},
		"beside it":   {func(dir string) { write(t, dir, "README.md", "other\n") }, ""},
		"a like name": {func(dir string) { write(t, dir, "apps/shop-2/metadata.toml", "#\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, commit := repository(t)
			c.change(dir)
			got, err := committedAt(filepath.Join(dir, "apps", "shop"))
			if c.differs == "" {
				if err != nil || got != commit {
					t.Errorf("at %q, %v; want %q", got, err, commit)
				}
				return
			}
			if exitcode.CodeOf(err) != exitcode.Usage ||
				!strings.HasPrefix(err.Error(), filepath.FromSlash(c.differs)+" differs from commit "+commit[:7]) {
				t.Errorf("at %q, ended with %v", got, err)
			}
		})
	}
}

// TestCommittedElsewhere checks that the work tree is found from its root, through
// symbolic links, and in a linked work tree of a repository.
func TestCommittedElsewhere(t *testing.T) {
	dir, commit := repository(t)
	links := t.TempDir()
	for name, to := range map[string]string{"root": dir, "shop": filepath.Join(dir, "apps", "shop")} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	runGit(t, dir, "worktree", "add", "-q", "-b", "other", other)
	write(t, other, "apps/shop/more.toml", "#\n")
	runGit(t, other, "add", ".")
	runGit(t, other, "commit", "-q", "-m", "second")
	for place, want := range map[string]string{
		dir:                                  commit,
		filepath.Join(links, "root"):         commit,
		filepath.Join(links, "root", "apps"): commit,
		filepath.Join(links, "shop"):         commit,
		filepath.Join(other, "apps", "shop"): runGit(t, other, "rev-parse", "HEAD"),
	} {
		if got, err := committedAt(place); err != nil || got != want {
			t.Errorf("%s is at %q, %v; want %q", place, got, err, want)
		}
	}
	write(t, dir, "apps/shop/new.toml", "#\n")
	for _, place := range []string{filepath.Join(links, "root"), filepath.Join(links, "shop")} {
		if _, err := committedAt(place); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("a change in %s ended with %v", place, err)
		}
	}
}

// TestNotCommitted checks that the error states what to do if there is no work tree or no commit.
func TestNotCommitted(t *testing.T) {
	empty := t.TempDir()
	runGit(t, empty, "init", "-q")
	for dir, says := range map[string]string{t.TempDir(): "nuon sync --app NAME", empty: "commit and push"} {
		if got, err := committedAt(dir); exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("at %q, ended with %v; want %q", got, err, says)
		}
	}
}

// unpack returns the files of a tar+gzip by name.
func unpack(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for a := tar.NewReader(z); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			files[h.Name] = "-> " + h.Linkname
			continue
		}
		if h.Typeflag != tar.TypeReg || h.Mode != 0o644 || int64(len(b)) != h.Size || !h.ModTime.IsZero() &&
			h.ModTime.Unix() != 0 || h.Uname != "" {
			t.Errorf("%s is packed with %+v", h.Name, h)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is packed twice", h.Name)
		}
		files[h.Name] = string(b)
	}
}

// TestPack checks that an upload contains only regular files and links between them: no repository, no
// provider caches, and no links that lead out.
func TestPack(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "hush")
	want := map[string]string{
		"metadata.toml":                        "version = \"v2\"\n",
		"components/web.toml":                  "name = \"web\"\n",
		"empty":                                "",
		".hidden":                              "h",
		"modules/big.bin":                      strings.Repeat("0123456789abcdef", 1<<16),
		"ünïcode/a file.toml":                  "u",
		"gitignored.log":                       "l",
		strings.Repeat("d/", 60) + "deep.toml": "deep",
	}
	for file, text := range want {
		write(t, dir, file, text)
	}
	for _, file := range []string{".git/config", "modules/.git", "modules/a/.git/HEAD",
		"modules/a/.terraform/provider"} {
		write(t, dir, file, "no")
	}
	for name, to := range map[string]string{"link": filepath.Join(outside, "secret"), "inside": "metadata.toml",
		"tree": outside, "loop": ".", "nowhere": "none", "modules/up": "../ünïcode//./", "modules/out": "../../secret",
		"modules/through": "up/../gitignored.log"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want["inside"], want["modules/up"] = "-> metadata.toml", "-> ../ünïcode"
	if err := os.Chmod(filepath.Join(dir, "metadata.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(outside, "notes.md")
	if err := os.WriteFile(notes, []byte("# Notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := []appconfig.RemoteFile{{Reference: "file://" + notes, Bytes: 8},
		{Reference: "https://example.com/readme.md", Bytes: 3}}
	want[elsewhere.UploadPath(far[0].Reference)] = "# Notes\n"
	at := directory{path: dir, config: &appconfig.App{Remote: far}, allowed: []string{outside}}
	first, err := at.pack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kept bytes.Buffer
	if d := cmp.Diff(want, unpack(t, io.TeeReader(first, &kept))); d != "" {
		t.Errorf("packed (-want +got)\n%s", d)
	}
	second, err := at.pack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := io.ReadAll(second); err != nil || !bytes.Equal(again, kept.Bytes()) {
		t.Errorf("the same directory is packed differently: %v", err)
	}
}

// TestLinkedConfig checks that a config may have links to files of its directory, which an upload contains, and that
// one to a file outside of it is an error before anything is sent.
func TestLinkedConfig(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	const module = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \"acme/x\"\ndirectory = \".\"\n" +
		"branch = \"main\"\n"
	write(t, dir, "metadata.toml", "version = \"v2\"\n")
	write(t, dir, "runner.toml", "runner_type = \"aws\"\n")
	write(t, dir, "shared/sandbox.toml", module)
	write(t, outside, "web.toml", "type = \"terraform_module\"\nname = \"web\"\n"+module)
	if err := os.Symlink("shared/sandbox.toml", filepath.Join(dir, "sandbox.toml")); err != nil {
		t.Fatal(err)
	}
	app, found, err := validate.Load(t.Context(), dir)
	if err != nil || found.HasErrors() {
		t.Fatalf("%v %v", found, err)
	}
	packed, err := directory{path: dir, config: app}.pack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := unpack(t, packed)["sandbox.toml"]; got != "-> shared/sandbox.toml" {
		t.Errorf("the link is packed as %q", got)
	}
	write(t, dir, "components/note.md", "")
	if err := os.Symlink(filepath.Join(outside, "web.toml"), filepath.Join(dir, "components", "web.toml")); err != nil {
		t.Fatal(err)
	}
	if _, found, err := validate.Load(t.Context(), dir); err != nil || !found.HasErrors() ||
		!strings.Contains(found.String(), "components/web.toml") || !strings.Contains(found.String(), "link") {
		t.Errorf("a link out: %v %v", found, err)
	}
}

// TestPackNothing checks that the error for a missing directory names it.
func TestPackNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if _, err := (directory{path: none, config: &appconfig.App{}}).pack(t.Context()); err == nil ||
		!strings.Contains(err.Error(), none) {
		t.Errorf("ended with %v", err)
	}
}
