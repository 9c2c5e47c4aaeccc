package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func TestGeneratedYAMLMeansWhatItMeansToTheAPIsClients(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { likeClients(r, genDocument(r).text()) })
}

func TestTheOutlineHasTheBlocksThatTheLibraryFinds(t *testing.T) {
	outlined, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		data := genDocument(r).text()
		outlineIsTrue(r, data)
		all++
		if _, ok := outline(data); ok {
			outlined++
		}
	})
	if outlined*3 < all {
		t.Errorf("only %d of %d documents could be outlined: the test shows little", outlined, all)
	}
}

// TestPairFindsTheDifferencesOfTheWhole compares what Pair leaves of two
// documents, and the whole documents, with lists matched by name and by index.
func TestPairFindsTheDifferencesOfTheWhole(t *testing.T) {
	partial, whole, refused := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		before := genDocument(r)
		after := before.clone()
		for range rapid.IntRange(0, 3).Draw(r, "changes") {
			part := rapid.IntRange(3, len(after.children)-1).Draw(r, "part")
			after.children[part].change(r)
		}
		a, b := object(before.text()), object(after.text())
		pair, ok := leaveOut(a, b, 0, 0)
		if !ok {
			return
		}
		left := [2][]byte{pair.sides[0].restText(), pair.sides[1].restText()}
		x, errX := byLibrary(a.text)
		y, errY := byLibrary(b.text)
		if errX != nil || errY != nil {
			return
		}
		p, q, ok := pair.parse(a, b)
		if _, known := pair.marks.parse(); !ok || !known {
			refused++
			return
		}
		if p, q, ok = pair.fill(p, q); !ok || !p.Equal(x) || !q.Equal(y) {
			r.Fatalf("filled again, the values are others\nbefore:\n%s\nafter:\n%s\nleft:\n%s\nand\n%s", a.text.data,
				b.text.data, left[0], left[1])
		}
		p, q, _ = pair.parse(a, b)
		for _, byName := range []bool{true, false} {
			got, unsure := differences(p, q, byName)
			want, _ := differences(x, y, byName)
			if unsure {
				whole++
				continue
			}
			partial++
			if !slices.Equal(got, want) {
				r.Fatalf("byName %v: differences %q, of the whole %q\nbefore:\n%s\nafter:\n%s\nleft:\n%s\nand\n%s",
					byName, got, want, a.text.data, b.text.data, left[0], left[1])
			}
		}
	})
	t.Logf("%d pairs were compared in part, %d would be compared whole, %d are for the library", partial, whole, 2*refused)
	if partial < whole*4 {
		t.Errorf("of %d pairs only %d could be compared in part", partial+whole, partial)
	}
}

func object(data []byte) *Object {
	return &Object{ID: ID{Kind: "Thing", Name: "thing"}, Version: "v1", Source: "in", Line: 1,
		text: text{data: data, source: "in", line: 1}}
}

// differences returns the paths at which two values differ, and whether one
// side of a difference was left out.
func differences(a, b raw.Value, byName bool) (paths []string, unsure bool) {
	var walk func(path string, a, b raw.Value, hasA, hasB bool)
	walk = func(path string, a, b raw.Value, hasA, hasB bool) {
		switch {
		case hasA && hasB && a.Equal(b):
			return
		case hasA && hasB && a.IsObject() && b.IsObject():
			for _, k := range union(a.Keys(), b.Keys()) {
				v, inA := a.Get(k)
				w, inB := b.Get(k)
				walk(path+"/"+k, v, w, inA, inB)
			}
		case hasA && hasB && a.IsList() && b.IsList() && byName && allNamed(a) && allNamed(b):
			inA, inB := named(a), named(b)
			for _, k := range union(keys(inA), keys(inB)) {
				v, okA := inA[k]
				w, okB := inB[k]
				walk(path+"["+k+"]", v, w, okA, okB)
			}
		case hasA && hasB && a.IsList() && b.IsList():
			for i := range max(a.Len(), b.Len()) {
				walk(fmt.Sprintf("%s[%d]", path, i), a.At(i), b.At(i), i < a.Len(), i < b.Len())
			}
		default:
			unsure = unsure || Elided(a) || Elided(b)
			paths = append(paths, path)
		}
	}
	walk("", a, b, true, true)
	return paths, unsure
}

func allNamed(l raw.Value) bool { return len(named(l)) == l.Len() }

func named(l raw.Value) map[string]raw.Value {
	out := map[string]raw.Value{}
	for i := range l.Len() {
		if name := raw.TextAt(l.At(i), "name"); name != "" {
			out[name] = l.At(i)
		}
	}
	return out
}

func keys(m map[string]raw.Value) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func TestElidedNamesOnlyWhatStandsForBlocks(t *testing.T) {
	for _, v := range []any{"text", strings.TrimPrefix(leftOutMark, "\xff"), nil, []any{"a"}, map[string]any{"a": "b"}} {
		if Elided(raw.Of(v)) {
			t.Errorf("%v is taken for something left out", v)
		}
	}
	for _, v := range []any{leftOutMark + "1", []any{leftOutMark}, map[string]any{leftOutMark: 1},
		map[string]any{"a": []any{nil, leftOutMark}}} {
		if !Elided(raw.Of(v)) {
			t.Errorf("%v is not taken for something left out", v)
		}
	}
}
