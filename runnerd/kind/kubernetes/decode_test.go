//go:build !race

package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func TestDecode(t *testing.T) {
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		text  string
		found int
		wrong string
	}{
		"nothing":                   {"# a comment\n---\n---\n...\n", 0, ""},
		"two with comments":         {"# first\n---\n" + one + "--- # second\n" + one + "...\n", 2, ""},
		"a document on its line":    {"--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", 1, ""},
		"separators in block texts": {one + "data:\n  a: |\n    --- not one\n     ---\n", 1, ""},
		"carriage returns":          {strings.ReplaceAll(one+"---\n"+one, "\n", "\r\n"), 2, ""},
		"JSON":                      {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, 1, ""},
		"null":                      {"null\n---\n" + one, 1, ""},
		"a List": {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: " +
			"{name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]\n", 2, ""},
		"a typed list": {"apiVersion: v1\nkind: ConfigMapList\nitems: []\n", 0,
			"document 1 (line 1): a ConfigMapList cannot be applied"},
		"an item that is none": {"apiVersion: v1\nkind: List\nitems: [x]\n", 0,
			"document 1 (line 1), item 1: it is not a Kubernetes object"},
		"a text":              {one + "---\n\nhello\n", 0, "document 2 (line 6): it is not a Kubernetes object"},
		"bad YAML":            {one + "---\na: b\n c: d\n", 0, "document 2 (line 5): yaml: line 6:"},
		"a key twice":         {one + "metadata: {name: b}\n", 0, `key "metadata" already set`},
		"no version":          {"kind: ConfigMap\nmetadata: {name: a}\n", 0, "it has no apiVersion"},
		"an odd version":      {"apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: a}\n", 0, "it has no apiVersion"},
		"no kind":             {"apiVersion: v1\nmetadata: {name: a}\n", 0, "it has no kind"},
		"no metadata":         {"apiVersion: v1\nkind: ConfigMap\n", 0, "has no metadata"},
		"no name":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", 0, "has no metadata.name"},
		"a number for a name": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1}\n", 0, "as a text in quotes"},
		"a generated name": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", 0,
			"each apply would make one more"},
		"a path for a name": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../secrets/x}\n", 0,
			"a name that no server takes"},
		"a path for a namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a/b}\n", 0,
			"a namespace that is no name of one"},
		"a label that is no text": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: true}}\n", 0,
			`its label "b" is no text`},
		"labels that are none": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: [b]}\n", 0,
			"its labels are no map"},
		"a Secret with a number": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {pin: 1234}\n",
			0, `"pin" in the stringData of Secret "a" is no text`},
		"control sequences": {"apiVersion: v1\nkind: \"A\\e[31m\"\nmetadata: {}\n", 0,
			`A\x1b[31m has no metadata.name`},
		"aliases of a long text": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x " +
			strings.Repeat("y", 100_000) + "\nz: [" + strings.Repeat("*x,", 100) + "]\n", 0,
			"document 1 (line 1): its aliases stand for more than 4 MiB"},
		"aliases of all": {strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x "+
			strings.Repeat("y", 10_000)+"\nz: ["+strings.Repeat("*x,", 350)+"]\n", 40), 0,
			"document 39 (line 230): with its aliases and those before it"},
		"an anchor in itself": {"a: &a [*a]\n", 0, "its aliases stand for more than 4 MiB"},
		"nested deep": {"a: " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + "\n", 0,
			"deeper than 200 levels"},
		"aliases without end": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c " +
			"[*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f " +
			"[*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", 0, "its aliases stand for more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := decode(c.text)
			switch {
			case c.wrong == "" && err != nil:
				t.Fatal(err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Fatalf("got %v, want %q", err, c.wrong)
			case c.wrong == "" && len(found) != c.found:
				t.Errorf("got %d objects, want %d", len(found), c.found)
			}
			if err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Error("a control sequence is told")
			}
		})
	}
}

// TestAllProblemsAtOnce checks that all problems are reported at once, up to a limit.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := decode(strings.Repeat("---\nkind: X\n", 30))
	if err == nil || strings.Count(err.Error(), "it has no apiVersion") != maxProblems ||
		!strings.Contains(err.Error(), "10 more problems of this kind") {
		t.Errorf("got %v", err)
	}
}

// TestTidy checks that tidy removes the fields that the server writes, and moves the texts
// of a Secret to where the server stores them.
func TestTidy(t *testing.T) {
	found, err := decode(`
apiVersion: v1
kind: Secret
metadata: {name: a, uid: x, resourceVersion: "1", creationTimestamp: null, managedFields: [], labels: null, annotations: {b: c}}
data: {kept: a2VwdA==, over: b2xk}
stringData: {over: new}
status: {}
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(found[0].Object)
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: v1\ndata:\n  kept: a2VwdA==\n  over: bmV3\nkind: Secret\nmetadata:\n  annotations:\n    b: c\n " +
		" name: a\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSplitKeepsEverything checks that documents that were joined are split into the same
// ones, each with its line.
func TestSplitKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a: 1", "a: |\n  ---x\n  y", "- b\n- c", "# note\nkey: v\n",
			"\"---\": 2"}), 1, 6).Draw(t, "texts")
		whole, lines, at := "", []int{}, 1
		for i, text := range texts {
			if i > 0 || rapid.Bool().Draw(t, "leading") {
				whole += "---\n"
				at++
			}
			lines = append(lines, at+strings.Count(text[:strings.IndexAny(text, "a-k\"")], "\n"))
			whole += text + "\n"
			at += strings.Count(text, "\n") + 1
		}
		found, err := split(whole)
		if err != nil || len(found) != len(texts) {
			t.Fatalf("%d documents came apart as %d: %v", len(texts), len(found), err)
		}
		for i, d := range found {
			if strings.TrimSpace(d.text) != strings.TrimSpace(texts[i]) {
				t.Fatalf("%q came apart as %q", texts[i], d.text)
			}
			if want := fmt.Sprintf("document %d (line %d)", i+1, lines[i]); !strings.HasPrefix(texts[i], "#") &&
				d.place() != want {
				t.Fatalf("%s, want %s, of\n%s", d.place(), want, whole)
			}
		}
	})
}

// FuzzDecode checks that decode never panics, and that accepted objects can be decoded again.
func FuzzDecode(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {b: c}\n---\nkind: List\napiVersion: v1\n" +
		"items: [{}]\n")
	f.Add("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: X, metadata: {name: a, labels: {a: b}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := decode(text)
		if err != nil {
			return
		}
		for _, o := range found {
			if o.GetName() == "" || o.GetKind() == "" {
				t.Fatalf("%s has no name", o.place)
			}
			_, _ = yaml.Marshal(o.Object)
		}
	})
}
