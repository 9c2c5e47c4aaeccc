package sourcedir

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/moby/patternmatcher"
	"pgregory.net/rapid"
)

// hashedTree is a tree whose files have hashes.
type hashedTree struct{ fstest.MapFS }

// Hash returns a fixed text: only directories without an ignore file use it.
func (hashedTree) Hash(string) (string, bool) { return "directory", true }

// FileHash returns the hash of a file.
func (h hashedTree) FileHash(name string) (string, bool) {
	file, exists := h.MapFS[name]
	if !exists {
		return "", false
	}
	sum := sha256.Sum256(file.Data)
	return hex.EncodeToString(sum[:]), true
}

// contextOf returns the files of the context in a, and its hash.
func contextOf(t *testing.T, files map[string]string) (names, hash string) {
	t.Helper()
	tree := hashedTree{treeOf(files)}
	found, err := Code{Kind: Context, Directory: "a", Dockerfile: "build/Dockerfile"}.Find(tree, "the repository")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := found.Sources(tree, "the repository")
	if err != nil {
		t.Fatal(err)
	}
	skip, all := found.Skip(), []string{}
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && skip(name, entry) && entry.IsDir():
			return fs.SkipDir
		case !entry.IsDir() && !skip(name, entry):
			all = append(all, strings.TrimPrefix(name, "a/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, " "), sources[0].Tree
}

// TestContexts: the ignore file decides what is in a build context, by the rules of builders.
func TestContexts(t *testing.T) {
	base := map[string]string{"a/build/Dockerfile": "FROM scratch", "a/x.go": "x", "a/x.md": "m", "a/y/z.md": "z",
		"a/node_modules/p/q.js": "q", "b/other": "o"}
	for name, test := range map[string]struct{ ignore, want string }{
		"nothing":         {"", ".dockerignore build/Dockerfile node_modules/p/q.js x.go x.md y/z.md"},
		"the top":         {"*.md\nnode_modules", ".dockerignore build/Dockerfile x.go y/z.md"},
		"any depth":       {"**/*.md\n/node_modules/\n# no", ".dockerignore build/Dockerfile x.go"},
		"all but one":     {"*\n!y\n", "y/z.md"},
		"a file in it":    {"*\n!node_modules/p/q.js\n", "node_modules/p/q.js"},
		"the Dockerfile":  {"build\n.dockerignore\nnode_modules\ny", "x.go x.md"},
		"outside":         {"../b\n/../b/other\n**/q.js", ".dockerignore build/Dockerfile x.go x.md y/z.md"},
		"the last counts": {"!x.go\n*.go\n**/*.md\n**/*.js", ".dockerignore build/Dockerfile"},
	} {
		files := map[string]string{"a/.dockerignore": test.ignore}
		for path, text := range base {
			files[path] = text
		}
		want := test.want
		got, hash := contextOf(t, files)
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		for path, counts := range map[string]bool{"a/build/Dockerfile": true, "b/other": false,
			"a/x.go": strings.Contains(want, "x.go"),
			"a/x.md": strings.Contains(want, "x.md"), "a/node_modules/p/q.js": strings.Contains(want, "q.js")} {
			before := files[path]
			files[path] += "changed"
			if _, other := contextOf(t, files); (other != hash) != counts {
				t.Errorf("%s: a change of %s counts: %t, want %t", name, path, other != hash, counts)
			}
			files[path] = before
		}
	}
	files := map[string]string{"a/build/Dockerfile.dockerignore": "*.md", "a/.dockerignore": "*.go"}
	for path, text := range base {
		files[path] = text
	}
	if got, _ := contextOf(t, files); !strings.Contains(got, "x.go") || strings.Contains(got, "x.md") {
		t.Errorf("the ignore file of the Dockerfile does not win: %s", got)
	}
	if _, hash := contextOf(t, base); hash != "directory" {
		t.Errorf("without an ignore file, the directory counts, not %s", hash)
	}
}

// TestParentsAreMatchedOnce compares matching in the order of a walk with matching each path alone.
func TestParentsAreMatchedOnce(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "c"})
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(rapid.StringMatching(`(\*\*/)?[abc*?]{1,2}(/[abc*]{1,2})?`), 1, 4).Draw(t, "patterns")
		tree := fstest.MapFS{}
		for range rapid.IntRange(1, 8).Draw(t, "files") {
			name := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "file"), "/")
			tree["x/"+name+".f"] = &fstest.MapFile{}
		}
		matcher, err := patternmatcher.New(patterns)
		if err != nil {
			t.Skip(err)
		}
		alone, err := patternmatcher.New(patterns)
		if err != nil {
			t.Fatal(err)
		}
		ignored := &ignoreFile{directory: "x", matcher: matcher, budget: maxMatching}
		err = fs.WalkDir(tree, "x", func(name string, entry fs.DirEntry, err error) error {
			below, inside := strings.CutPrefix(name, "x/")
			if err != nil || !inside {
				return err
			}
			want, err := alone.MatchesOrParentMatches(below)
			if got := ignored.skips(name, entry); err != nil || got != want {
				t.Fatalf("%q: %s is ignored: %t, want %t, %v", patterns, below, got, want, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestWorkOfAnIgnoreFile checks that matching ends with an error that names the ignore file, and that
// deep files do not match the directories above them again and again.
func TestWorkOfAnIgnoreFile(t *testing.T) {
	deep := strings.Repeat("d/", 100)
	tree := hashedTree{treeOf(map[string]string{"a/.dockerignore": strings.Repeat("*.md\n", 100), "a/" + deep + "f1": "",
		"a/" + deep + "f2": "", "a/" + deep + "f3": ""})}
	found, err := Code{Kind: Context, Directory: "a"}.Find(tree, "the repository")
	if err != nil {
		t.Fatal(err)
	}
	skip, walked := found.Skip(), 0
	err = fs.WalkDir(tree, "a", func(name string, entry fs.DirEntry, err error) error {
		walked += len(name)
		if skip(name, entry) {
			t.Errorf("%s is ignored", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if used := (maxMatching - found.ignored.budget) / 100; used > 2*walked {
		t.Errorf("the work is %d for names of %d bytes: directories are matched for each file", used, walked)
	}

	info, err := fs.Stat(tree, "a/"+deep+"f1")
	if err != nil {
		t.Fatal(err)
	}
	file := fs.FileInfoToDirEntry(info)
	found.ignored.budget = 1000
	for range 20 {
		skip("a/"+deep+"f1", file)
	}
	const want = "a/.dockerignore has too many patterns (100)"
	if err := found.ignored.failed; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("too much work: %v, want %q", err, want)
	}
	if _, err := found.Sources(tree, "the repository"); err == nil || !strings.Contains(err.Error(), "use fewer") {
		t.Errorf("the hash of files that could not be matched: %v", err)
	}
}
