package contexts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// file sets NUON_CONFIG to a new path and clears the other variables; if text
// is not empty, it writes the file.
func file(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "nuon", "config.toml")
	t.Setenv("NUON_CONFIG", p)
	for _, name := range []string{"NUON_URL", "NUON_TOKEN", "NUON_CONTEXT"} {
		t.Setenv(name, "")
	}
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

const two = `current = "prod"
[contexts.prod]
url = "http://prod"
token = "p"
org = "acme"
[contexts.dev]
url = "http://dev"
token = "d"
`

// TestChosen checks the precedence: the environment, the flag, the current context.
func TestChosen(t *testing.T) {
	prod, dev := Context{URL: "http://prod", Token: "p", Org: "acme"}, Context{URL: "http://dev", Token: "d"}
	for name, c := range map[string]struct {
		file, flag         string
		url, token, choose string // the environment
		want               Context
		code               int
		says               string
	}{
		"the current one":           {file: two, want: prod},
		"the flag":                  {file: two, flag: "dev", want: dev},
		"NUON_CONTEXT":              {file: two, choose: "dev", want: dev},
		"the flag and NUON_CONTEXT": {file: two, flag: "prod", choose: "dev", want: prod},
		"the environment alone":     {url: "http://ci", token: "c", want: Context{URL: "http://ci", Token: "c"}},
		"the environment and file": {file: two, url: "http://ci", token: "c",
			want: Context{URL: "http://ci", Token: "c"}},
		"the environment and flag": {file: two, flag: "dev", url: "http://ci", token: "c",
			want: Context{URL: "http://ci", Token: "c"}},
		"another token": {file: two, flag: "dev", token: "c", want: Context{URL: "http://dev", Token: "c"}},
		"another address": {file: two, url: "http://ci",
			want: Context{URL: "http://ci", Token: "p", Org: "acme"}},
		"a broken file is not read": {file: "[", url: "http://ci", token: "c",
			want: Context{URL: "http://ci", Token: "c"}},
		"nothing":                 {code: exitcode.Unreachable, says: "nuon context add"},
		"an address alone":        {url: "http://ci", code: exitcode.Unreachable, says: "NUON_TOKEN"},
		"an unknown one":          {file: two, flag: "stage", code: exitcode.Usage, says: `context "stage" not found`},
		"a current one that went": {file: `current = "old"`, code: exitcode.Usage, says: `context "old" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			file(t, c.file)
			t.Setenv("NUON_URL", c.url)
			t.Setenv("NUON_TOKEN", c.token)
			t.Setenv("NUON_CONTEXT", c.choose)
			got, err := Select(c.flag)
			if exitcode.CodeOf(err) != c.code || (err != nil && !strings.Contains(err.Error(), c.says)) {
				t.Fatalf("ended with %v, want code %d and %q", err, c.code, c.says)
			}
			if err == nil && got != c.want {
				t.Errorf("chose %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestABrokenFileNamesItsPlace checks that the error has the file, line and
// column, and never the token.
func TestABrokenFileNamesItsPlace(t *testing.T) {
	for name, text := range map[string]string{
		"no TOML":    "current = \"a\"\n[contexts.a]\nurl = http://x\ntoken = \"hush\"\n",
		"wrong kind": "current = \"a\"\n[contexts.a]\nurl = 3\ntoken = \"hush\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := file(t, text)
			_, err := Load()
			if exitcode.CodeOf(err) != exitcode.Usage || !strings.HasPrefix(err.Error(), p+":3:") {
				t.Errorf("ended with %v", err)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("shows a token: %v", err)
			}
		})
	}
}

// TestLoadWithoutAFile checks that a missing file is an empty one that can be saved.
func TestLoadWithoutAFile(t *testing.T) {
	for _, text := range []string{"", "current = \"\"\n"} {
		file(t, text)
		f, err := Load()
		if err != nil || f.Contexts == nil || len(f.Contexts) != 0 {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

// TestSave checks that Load reads what Save wrote, that the file is readable only
// by its owner even if it was not before, and that no temporary file remains.
func TestSave(t *testing.T) {
	p := file(t, two)
	for _, leftover := range []string{p, p + ".new"} {
		if err := os.WriteFile(leftover, []byte(two), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(leftover, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := File{Current: "new", Contexts: map[string]Context{"new": {URL: "http://new", Token: `quote " and \`}}}
	if err := want.Save(); err != nil {
		t.Fatal(err)
	}
	got, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	info, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestSaveMakesItsDirectory checks that Save creates the directory, accessible only by its owner.
func TestSaveMakesItsDirectory(t *testing.T) {
	p := file(t, "")
	if err := (File{}).Save(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Dir(p))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	if all, err := os.ReadDir(filepath.Dir(p)); err != nil || len(all) != 1 {
		t.Errorf("left beside it: %v, %v", all, err)
	}
}

// TestSaveWholeOrNotAtAll checks that a failed save leaves the old file and no temporary file.
func TestSaveWholeOrNotAtAll(t *testing.T) {
	p := file(t, "")
	if err := os.MkdirAll(filepath.Join(p, "in the way"), 0o700); err != nil { // a directory that cannot be replaced
		t.Fatal(err)
	}
	if err := (File{Current: "x"}).Save(); err == nil || !strings.Contains(err.Error(), "save contexts") {
		t.Errorf("ended with %v", err)
	}
	if all, err := os.ReadDir(filepath.Dir(p)); err != nil || len(all) != 1 {
		t.Errorf("left beside it: %v, %v", all, err)
	}
}

// TestSaveFollowsALink checks that Save replaces the target of a link, as in a
// repository of settings.
func TestSaveFollowsALink(t *testing.T) {
	p := file(t, "")
	real := filepath.Join(t.TempDir(), "settings.toml")
	if err := os.WriteFile(real, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, p); err != nil {
		t.Fatal(err)
	}
	if err := (File{Current: "x"}).Save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(p); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if b, err := os.ReadFile(real); err != nil || !strings.Contains(string(b), "x") {
		t.Errorf("%q, %v", b, err)
	}
}

// TestPath checks that the default path is in the platform's configuration directory.
func TestPath(t *testing.T) {
	t.Setenv("NUON_CONFIG", "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	p, err := Path()
	if err != nil || filepath.Base(p) != "config.toml" || !strings.HasPrefix(p, home) {
		t.Errorf("%q, %v", p, err)
	}
	t.Setenv("NUON_CONFIG", "/elsewhere.toml")
	if p, err := Path(); err != nil || p != "/elsewhere.toml" {
		t.Errorf("%q, %v", p, err)
	}
}

// TestCacheFile checks that no two addresses or tokens share a file, and that its name contains
// neither.
func TestCacheFile(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	files := map[string]bool{}
	for _, c := range []Context{{URL: "https://a", Token: "one"}, {URL: "https://a", Token: "two"},
		{URL: "https://b", Token: "one"}, {URL: "https://a"}} {
		file := c.CacheFile()
		if files[file] || strings.Contains(file, "one") && c.Token == "one" || file != c.CacheFile() {
			t.Errorf("%s for %+v", file, c)
		}
		files[file] = true
	}
}
