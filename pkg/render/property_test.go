package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var keys = rapid.SampledFrom([]string{
	"install", "inputs", "sandbox", "components", "outputs", "id", "name", "a", "b",
})

func paths() *rapid.Generator[Path] {
	return rapid.Custom(func(t *rapid.T) Path {
		return Path(rapid.SliceOfN(keys, 1, 4).Draw(t, "path"))
	})
}

func TestCanonicalIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := paths().Draw(t, "path")
		once := Canonical(path)
		if diff := cmp.Diff(once, Canonical(once)); diff != "" {
			t.Fatalf("Canonical twice differs:\n%s", diff)
		}
	})
}

func TestSetThenGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := randomTree(t)
		path := paths().Draw(t, "path")
		tree.Set(path, "value")
		if got, ok := tree.Get(path); !ok || got != "value" {
			t.Fatalf("Get(%s) after Set = %v, %v", path, got, ok)
		}
	})
}

func randomTree(t *rapid.T) Tree {
	tree := Tree{}
	for i := range rapid.IntRange(0, 8).Draw(t, "values") {
		path := paths().Draw(t, "at")
		value := rapid.SampledFrom([]any{
			fmt.Sprint("v", i), nil, "", i, map[string]any{"a": "in", "b": []any{"x", i}}, []any{"p", "q"},
		}).Draw(t, "value")
		tree.Set(path, value)
	}
	tree.Set(Path{"install", "id"}, "inl1") // every real tree has it
	return tree
}

// knownPaths lists the paths that have a value, with the aliases.
func knownPaths(tree Tree) []Path {
	var known []Path
	var walk func(at Path, v any)
	walk = func(at Path, v any) {
		if len(at) > 0 {
			known = append(known, at)
		}
		if object, ok := asObject(v); ok {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				walk(append(slices.Clone(at), key), object[key])
			}
		}
	}
	walk(nil, tree.withAliases()["nuon"])
	return known
}

// randomTemplate generates a template from the constructs that the analysis treats differently,
// over so few keys that they often have a value.
func randomTemplate(t *rapid.T, known []Path, depth int) string {
	var expression func(depth int) string
	chain := func() string {
		from := rapid.SampledFrom([]string{"$.nuon.", "$.nuon.", "$.nuon.", "$.nuon.", "$.nuon.", "$.nuon.", ".nuon.",
			"$x.", ".", "$x", "$.nuon"}).Draw(t, "from")
		switch from {
		case "$x", "$.nuon":
			return from
		case ".nuon.", "$.nuon.":
			if len(known) > 0 && rapid.IntRange(0, 19).Draw(t, "miss") > 0 {
				return from + rapid.SampledFrom(known).Draw(t, "known").String()
			}
			return from + paths().Draw(t, "chain").String()
		}
		return from + keys.Draw(t, "key")
	}
	expression = func(depth int) string {
		if depth == 0 {
			return chain()
		}
		switch rapid.IntRange(0, 11).Draw(t, "form") {
		case 0:
			return fmt.Sprintf("(index %s %q)", expression(depth-1), keys.Draw(t, "key"))
		case 1:
			return fmt.Sprintf("(dig %q %q \"none\" %s)", keys.Draw(t, "key"), keys.Draw(t, "key"), expression(depth-1))
		case 2:
			return fmt.Sprintf("(default \"d\" %s)", expression(depth-1))
		case 3:
			return fmt.Sprintf("(hasKey %s %q)", expression(depth-1), keys.Draw(t, "key"))
		case 4:
			return fmt.Sprintf("(or %s %s)", expression(depth-1), expression(depth-1))
		case 5:
			return fmt.Sprintf("(index %s \"nuon\" %q)", "$", keys.Draw(t, "key"))
		}
		return chain()
	}
	if depth == 0 {
		return "{{" + expression(1) + "}}"
	}
	inner := func() string { return randomTemplate(t, known, depth-1) }
	switch rapid.IntRange(0, 6).Draw(t, "node") {
	case 0:
		return "{{if " + expression(1) + "}}" + inner() + "{{else}}" + inner() + "{{end}}"
	case 1:
		return "{{with " + expression(1) + "}}" + inner() + "{{else}}" + inner() + "{{end}}"
	case 2:
		return "{{range $k, $x := " + expression(1) + "}}" + inner() + "{{else}}" + inner() + "{{end}}"
	case 3:
		return "{{$x := " + expression(1) + "}}" + inner()
	case 4:
		return "{{if " + expression(1) + "}}{{$x = " + expression(1) + "}}{{end}}" + inner()
	case 5:
		return "{{with $x := " + expression(1) + "}}" + inner() + "{{end}}"
	}
	return inner() + inner()
}

// Paths that the analysis does not list do not exist for a template. So a template whose output
// with its refs differs from its output with the whole tree reveals a gap in the analysis.
func TestRefsAreComplete(t *testing.T) {
	const enough, rounds = 5, 10
	rendered := 0
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			if refsAreComplete(t) {
				rendered++
			}
		})
		if rendered >= enough {
			return
		}
	}
	t.Fatalf("only %d of all these templates could be rendered: the test shows little", rendered)
}

// refsAreComplete renders a random template with its refs and with the whole tree, and checks that
// the outputs are equal. It reports whether the template could be rendered at all.
func refsAreComplete(t *rapid.T) bool {
	tree := randomTree(t)
	text := "{{$x := $.nuon.install}}" + randomTemplate(t, knownPaths(tree), 3) + "{{/*.nuon*/}}"
	tmpl, err := Parse("t", text)
	if err != nil {
		if strings.Contains(err.Error(), "everything below .nuon") {
			return false
		}
		t.Fatalf("Parse(%q): %v", text, err)
	}
	got, gotErr := tmpl.Execute(tree)
	want, wantErr := executeWhole(t, tmpl, tree)
	if got != want || (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%q with refs %v\n gives %q, %v\nwhole %q, %v", text, tmpl.Refs(), got, gotErr, want, wantErr)
	}
	return gotErr == nil
}

func executeWhole(t *rapid.T, tmpl *Template, tree Tree) (string, error) {
	whole, err := normalize(map[string]any(tree), 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &budget{left: maxWork}
	compiled, err := template.New(parseName).Option("missingkey=error").Funcs(
		bind(b)).AddParseTree(parseName, tmpl.tree)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compiled.Execute(&out, Tree(whole.(map[string]any)).withAliases()); err != nil {
		return "", err
	}
	return out.String(), nil
}
