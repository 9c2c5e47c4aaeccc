package sourcedir

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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
