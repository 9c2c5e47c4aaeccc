package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// seeds adds all inputs of the golden tests.
func seeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for _, part := range strings.SplitAfter(string(data), "\n---") {
			f.Add([]byte(part))
		}
	}
}

func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Read([]Source{{Name: "in", Data: data}}, Options{})
		again, errAgain := Read([]Source{{Name: "in", Data: data}}, Options{})
		if fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("read once: %v\nread twice: %v", err, errAgain)
		}
		if err != nil {
			return
		}
		for i, o := range first.Objects {
			p := again.Objects[i]
			if o.ID != p.ID || o.Line != p.Line || !o.Same(p) {
				t.Fatalf("%s is %s the second time", o.ID.Address(), p.ID.Address())
			}
			v, err := o.Value()
			w, errAgain := p.Value()
			if fmt.Sprint(err) != fmt.Sprint(errAgain) || !v.Equal(w) {
				t.Fatalf("%s has another value the second time", o.ID.Address())
			}
		}
	})
}

// FuzzValue compares with the parser of the API's clients.
func FuzzValue(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { likeClients(t, data) })
}

// bareTag matches the tag that means "text" to the clients; the library does not report it.
var bareTag = regexp.MustCompile(`!([\s,\]}]|$)`)

// likeClients fails if the API's clients read a different value. It skips
// input that either rejects, and values that JSON cannot express.
func likeClients(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	if len(split(data)) != 1 || bytes.HasPrefix(data, []byte("\ufeff")) || bareTag.Match(data) {
		return
	}
	whole := text{data: data, source: "in", line: 1}
	if whole.checkBytes() != nil {
		return
	}
	ours, err := whole.parse()
	if err != nil {
		return
	}
	converted, err := sigs.YAMLToJSONStrict(data)
	if err != nil {
		return
	}
	theirs, err := raw.Parse(converted)
	if err != nil {
		t.Fatalf("their JSON: %v", err)
	}
	if at, same := alike(raw.Reveal(ours), raw.Reveal(theirs), ""); !same {
		a, _ := raw.Text(ours)
		t.Fatalf("at %s ours is\n%s\ntheirs is\n%s\nof\n%q", at, a, converted, data)
	}
}

// alike compares two values, and treats integers that the clients' parser has rounded as equal.
func alike(a, b any, at string) (string, bool) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return at, false
		}
		for k := range a {
			if at, same := alike(a[k], b[k], at+"/"+k); !same {
				return at, false
			}
		}
		return "", true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return at, false
		}
		for i := range a {
			if at, same := alike(a[i], b[i], fmt.Sprint(at, "/", i)); !same {
				return at, false
			}
		}
		return "", true
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return at, false
		}
		x, _, err := big.ParseFloat(string(a), 10, 53, big.ToNearestEven)
		y, _, err2 := big.ParseFloat(string(b), 10, 53, big.ToNearestEven)
		return at, a == b || err == nil && err2 == nil && len(a) > 18 && x.Cmp(y) == 0
	}
	return at, a == b
}

// FuzzScan checks that the identity that scan reads from the lines is the one
// that the library finds, in every document that the API accepts.
func FuzzScan(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(split(data)) != 1 || withoutMarker(data) != 0 {
			return
		}
		id, sure, _ := scan(data)
		whole := text{data: data, source: "in", line: 1}
		if !sure || whole.checkBytes() != nil {
			return
		}
		v, err := whole.parse()
		if err != nil || unfit(v) != "" {
			return
		}
		if found := identify(v); found != id {
			t.Fatalf("scan finds %+v, the library %+v in\n%q", id, found, data)
		}
	})
}

// FuzzOutline checks that the outline has exactly the blocks that the library
// finds, in their places.
func FuzzOutline(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { outlineIsTrue(t, data) })
}

func outlineIsTrue(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	if len(split(data)) != 1 {
		return
	}
	blocks, ok := outline(data)
	whole := text{data: data, source: "in", line: 1}
	if !ok || whole.checkBytes() != nil {
		return
	}
	node, err := whole.node()
	if err != nil || node == nil {
		return
	}
	want := map[place]yaml.Kind{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Style&yaml.FlowStyle == 0 && n.Kind == yaml.MappingNode && i%2 == 0 {
				want[place{c.Line, c.Column}] = n.Kind
			}
			if n.Style&yaml.FlowStyle == 0 {
				walk(c)
			}
		}
	}
	walk(node)
	got := map[place]yaml.Kind{}
	for _, b := range blocks {
		if !b.is(element) {
			got[placeAt(data, int(b.key))] = yaml.MappingNode
		}
	}
	for at := range want {
		if got[at] == 0 {
			t.Fatalf("the outline misses the key at %v of\n%q", at, data)
		}
	}
	for at := range got {
		if want[at] == 0 {
			t.Fatalf("the outline has a key at %v of\n%q", at, data)
		}
	}
}

// FuzzPair checks that both sides, with the left-out blocks restored, equal
// what the library reads from the whole texts.
func FuzzPair(f *testing.F) {
	files, err := filepath.Glob("testdata/pair/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data, archive.Files[1].Data)
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		a, b := object(before), object(after)
		if a.text.checkBytes() != nil || b.text.checkBytes() != nil || len(split(before)) != 1 || len(split(after)) != 1 {
			return
		}
		p, ok := leaveOut(a, b, 0, 0)
		x, errX := byLibrary(a.text)
		y, errY := byLibrary(b.text)
		if !ok || errX != nil || errY != nil {
			return
		}
		var values [2]raw.Value
		for i, s := range p.sides {
			v, ok := s.value(s.root(), 1)
			if !ok {
				return // Pair parses the whole texts in this case
			}
			values[i] = v
		}
		if values[0], values[1], ok = p.fill(values[0], values[1]); !ok {
			return
		}
		if !values[0].Equal(x) || !values[1].Equal(y) {
			t.Fatalf("put back, the values are others\nbefore:\n%q\nafter:\n%q\nleft:\n%q\nand\n%q", before, after,
				p.sides[0].restText(), p.sides[1].restText())
		}
	})
}
