package source

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

func TestADirectory(t *testing.T) {
	got, err := New(Options{}).FromTree(t.Context(), filesOf(
		"README.md", "not the chart's",
		"deploy/web/Chart.yaml", "\xEF\xBB\xBF"+yamlOf("web", "1.2.3", "appVersion: 4"),
		"deploy/web/.helmignore", "*.bak\n/ci/\n# a comment\n",
		"deploy/web/values.yaml", "-> ../../common/values.yaml",
		"deploy/web/values.bak", "old",
		"deploy/web/ci/test.yaml", "x",
		"deploy/web/broken.bak", "-> ../nowhere",
		"deploy/web/crds", "-> ../../common/crds",
		"deploy/web/templates/a.yaml", "a",
		"deploy/web/templates/.a.yaml.swp", "a",
		"common/values.yaml", "a: 1\n",
		"common/crds/x.yaml", "x",
	), "deploy/web")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "web" || got.Version != "1.2.3" || got.AppVersion != "4" || got.Origin != "deploy/web" {
		t.Errorf("got %+v", got)
	}
	if paths := pathsOf(got); paths != ".helmignore Chart.yaml crds/x.yaml templates/a.yaml values.yaml" {
		t.Error(paths)
	}
	if contentOf(got, "values.yaml") != "a: 1\n" || strings.HasPrefix(contentOf(got, "Chart.yaml"), "\xEF") {
		t.Error("a link or a byte order mark is left")
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		dir   string
		files []string
		want  []string
	}{
		"no such directory": {"deploy/wbe", []string{"deploy/web/Chart.yaml", yamlOf("web", "1.0.0")},
			[]string{`no "deploy/wbe"`, `did you mean "deploy/web"?`}},
		"way out": {"../x", []string{"a", ""}, []string{"leads out of the repository"}},
		"a file":  {"a", []string{"a", ""}, []string{`"a" is a file`}},
		"no chart": {".", []string{"charts/web/Chart.yaml", yamlOf("web", "1.0.0")},
			[]string{"no Chart.yaml", "below it: charts/web"}},
		"a circle of links": {"a", []string{"a/Chart.yaml", "-> b", "a/b", "-> Chart.yaml"}, []string{"circle"}},
		"a circle of dirs":  {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0"), "a/sub", "-> ."}, []string{"circle"}},
		"a link to nothing": {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0"), "a/values.yaml", "-> vals.yaml"},
			[]string{`"a/values.yaml"`, `no "a/vals.yaml"`, "did you mean"}},
		"nameless": {"a", []string{"a/Chart.yaml", "apiVersion: v2\nversion: 1.0.0\n"},
			[]string{"a/Chart.yaml", "has no name"}},
		"a name with a path": {"a", []string{"a/Chart.yaml", yamlOf("../x", "1.0.0")}, []string{"a/Chart.yaml", `"../x"`}},
		"versionless": {"a", []string{"a/Chart.yaml", "apiVersion: v2\nname: a\n"},
			[]string{"a/Chart.yaml", "has no version"}},
		"no version": {"a", []string{"a/Chart.yaml", yamlOf("a", "one")},
			[]string{"a/Chart.yaml", "version", `"one"`}},
		"broken": {"a", []string{"a/Chart.yaml", "apiVersion: v2\nname: [\n"},
			[]string{"a/Chart.yaml:", "fix the YAML"}},
		"a list": {"a", []string{"a/Chart.yaml", "- a\n"}, []string{"a/Chart.yaml", "cannot unmarshal array"}},
		"a library": {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0", "type: library")},
			[]string{"a/Chart.yaml", "is a library"}},
		"a bad ignore file": {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0"), "a/.helmignore", "a/**\n"},
			[]string{"a/.helmignore", "double-star"}},
		"a huge file": {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0"), "a/x", strings.Repeat("x", maxFile+1)},
			[]string{`"a/x"`, ".helmignore"}},
		"control characters": {"a", []string{"a/Chart.yaml", "apiVersion: v2\nname: \"a\\e[31m\"\nversion: 1.0.0\n"},
			[]string{"a/Chart.yaml", `\x1b`}},
		"aliases": {"a", []string{"a/Chart.yaml", bomb}, []string{"a/Chart.yaml"}},
		"null dependency": {"a", []string{"a/Chart.yaml", yamlOf("a", "1.0.0", "dependencies: [null]")},
			[]string{"a/Chart.yaml", "empty or null"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{}).FromTree(t.Context(), filesOf(test.files...), test.dir)
			refused(t, err, test.want...)
		})
	}
}

// TestLinksThatMultiply: entries that .helmignore excludes count, too; otherwise a
// walk through links to links would not end.
func TestLinksThatMultiply(t *testing.T) {
	pairs := []string{"a/Chart.yaml", yamlOf("a", "1.0.0"), "a/.helmignore", "*.x\n", "a/d", "-> ../d0", "d40/leaf.x", ""}
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf("d%d/l", i), fmt.Sprintf("-> ../d%d", i+1), fmt.Sprintf("d%d/m", i),
			fmt.Sprintf("-> ../d%d", i+1))
	}
	_, err := New(Options{}).FromTree(t.Context(), filesOf(pairs...), "a")
	refused(t, err, "use fewer links")
}

// bomb is YAML that aliases expand beyond all bounds.
const bomb = `a: &a ["x","x","x","x","x","x","x","x","x"]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]
keywords: [*g,*g,*g,*g,*g,*g,*g,*g,*g]
`

// TestOrderMakesNoDifference: the order of the files in a tree does not affect the chart.
func TestOrderMakesNoDifference(t *testing.T) {
	tree := filesOf(
		"app/Chart.yaml",
		yamlOf("app", "1.0.0", needs("common 0.1.0 file://../common", "common 0.1.0 file://../common twice", "own * "+"",
			"deep ~2 file://../deep")),
		"app/values.yaml", "-> ../common/values.yaml",
		"app/charts/own/Chart.yaml", yamlOf("own", "3.0.0", needs("common >=0 file://../../../common")),
		"common/Chart.yaml", yamlOf("common", "0.1.0", "type: library"), "common/values.yaml", "a: 1\n",
		"deep/Chart.yaml", yamlOf("deep", "2.5.0", needs("common ^0.1 file://../common")),
	)
	digest := func(files []artifact.File) string {
		got, err := New(Options{}).FromTree(t.Context(), files, "app")
		if err != nil {
			t.Fatal(err)
		}
		packed, err := artifact.Pack(artifact.MediaChart, got.Files, nil, artifact.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return packed.Digest()
	}
	want := digest(tree)
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		shuffled := append([]artifact.File{}, tree...)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		if got := digest(shuffled); got != want {
			r.Fatalf("got %s, want %s", got, want)
		}
	})
}
