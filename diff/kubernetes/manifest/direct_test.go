package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// byLibrary returns the value of a text as the YAML library reads it.
func byLibrary(t text) (raw.Value, error) {
	return (&converter{text: t, limit: aliasCeiling}).document()
}

// FuzzDirect checks that the value read from the lines of a text equals the library's.
func FuzzDirect(f *testing.F) {
	seeds(f)
	for _, written := range directSamples {
		f.Add([]byte(written))
	}
	f.Fuzz(func(t *testing.T, data []byte) { directIsTrue(t, data) })
}

// directIsTrue reports whether a text was read from its lines. It fails if the library reads
// a different value, or finds a repeated key or an old word that the lines did not reveal.
func directIsTrue(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) bool {
	t.Helper()
	whole := text{data: data, source: "in", line: 1}
	if len(split(data)) != 1 || whole.checkBytes() != nil {
		return false
	}
	v, ok := whole.direct(false)
	if !ok {
		return false
	}
	repeated, old := false, false
	c := &converter{text: whole, limit: aliasCeiling, repeated: func(place) { repeated = true }, oldWord: func(place) {
		old = true
	}}
	want, err := c.document()
	_, sure := whole.direct(true)
	switch {
	case err != nil:
		t.Fatalf("the library refuses what was read from the lines: %v\n%q", err, data)
	case !raw.Of(v).Equal(want):
		a, _ := raw.Text(raw.Of(v))
		b, _ := raw.Text(want)
		t.Fatalf("read from the lines:\n%s\nby the library:\n%s\nof\n%q", a, b, data)
	case repeated:
		t.Fatalf("a key is repeated in\n%q", data)
	case old && sure:
		t.Fatalf("a boolean of YAML 1.1 is in\n%q", data)
	}
	return true
}

func TestGeneratedYAMLIsReadFromItsLines(t *testing.T) {
	direct, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		all++
		if directIsTrue(r, genDocument(r).text()) {
			direct++
		}
	})
	if direct*10 < all {
		t.Errorf("only %d of %d documents were read from their lines: the test shows little", direct, all)
	}
}

// TestRealManifestsAreReadFromTheirLines reads all seeds of the other tests,
// and the upgrades in NUON_DIFF_CORPUS.
func TestRealManifestsAreReadFromTheirLines(t *testing.T) {
	var texts [][]byte
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data: ", err)
	}
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			texts = append(texts, f.Data)
		}
	}
	if dir := os.Getenv("NUON_DIFF_CORPUS"); dir != "" {
		upgrades, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
		for _, name := range upgrades {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, data)
		}
	}
	direct, all := 0, 0
	for _, data := range texts {
		for _, d := range split(data) {
			document := data[d.start:d.end]
			all++
			if directIsTrue(t, document[withoutMarker(document):]) {
				direct++
			}
		}
	}
	t.Logf("%d of %d documents were read from their lines", direct, all)
}

// directSamples are texts whose lines are easily misread.
var directSamples = []string{
	"a: b # c\n", "a: b#c\n", "a: 'x' # c\n", "a: \"x\\ty\\\\ \\\" \\u00e9\"\n", "a: \"x\\\n  y\"\n", "a: 'x\n\n  y'\n",
	"a: x\n  y\n\n  z # c\nb: 1\n", "a: x\n  - y\n", "a: x\n\n\n  # c\nb: y\n", "a: |\n  x\n   y\n\n  z\n\n\nb: c\n",
	"a: |-\n  x\n  \n     \n", "a: |\n\n  x\n # c\n", "a: |\n  x", "a: |-\n  x\n   ", "a: |\n  x\n      \n  y\n",
	"a: |+\n  x\n\n", "a: |2\n   x\n", "a: >\n  x\n  y\n\n   z\n", "a: >-\n\n  x\n # c\n", "- a: |\n    x\n  b: c\n",
	"a:\n- |\n  x\n- >-\n  y\n", "a: {}\nb: []\nc: {} # d\nd: [ ]\n", "a: [yes, {b: no}]\n", "a: yes\n", "yes: a\n",
	"<<: a\n", "<< : {a: b}\n", "'<<': {a: b}\n", "a: 1\na: 2\n", "a:\n  b: 1\n  b: 2\n", "a: ~\nb:\nc: null\n",
	"a: 0x1f\nb: 1_0\nc: 1e3\nd: .5\ne: -.inf\n", "a: \tb\n", "a: b\tc\n", "a: \"b\tc\"\n", "a: b\x7f\n",
	"a: \"\u0080\"\n", "a: \u00a0b\n", "a: \ufffe\n", "a: b\r\n  c\r\nd: |\r\n  e\r\n  f\r\n", "...\n", "a: b\n...\n",
	"- - a\n  - b\n- - - c\n", "'a b': c\n\"d\": e\n", "a'b: c\n", "\"a\\\"b\": c\n", "? a\n", "a: ?b\n", "a: -b\n",
	"a: :b\n", "a: b:\n", "a: b:c\n", "a: %b\n", "a: b %c\n", "a: >\n\nb: c\n", "a: |\n\nb: c\n", "a: |\n# c\nb: d\n",
	"a:\n  b: |\n # c\n  d: e\n", "a:\n  b: >\n # c\n  d: e\n", "a:\n- |\n# b\n- c\n", "a:\n  - b\n  # c\n  - d\n",
	"a: # c\n  b: d\n", "a:\n# c\n  b: d\n", "a: ''\nb: \"\"\nc: ''''\n", "a: b\n\n  # c\n",
	strings.Repeat("- ", 249) + "a\n",
	strings.Repeat("- ", 260) + "a\n", "=: =\n", "a: =\n", "a: !b c\n", "a: 2001-01-01\n2001-01-01: a\n", "1: a\n",
	"a: [b,\n  c]\n", "a: {b: c, b: d}\n",
}

func TestSamplesAreReadFromTheirLines(t *testing.T) {
	for _, written := range directSamples {
		directIsTrue(t, []byte(written))
	}
}
