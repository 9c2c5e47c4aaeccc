package tree_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

func TestPaths(t *testing.T) {
	var root tree.Path
	hide := func(s tree.Step) string { return strings.ReplaceAll(s.Plain(), "secret", "(hidden)") }
	for _, c := range []struct {
		path          tree.Path
		text, pointer string
	}{
		{root, "", ""},
		{root.Field("spec").At(0).Field("name"), "spec[0].name", "/spec/0/name"},
		{root.Field("tags").Field("a b"), `tags["a b"]`, "/tags/a b"},
		{root.Field("tags").Field(""), `tags[""]`, "/tags/"},
		{root.Field("a/b~c").Field("d/e~f"), `a/b~c["d/e~f"]`, "/a~1b~0c/d~1e~0f"},
		{root.Field("containers").Selected("web", []string{"name"}).Field("image"), "containers[web].image",
			"/containers/name=web/image"},
		{root.Field("ports").Selected("containerPort=53,protocol=UDP", []string{"containerPort", "protocol"}),
			"ports[containerPort=53,protocol=UDP]", "/ports/containerPort=53,protocol=UDP"},
		{root.Field("set").Selected("0", nil), `set["0"]`, "/set/=0"},
		{root.Field("set").Selected("a]b", nil), `set["a]b"]`, "/set/=a]b"},
		{root.Field("data").Field("app.json").Into("json").Field("server").Field("port"),
			`data["app.json"] (json) server.port`, "/data/app.json/@json/server/port"},
		{root.Field("user_data").Into("base64").Into("yaml").Field("a"), "user_data (base64) (yaml) a",
			"/user_data/@base64/@yaml/a"},
		{root.Into("json").At(1), "(json) [1]", "/@json/1"},
		{root.Field("data").Into("base64"), "data (base64)", "/data/@base64"},
		{root.Field("secret").Field("secret").Selected("secret", []string{"name"}), `secret["(hidden)"][(hidden)]`,
			"/secret/(hidden)/name=(hidden)"},
	} {
		if got := c.path.Text(hide); got != c.text {
			t.Errorf("text %q, want %q", got, c.text)
		}
		if got := c.path.Pointer(hide); got != c.pointer {
			t.Errorf("pointer %q, want %q", got, c.pointer)
		}
	}
}

func TestOverlaps(t *testing.T) {
	var root tree.Path
	a := root.Field("a")
	for _, c := range []struct {
		p, q tree.Path
		want bool
	}{
		{root, a, true}, {a, a, true}, {a, a.At(1), true}, {a.At(1), a.At(2), false}, {a, root.Field("b"), false},
		{a.Field("0"), a.At(0), false}, {a.Into("json"), a.Into("yaml"), false}, {a.Selected("x", nil), a.Field("x"), false},
	} {
		if c.p.Overlaps(c.q) != c.want || c.q.Overlaps(c.p) != c.want {
			t.Errorf("%v and %v: want %t", c.p, c.q, c.want)
		}
		set := tree.PathsOf([]tree.Path{root.Field("other").At(3), c.p})
		if set.Overlaps(c.q) != c.want {
			t.Errorf("the set of %v and %v: want %t", c.p, c.q, c.want)
		}
	}
}

// TestEmptyPathSet checks that nothing overlaps a set without paths, and everything one with the root.
func TestEmptyPathSet(t *testing.T) {
	var set tree.PathSet
	if set.Overlaps(nil) || set.Overlaps(tree.Path{}.Field("a")) {
		t.Error("an empty set overlaps a path")
	}
	set.Add(nil)
	if !set.Overlaps(nil) || !set.Overlaps(tree.Path{}.Field("a")) {
		t.Error("the root does not overlap a path")
	}
}

// TestPathsDoNotShareMemory checks that extending a path in two ways yields two independent paths.
func TestPathsDoNotShareMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p tree.Path
		for range rapid.IntRange(0, 9).Draw(t, "steps") {
			p = p.Field("x")
		}
		a, b := p.Field("a"), p.At(1)
		if a[len(p)].Key != "a" || !b[len(p)].IsIndex {
			t.Fatalf("%v and %v", a, b)
		}
	})
}
