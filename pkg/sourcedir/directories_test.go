package sourcedir

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// treeOf builds a tree from files by path. A text that starts with "-> " is a link.
func treeOf(files map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
		if target, is := strings.CutPrefix(text, "-> "); is {
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
	}
	return tree
}

func needing(repository string) string {
	return "name: a\ndependencies:\n- name: b\n  repository: " + repository + "\n"
}

func TestChartDirectories(t *testing.T) {
	chain := map[string]string{}
	for i := range maxDirectories + 2 {
		chain[fmt.Sprintf("c%d/Chart.yaml", i)] = needing(fmt.Sprintf("file://../c%d", i+1))
	}
	chain["a/Chart.yaml"] = needing("file://../c0")
	for name, c := range map[string]struct {
		files   map[string]string
		want    []string
		problem string
	}{
		"alone": {files: map[string]string{"a/Chart.yaml": "name: a\n"}, want: []string{"a"}},
		"elsewhere": {files: map[string]string{"a/Chart.yaml": needing("https://x") +
			"- name: c\n  repository: oci://y\n- name: d\n  repository: \"@z\"\n- name: e\n"}, want: []string{"a"}},
		"beside": {files: map[string]string{"a/Chart.yaml": needing("file://../b"),
			"b/Chart.yaml": needing("file://../lib/c"), "lib/c/Chart.yaml": "{}"}, want: []string{"a", "b", "lib/c"}},
		"inside": {files: map[string]string{"a/Chart.yaml": needing("file://charts/b"),
			"a/charts/b/Chart.yaml": "{}"}, want: []string{"a", "a/charts/b"}},
		"of an older chart": {files: map[string]string{"a/Chart.yaml": "name: a",
			"a/requirements.yaml": needing("file://../b"), "b/Chart.yaml": "{}"}, want: []string{"a", "b"}},
		"in a circle": {files: map[string]string{"a/Chart.yaml": needing("file://../b"),
			"b/Chart.yaml": needing("file://../a")}, want: []string{"a", "b"}},
		"put below charts": {files: map[string]string{"a/Chart.yaml": needing("file://../b"),
			"a/charts/b-1.0.0.tgz": "x"}, want: []string{"a"}},
		"of a chart inside": {files: map[string]string{"a/Chart.yaml": "",
			"a/charts/b/Chart.yaml": needing("file://../../../c"), "c/Chart.yaml": ""}, want: []string{"a", "c"}},
		"vendored inside": {files: map[string]string{"a/Chart.yaml": "",
			"a/charts/c/Chart.yaml": needing("file://../b"), "a/charts/c/charts/b/Chart.yaml": ""},
			want: []string{"a"}},
		"out of a vendored": {files: map[string]string{"a/Chart.yaml": "",
			"a/charts/c/Chart.yaml": needing("file://../../../../b"), "a/charts/c/charts/b/Chart.yaml": ""},
			want: []string{"a"}},
		"by an alias": {files: map[string]string{"a/Chart.yaml": "home: &b file://../b\n" + needing("*b"),
			"b/Chart.yaml": ""}, want: []string{"a", "b"}},
		"a link": {files: map[string]string{"a/Chart.yaml": needing("file://../l"), "l": "-> b",
			"b/Chart.yaml": ""}, problem: `a/Chart.yaml:4: dependency "b" is in l, which is a symbolic link`},
		"no chart": {files: map[string]string{"a/x": ""}, problem: "there is no Chart.yaml in a; commit"},
		"dependency no chart": {files: map[string]string{"a/Chart.yaml": needing("file://../b"), "b/x": ""},
			problem: "there is no Chart.yaml in b;"},
		"not there": {files: map[string]string{"a/Chart.yaml": needing("file://../b")},
			problem: `a/Chart.yaml:4: dependency "b" is in b, which is not there`},
		"climbs": {files: map[string]string{"a/Chart.yaml": needing("file://../../b")},
			problem: `a/Chart.yaml:4: dependency "b" leads out of the repository`},
		"absolute": {files: map[string]string{"a/Chart.yaml": needing("file:///etc")},
			problem: `a/Chart.yaml:4: dependency "b" leads out of the repository`},
		"no YAML": {files: map[string]string{"a/Chart.yaml": "name: a\nhunter2: [\n"}, problem: "a/Chart.yaml:"},
		"another shape": {files: map[string]string{"a/Chart.yaml": "dependencies: hunter2\n"},
			problem: "a/Chart.yaml:1: this is not the YAML that is wanted here"},
		"a bomb": {files: map[string]string{"a/Chart.yaml": bomb()}, problem: "this is not the YAML"},
		"too large": {files: map[string]string{"a/Chart.yaml": strings.Repeat("#", maxYAML+1)},
			problem: "are the most"},
		"no file": {files: map[string]string{"a/Chart.yaml/x": ""}, problem: "a/Chart.yaml is no file"},
		"many":    {files: chain, problem: "the chart in a depends on more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chartDirectories(treeOf(c.files), "a")
			checkDirectories(t, got, err, c.want, c.problem)
		})
	}
}

func checkDirectories(t *testing.T, got []string, err error, want []string, problem string) {
	t.Helper()
	if problem == "" {
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, %v, want the problem %q", got, err, problem)
	}
}

// bomb returns a small YAML text that expands to a large value.
func bomb() string {
	var b strings.Builder
	b.WriteString("l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i), 10), ","))
	}
	return b.String() + "dependencies: *l9\n"
}

func TestKustomizeDirectories(t *testing.T) {
	chain := map[string]string{"k/kustomization.yaml": "bases: [../c0]"}
	for i := range maxDirectories + 2 {
		chain[fmt.Sprintf("c%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../c%d]", i+1)
	}
	for name, c := range map[string]struct {
		files   map[string]string
		want    []string
		problem string
	}{
		"alone": {files: map[string]string{"k/Kustomization": "resources: [a.yaml, b/c.yaml]\npatches: [{path: p.yaml}]\n",
			"k/a.yaml": "", "k/b/c.yaml": ""}, want: []string{"k"}},
		"nothing": {files: map[string]string{"k/kustomization.yml": ""}, want: []string{"k"}},
		"bases": {files: map[string]string{"k/kustomization.yaml": "bases: [../b]\ncomponents: [../c]\n",
			"b/kustomization.yaml": "resources: [../c]", "c/kustomization.yaml": "{}"}, want: []string{"b", "c", "k"}},
		"in a circle": {files: map[string]string{"k/kustomization.yaml": "resources: [../b]",
			"b/kustomization.yaml": "resources: [../k]"}, want: []string{"b", "k"}},
		"a file beside": {files: map[string]string{"k/kustomization.yaml": "resources: [../x/a.yaml]", "x/a.yaml": ""},
			want: []string{"k", "x"}},
		"written out": {files: map[string]string{"k/kustomization.yaml": "transformers:\n- |\n  apiVersion: x\n- " +
			"{kind: y}\n"}, want: []string{"k"}},
		"two of them": {files: map[string]string{"k/kustomization.yaml": "", "k/Kustomization": ""},
			problem: "both k/kustomization.yaml and k/Kustomization are there"},
		"none":         {files: map[string]string{"k/x": ""}, problem: "there is no kustomization.yaml in k"},
		"no directory": {files: map[string]string{"x": ""}, problem: "there is no kustomization.yaml in k"},
		"a base without": {files: map[string]string{"k/kustomization.yaml": "resources: [../b]", "b/x": ""},
			problem: "there is no kustomization.yaml in b"},
		"remote": {files: map[string]string{"k/kustomization.yaml": "resources:\n- https://github.com/a/b//c?ref=main\n"},
			problem: `k/kustomization.yaml:2: there is no "https://github.com/a/b//c?ref=main" in the repository, and a build fetches nothing`},
		"remote, short": {files: map[string]string{"k/kustomization.yaml": "resources: [github.com/a/b]\n"},
			problem: `there is no "github.com/a/b" in the repository`},
		"climbs": {files: map[string]string{"k/kustomization.yaml": "resources: [../../b]\n"},
			problem: "k/kustomization.yaml:1: ../b leads out of the repository"},
		"absolute": {files: map[string]string{"k/kustomization.yaml": "resources: [/etc/passwd]\n"},
			problem: "leads out of the repository"},
		"another shape": {files: map[string]string{"k/kustomization.yaml": "resources: hunter2\n"},
			problem: "k/kustomization.yaml:1: this is not the YAML"},
		"a bomb": {files: map[string]string{"k/kustomization.yaml": strings.Replace(bomb(), "dependencies",
			"resources", 1)}, want: []string{"k"}},
		"an alias": {files: map[string]string{"k/kustomization.yaml": "bases: [&b ../b]\nresources: [*b]\n",
			"b/kustomization.yaml": ""}, want: []string{"b", "k"}},
		"many": {files: chain, problem: "the kustomization in k is made from more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kustomizeDirectories(treeOf(c.files), "k")
			checkDirectories(t, got, err, c.want, c.problem)
		})
	}
	if _, err := kustomizeDirectories(treeOf(nil), "../k"); err == nil {
		t.Error("a path out of the repository is taken")
	}
}

// TestLinkedDirectories checks that the targets of links in a component are packed with it and are
// part of its identity.
func TestLinkedDirectories(t *testing.T) {
	chain := map[string]string{"a/Chart.yaml": "", "a/l": "-> ../r0/l"}
	many := map[string]string{"a/Chart.yaml": ""}
	for i := range maxDirectories + 2 {
		chain[fmt.Sprintf("r%d/l", i)] = fmt.Sprintf("-> ../r%d/l", i+1)
		many[fmt.Sprintf("a/l%d", i)] = fmt.Sprintf("-> ../d%d", i)
		many[fmt.Sprintf("d%d/x", i)] = ""
	}
	for name, c := range map[string]struct {
		files   map[string]string
		want    []string
		problem string
	}{
		"a chart": {files: map[string]string{"a/Chart.yaml": "", "a/charts/b": "-> ../../b",
			"b/Chart.yaml": ""}, want: []string{"a", "b"}},
		"a file": {files: map[string]string{"a/Chart.yaml": "", "a/values.yaml": "-> ../shared/v.yaml",
			"shared/v.yaml": ""}, want: []string{"a", "shared"}},
		"inside": {files: map[string]string{"a/Chart.yaml": "", "a/l": "-> files/x",
			"a/files/x": ""}, want: []string{"a"}},
		"through another": {files: map[string]string{"a/Chart.yaml": "", "a/l": "-> ../m/now/x", "m/now": "-> ../v2",
			"v2/x": ""}, want: []string{"a", "m", "v2"}},
		"of what is added": {files: map[string]string{"a/Chart.yaml": "", "a/l": "-> ../b", "b/m": "-> ../c/x",
			"c/x": ""}, want: []string{"a", "b", "c"}},
		"nowhere": {files: map[string]string{"a/Chart.yaml": "", "a/l": "-> ../b", "a/m": "-> ../../b",
			"a/n": "-> /etc", "a/o": "-> o"}, want: []string{"a"}},
		"a dependency's": {files: map[string]string{"a/Chart.yaml": needing("file://../b"), "b/Chart.yaml": "",
			"b/l": "-> ../c", "c/x": ""}, want: []string{"a", "b", "c"}},
		"too many":     {files: many, problem: "symbolic links in a lead to more than"},
		"a long chain": {files: chain, problem: "symbolic links in a lead to more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chartDirectories(treeOf(c.files), "a")
			checkDirectories(t, got, err, c.want, c.problem)
		})
	}
	got, err := kustomizeDirectories(treeOf(map[string]string{"k/kustomization.yaml": "resources: [x.yaml]",
		"k/x.yaml": "-> ../s/x.yaml", "s/x.yaml": ""}), "k")
	checkDirectories(t, got, err, []string{"k", "s"}, "")
}

// countingTree counts the links and the lists of directories that are read.
type countingTree struct {
	fstest.MapFS
	links, lists int
}

func (c *countingTree) ReadDir(name string) ([]fs.DirEntry, error) {
	c.lists++
	return c.MapFS.ReadDir(name)
}

func (c *countingTree) ReadLink(name string) (string, error) {
	c.links++
	return c.MapFS.ReadLink(name)
}

// TestTooManyLinksAreNotFollowed checks that the search ends at the limit, and does not follow all
// links of a directory first: each further directory is compared with all before it.
func TestTooManyLinksAreNotFollowed(t *testing.T) {
	files := map[string]string{"a/Chart.yaml": ""}
	for i := range 10 * maxDirectories {
		files[fmt.Sprintf("a/l%d", i)] = fmt.Sprintf("-> ../d%d", i)
		files[fmt.Sprintf("d%d/x", i)] = ""
	}
	tree := &countingTree{MapFS: treeOf(files)}
	if _, err := chartDirectories(tree, "a"); err == nil || !strings.Contains(err.Error(), "put copies in their place") {
		t.Errorf("got %v", err)
	}
	if tree.links > maxDirectories {
		t.Errorf("%d links are followed, and %d directories are the most", tree.links, maxDirectories)
	}
}

// TestVendoredChartsAreListedOnce checks that a chart with many dependencies reads its charts/ only
// once, which may have many entries, too.
func TestVendoredChartsAreListedOnce(t *testing.T) {
	tree := &countingTree{MapFS: treeOf(map[string]string{"a/charts/b/Chart.yaml": "", "a/charts/c-d-1.0.0-rc.1.tgz": "",
		"a/Chart.yaml": needing("file://../gone") + strings.Repeat("- name: c-d\n  repository: file://../gone\n", 500)})}
	got, err := chartDirectories(tree, "a")
	checkDirectories(t, got, err, []string{"a"}, "")
	if tree.lists > 10 {
		t.Errorf("directories are listed %d times", tree.lists)
	}
	for _, name := range []string{"c", "c-d-1.0.0", "c-d-1.0.0-rc.1.tgz", "b"} {
		tree.MapFS["a/Chart.yaml"].Data = []byte("dependencies:\n- name: " + name + "\n  repository: file://../gone\n")
		if _, err := chartDirectories(tree, "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"d", "c-", "b-1", "c-d-1.0.0-rc.1", "..", `""`} {
		tree.MapFS["a/Chart.yaml"].Data = []byte("dependencies:\n- name: " + name + "\n  repository: file://../gone\n")
		if _, err := chartDirectories(tree, "a"); err == nil || !strings.Contains(err.Error(), "which is not there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOutside checks that only files in the directories are packed, and that the directories on the
// way to them are walked.
func TestOutside(t *testing.T) {
	tree := treeOf(map[string]string{"a/b/c": "", "a/b/d/e": "", "a/bc": "", "a/x": "", "f": "", "g/.terraform/h": ""})
	for dirs, want := range map[string]string{"a/b": "a/b/c a/b/d/e", "a/b/d g": "a/b/d/e g/.terraform/h",
		".": "a/b/c a/b/d/e a/bc a/x f g/.terraform/h"} {
		if got := packed(t, tree, Outside(strings.Fields(dirs))); got != want {
			t.Errorf("%s: %s, want %s", dirs, got, want)
		}
	}
}

// packed returns the files that are not skipped, in order, with a space between them.
func packed(t *testing.T, tree fs.FS, skip func(name string, entry fs.DirEntry) bool) string {
	t.Helper()
	var files []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skip(name, entry) && entry.IsDir():
			return fs.SkipDir
		case !skip(name, entry) && !entry.IsDir():
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}
