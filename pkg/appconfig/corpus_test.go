package appconfig

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// corpusWarnings are the rules that may cause warnings on real apps, and why a warning is enough.
// Any other warning about these apps is a bug of the checks.
var corpusWarnings = map[string]string{
	ruleNoEffectYet:         "a key or kind that is accepted and has no effect yet says so",
	ruleNoEffect:            "a key that has no effect where it stands says so",
	"unsupported-key":       "keys that people really write, and no version of the format knows",
	ruleChartVersion:        "a chart without a version is taken in the newest there is, once",
	ruleDeployLoop:          "an action that gives the same each time is no loop",
	ruleOldName:             "older spellings mean what they always did",
	ruleUndotted:            "an expression without a dot was always left as it is",
	ruleImageOutside:        "images that clusters pull from public registries work all the same",
	ruleInterpreter:         "the scripts of these apps are placeholders",
	ruleSensitive:           "a default that should not be in a file works all the same",
	"rego-empty":            "a policy without rules is evaluated to nothing",
	"rego-v0":               "Rego of before OPA 1.0 is read, too",
	"kyverno-unknown-field": "parts of policies that are not evaluated",
	"kyverno-not-evaluated": "parts of policies that are not evaluated",
}

// TestCorpus: every real app loads without an error, Load changes no file, the digest is the same
// each time and from another file system, and all warnings are expected. NUON_CORPUS is a
// directory with one app per subdirectory.
func TestCorpus(t *testing.T) {
	counts := tally{}
	for name, dir := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			before := contentsOf(t, dir)
			app, found := Load(os.DirFS(dir), Options{})
			if app == nil {
				t.Fatalf("is not right:\n%v", found.Err())
			}
			for _, d := range found {
				if corpusWarnings[d.Rule] == "" {
					t.Errorf("warns of what Decision 1 does not: %v (%s)", d, d.Rule)
				}
				counts.add("warnings", d.Rule)
			}
			checkTold(t, os.DirFS(dir), found)
			counts.app(app)
			counts.files(before)
			roundTrip(t, app)
			if again, _ := Load(os.DirFS(dir), Options{}); again.Digest() != app.Digest() {
				t.Error("the digest is another the second time")
			}
			if tree, told := Load(before, Options{}); tree == nil || tree.Digest() != app.Digest() ||
				told.String() != found.String() {
				t.Error("it is another app on another file system")
			}
			if after := contentsOf(t, dir); !maps.EqualFunc(before, after, func(a,
				b *fstest.MapFile) bool {
				return string(a.Data) == string(b.Data)
			}) {
				t.Error("loading changed its files")
			}
		})
	}
	t.Log(counts)
}

// corpus returns the directories of the apps by name.
func corpus(t *testing.T) map[string]string {
	t.Helper()
	root := os.Getenv("NUON_CORPUS")
	if root == "" {
		t.Skip("NUON_CORPUS is not set")
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{}
	for _, entry := range entries {
		if entry.IsDir() {
			dirs[entry.Name()] = filepath.Join(root, entry.Name())
		}
	}
	if len(dirs) == 0 {
		t.Fatalf("there is no app in %s", root)
	}
	return dirs
}

// contentsOf reads all files below a directory.
func contentsOf(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		all[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tally counts the parts of the apps by type and kind.
type tally map[string]map[string]int

func (c tally) add(what, kind string) { c.some(what, kind, 1) }

func (c tally) some(what, kind string, n int) {
	if n == 0 {
		return
	}
	if c[what] == nil {
		c[what] = map[string]int{}
	}
	c[what][kind] += n
}

func (c tally) app(app *App) {
	c.add("apps", "")
	if app.Runner != nil {
		c.add("runners", app.Runner.Type)
	}
	for i := range app.Components {
		c.add("components", app.Components[i].Kind)
	}
	for i := range app.Actions {
		c.add("actions", "")
		for _, trigger := range app.Actions[i].Triggers {
			c.add("triggers", trigger.Type)
		}
	}
	for _, role := range app.Permissions {
		c.add("roles", role.Type)
	}
	c.some("roles", "break glass", len(app.BreakGlass))
	for i := range app.Policies {
		c.add("policies", app.Policies[i].Engine+" "+app.Policies[i].Type)
	}
	c.some("inputs", "", len(app.Inputs))
	c.some("input groups", "", len(app.Groups))
	c.some("secrets", "", len(app.Secrets))
	c.some("runbooks", "", len(app.Runbooks))
	c.some("installs", "", len(app.Installs))
	c.some("files elsewhere", "", len(app.Remote))
}

func (c tally) files(all fstest.MapFS) {
	for name := range all {
		if section, _, nested := strings.Cut(name, "/"); strings.HasSuffix(name, ".toml") &&
			(!nested && isRootFile(name) || isSection(section)) {
			c.add("TOML files", strings.TrimSuffix(section, ".toml"))
		}
	}
}

// String returns one line per type with its count and the counts of its kinds.
func (c tally) String() string {
	var text strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c)) {
		all, kinds := 0, ""
		for _, kind := range slices.Sorted(maps.Keys(c[what])) {
			all += c[what][kind]
			if kind != "" {
				kinds += fmt.Sprintf(", %s %d", kind, c[what][kind])
			}
		}
		fmt.Fprintf(&text, "\n%s: %d%s", what, all, strings.Replace(kinds, ", ", ": ", 1))
	}
	return text.String()
}
