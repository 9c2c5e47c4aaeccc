package appconfig

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// minBroken is the minimum number of broken configs, so that the table cannot shrink unnoticed.
const minBroken = 100

// TestBroken compares the diagnostics of each config in testdata/broken with the expected ones. A
// file there has the files that differ from testdata/base.txtar, and the diagnostics in want. Its
// comment may have these lines:
//
//	without FILE         the base without that file; "everything": without all files
//	at REPOSITORY BRANCH where the config itself comes from
//	idle                 include the no-effect-yet warnings; by default they are left out
func TestBroken(t *testing.T) {
	base := brokenBase(t)
	files, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(files) < minBroken {
		t.Fatalf("found %d broken configs, want %d at least; %v", len(files), minBroken, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			broken, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir, options, idle := brokenConfig(t, base, broken)
			app, found := Load(dir, options)
			if (app == nil) != found.HasErrors() {
				t.Errorf("gave the app %v with %v", app, found)
			}
			checkTold(t, dir, found)
			got := told(found, idle)
			last := &broken.Files[len(broken.Files)-1]
			if golden.Updating() && got != string(last.Data) {
				last.Data = []byte(got)
				golden.Write(t, file, txtar.Format(broken))
			}
			if want := string(last.Data); got != want {
				t.Errorf("says, with + what nobody wanted and - what is missing:\n%s", changedLines(want, got))
			}
		})
	}
}

// TestBrokenBytes has the errors that need bytes which a text file of the repository cannot hold.
func TestBrokenBytes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a byte order mark and CRLF": {"metadata.toml", "\ufeffversion = \"v2\"\r\nversoin = \"v2\"\r\n",
			`metadata.toml:2:1: error: unknown key "versoin" (did you mean "version"?)`},
		"the mark is no column": {"metadata.toml", "\ufeffversoin = \"v2\"\nversion = \"v2\"",
			`metadata.toml:1:1: error: unknown key "versoin" (did you mean "version"?)`},
		"another encoding": {"metadata.toml", "version = \"v2\"\ndescription = \"gr\xf6\xdfe\"\n",
			"metadata.toml:2:18: error: the file is not UTF-8 text (save it as UTF-8)"},
		"UTF-16": {"metadata.toml", "\xff\xfev\x00e\x00",
			"metadata.toml:1:1: error: the file is not UTF-8 text (save it as UTF-8)"},
		"a NUL by escape": {"metadata.toml", "version = \"v2\"\ndescription = \"a\\u0000b\"\n",
			"metadata.toml:2:15: error: the text contains a NUL character"},
		"umlauts before the mistake": {"metadata.toml", "version = \"v2\"\nlabel_colors = { größe = 1, ring = [] }\n",
			"metadata.toml:2:20: error: TOML syntax: a key is followed by ="},
		"tabs before the mistake": {"metadata.toml", "version = \"v2\"\n\tversoin = 1\n",
			`metadata.toml:2:2: error: unknown key "versoin" (did you mean "version"?)`},
		"control characters in a key": {"metadata.toml", "version = \"v2\"\n\"a\\u001b[2Jb\" = 1\n",
			`metadata.toml:2:1: error: unknown key "a\x1b[2Jb" (known here: `},
	} {
		t.Run(name, func(t *testing.T) {
			dir := maps.Clone(brokenBase(t))
			dir[c.file] = &fstest.MapFile{Data: []byte(c.text)}
			_, found := Load(dir, Options{})
			if got, _, _ := strings.Cut(told(found, false), "\n"); !strings.HasPrefix(got, c.want) {
				t.Errorf("says %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestBrokenLink names the place of a reference that a link leads out of the repository.
func TestBrokenLink(t *testing.T) {
	dir := t.TempDir()
	for name, f := range brokenBase(t) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "README.md"), filepath.Join(dir, "READ.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../READ.md", filepath.Join(dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	_, found := Load(os.DirFS(dir), Options{})
	want := "metadata.toml:4:16: error: README.md cannot be read: a symbolic link on its path leads out of the config " +
		"directory, which is in no repository; put a copy in its place\n"
	if got := told(found, false); got != want {
		t.Errorf("says %s\nwant %s", got, want)
	}
}

// brokenBase returns the valid app that the broken ones are derived from.
func brokenBase(t *testing.T) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	base := fstest.MapFS{}
	for _, f := range archive.Files {
		base[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	if _, found := Load(base, Options{}); told(found, false) != "" {
		t.Fatalf("the base is not right:\n%s", told(found, false))
	}
	return base
}

// brokenConfig returns the config that an archive derives from the base.
func brokenConfig(t *testing.T, base fstest.MapFS,
	broken *txtar.Archive) (dir fstest.MapFS, options Options, idle bool) {
	t.Helper()
	dir = maps.Clone(base)
	for line := range strings.Lines(string(broken.Comment)) {
		switch words := strings.Fields(line); {
		case len(words) == 1 && words[0] == "idle":
			idle = true
		case len(words) == 2 && words[0] == "without" && words[1] == "everything":
			clear(dir)
		case len(words) == 2 && words[0] == "without":
			if dir[words[1]] == nil {
				t.Errorf("the base has no %s to be without", words[1])
			}
			delete(dir, words[1])
		case len(words) == 3 && words[0] == "at":
			options.Repository, options.Branch = words[1], words[2]
		}
	}
	last := len(broken.Files) - 1
	if last < 0 || broken.Files[last].Name != "want" {
		t.Fatal("the last file must be want")
	}
	for _, f := range broken.Files[:last] {
		dir[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return dir, options, idle
}

// told returns the diagnostics as printed.
func told(found Diagnostics, idle bool) string {
	var lines strings.Builder
	for _, d := range found {
		if idle || d.Rule != ruleNoEffectYet {
			lines.WriteString(d.String() + "\n")
		}
	}
	return lines.String()
}

// changedLines returns the lines that only one of two texts has.
func changedLines(want, got string) string {
	var changed strings.Builder
	wanted, said := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for _, line := range wanted {
		if !slices.Contains(said, line) {
			changed.WriteString("- " + line)
		}
	}
	for _, line := range said {
		if !slices.Contains(wanted, line) {
			changed.WriteString("+ " + line)
		}
	}
	return changed.String()
}

// checkTold checks that every diagnostic has a known rule, an existing position and a proper
// message.
func checkTold(t *testing.T, dir fs.FS, found Diagnostics) {
	t.Helper()
	for _, d := range found {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == d.Rule })
		switch {
		case i < 0:
			t.Errorf("%v: there is no rule %q", d, d.Rule)
		case rules[i].Warns && d.Severity != diagnostic.Warning:
			t.Errorf("%v: the rule %s only warns", d, d.Rule)
		case d.Message == "" || strings.ContainsAny(d.Message+d.Hint, "\n\r\t\x1b"):
			t.Errorf("%q is not a line that people can read", d.String())
		case strings.HasSuffix(d.Message, "."):
			t.Errorf("%v: the message ends with a full stop", d)
		}
		text, err := fs.ReadFile(dir, d.File)
		if err != nil { // the file is missing or a directory
			continue
		}
		lines := strings.Split(string(text), "\n")
		if d.Line > len(lines) || d.Column-1+d.Width > len(lines[d.Line-1]) {
			t.Errorf("%v: the place (%d bytes wide) is not in the file", d, d.Width)
		}
	}
}
