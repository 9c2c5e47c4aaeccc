package appconfig

import (
	"flag"
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
)

var update = flag.Bool("update", false, "write what is said of the broken configs into their files")

// leastBroken keeps the table of broken configs from shrinking without anybody seeing it.
const leastBroken = 100

// TestBroken says of each config below testdata/broken exactly what a person is told about it. A file of these holds what is other than
// in testdata/base.txtar, and in want the diagnostics. Lines of its comment can say:
//
//	without FILE         that file of the base is not there; "everything" for all of them
//	at REPOSITORY BRANCH where the config itself comes from
//	idle                 what has no effect yet is told, too; else those warnings are left out, being the same everywhere
func TestBroken(t *testing.T) {
	base := brokenBase(t)
	files, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(files) < leastBroken {
		t.Fatalf("found %d broken configs, want %d at least; %v", len(files), leastBroken, err)
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
			if *update && got != string(last.Data) {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(broken), 0o644); err != nil { //nolint:gosec // it is a file of the repository
					t.Fatal(err)
				}
			}
			if want := string(last.Data); got != want {
				t.Errorf("says, with + what nobody wanted and - what is missing:\n%s", changedLines(want, got))
			}
		})
	}
}

// TestBrokenBytes are the mistakes that a text file of the repository cannot hold.
func TestBrokenBytes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a byte order mark and CRLF":  {"metadata.toml", "\ufeffversion = \"v2\"\r\nversoin = \"v2\"\r\n", `metadata.toml:2:1: error: unknown key "versoin" (did you mean "version"?)`},
		"the mark is no column":       {"metadata.toml", "\ufeffversoin = \"v2\"\nversion = \"v2\"", `metadata.toml:1:1: error: unknown key "versoin" (did you mean "version"?)`},
		"another encoding":            {"metadata.toml", "version = \"v2\"\ndescription = \"gr\xf6\xdfe\"\n", "metadata.toml:2:18: error: the file is not UTF-8 text (save it as UTF-8)"},
		"UTF-16":                      {"metadata.toml", "\xff\xfev\x00e\x00", "metadata.toml:1:1: error: the file is not UTF-8 text (save it as UTF-8)"},
		"a NUL by escape":             {"metadata.toml", "version = \"v2\"\ndescription = \"a\\u0000b\"\n", "metadata.toml:2:15: error: the text contains a NUL character"},
		"umlauts before the mistake":  {"metadata.toml", "version = \"v2\"\nlabel_colors = { größe = 1, ring = [] }\n", "metadata.toml:2:20: error: TOML syntax: a key is followed by ="},
		"tabs before the mistake":     {"metadata.toml", "version = \"v2\"\n\tversoin = 1\n", `metadata.toml:2:2: error: unknown key "versoin" (did you mean "version"?)`},
		"control characters in a key": {"metadata.toml", "version = \"v2\"\n\"a\\u001b[2Jb\" = 1\n", `metadata.toml:2:1: error: unknown key "a\x1b[2Jb" (known here: `},
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

// TestBrokenLink: what a link leads to is not read, wherever that is.
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
	if err := os.Symlink("READ.md", filepath.Join(dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	_, found := Load(os.DirFS(dir), Options{})
	want := "metadata.toml:4:16: error: README.md cannot be read: it is a symbolic link, or below one, and links are not followed\n"
	if got := told(found, false); got != want {
		t.Errorf("says %s\nwant %s", got, want)
	}
}

// brokenBase is the app that the broken ones are made from, which is right.
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

// brokenConfig is the config that an archive makes of the base.
func brokenConfig(t *testing.T, base fstest.MapFS, broken *txtar.Archive) (dir fstest.MapFS, options Options, idle bool) {
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

// told gives the lines that a person reads.
func told(found Diagnostics, idle bool) string {
	var lines strings.Builder
	for _, d := range found {
		if idle || d.Rule != ruleIdle {
			lines.WriteString(d.String() + "\n")
		}
	}
	return lines.String()
}

// changedLines gives the lines that only one of two texts has.
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

// checkTold holds for whatever is told about any config: it has a known rule, a place that is there, and words for people.
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
		if err != nil { // it is about a file that is missing, or a directory
			continue
		}
		lines := strings.Split(string(text), "\n")
		if d.Line > len(lines) || d.Column-1+d.Width > len(lines[d.Line-1]) {
			t.Errorf("%v: the place (%d bytes wide) is not in the file", d, d.Width)
		}
	}
}
