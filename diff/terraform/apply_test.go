package terraform

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// patch applies the unmasked differences of a comparison to the value that they were made from.
type patch struct {
	t *rapid.T
	// at maps paths to new values, without those of removed list elements. below holds all prefixes
	// of these paths.
	at    map[string]*raw.Value
	below map[string][]tree.Step
	// elements holds the pairs of elements of each compared list.
	elements map[string][]tree.Pair
}

func key(p tree.Path) string {
	var b strings.Builder
	for _, s := range p {
		fmt.Fprintf(&b, "%#v/", s)
	}
	return b.String()
}

func newPatch(t *rapid.T, before, after raw.Value) *patch {
	p := &patch{t: t, at: map[string]*raw.Value{}, below: map[string][]tree.Step{}, elements: map[string][]tree.Pair{}}
	gone := map[int]bool{}
	c := &comparer{masker: diff.NewMasker(diff.MaskOptions{}), action: diff.Update}
	type element struct {
		list tree.Path
		pair tree.Pair
	}
	var all []element
	c.enter = func(path tree.Path, pair tree.Pair) func() {
		all = append(all, element{path, pair})
		inside, from := len(all), len(c.out.fields)
		return func() {
			// The lists inside a removed element are removed, too.
			for i := from; pair.After < 0 && i < len(c.out.fields); i++ {
				gone[i] = true
			}
			if pair.After < 0 {
				all = all[:inside]
			}
		}
	}
	c.compare(change{before: before, after: after})
	for _, e := range all {
		p.elements[key(e.list)] = append(p.elements[key(e.list)], e.pair)
		p.lead(e.list)
	}
	for i, touched := range c.out.touched {
		if gone[i] || c.out.fields[i].Reordered {
			continue
		}
		p.lead(touched.Path)
		value := &touched.After
		if !touched.HasAfter {
			value = nil
		}
		if _, twice := p.at[key(touched.Path)]; twice {
			t.Fatalf("two differences at %s", touched.Path.Text(tree.Step.Plain))
		}
		p.at[key(touched.Path)] = value
	}
	return p
}

// lead adds the prefixes of a path to below.
func (p *patch) lead(path tree.Path) {
	for n := range path {
		k := key(path[:n])
		p.below[k] = append(p.below[k], *path[n])
	}
}

// apply returns the value at a path after the change, and whether there is one.
func (p *patch) apply(path tree.Path, before any, has bool) (any, bool) {
	if v, ok := p.at[key(path)]; ok {
		if v == nil {
			return nil, false
		}
		return raw.Reveal(*v), true
	}
	if pairs, ok := p.elements[key(path)]; ok {
		list, _ := before.([]any)
		out := []any{}
		for _, pair := range pairs {
			var was any
			if pair.Before >= 0 {
				was = list[pair.Before]
			}
			if pair.After >= 0 {
				v, _ := p.apply(path.Paired(pair), was, pair.Before >= 0)
				out = append(out, v)
			}
		}
		return out, true
	}
	steps := p.below[key(path)]
	if len(steps) == 0 {
		return before, has
	}
	if format := steps[0].Into(); format != "" {
		return p.document(path, format, before)
	}
	return p.object(path, steps, before), true
}

func (p *patch) object(path tree.Path, steps []tree.Step, before any) any {
	out := map[string]any{}
	was, _ := before.(map[string]any)
	keys := slices.Collect(maps.Keys(was))
	for _, s := range steps {
		keys = append(keys, s.Key)
	}
	for _, k := range keys {
		old, has := was[k]
		if v, ok := p.apply(path.Field(k), old, has); ok {
			out[k] = v
		}
	}
	return out
}

func (p *patch) document(path tree.Path, format string, before any) (any, bool) {
	text, _ := before.(string)
	var inner any
	switch {
	case format == "base64":
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			p.t.Fatal(err)
		}
		inner = string(data)
	case text != "":
		v, err := raw.Parse([]byte(text))
		if err != nil {
			p.t.Fatal(err)
		}
		inner = raw.Reveal(v)
	}
	inner, ok := p.apply(path.Into(format), inner, text != "")
	if !ok {
		return nil, false
	}
	out, _ := raw.Text(raw.Of(inner))
	if format == "base64" {
		return base64.StdEncoding.EncodeToString([]byte(out)), true
	}
	return out, true
}

// normal removes unset attributes and parses documents in strings. Null, empty and missing are the
// same to a provider, and when the last element of a map or a list is removed, the differences do
// not show which of them remains.
func normal(v any) any {
	switch v := v.(type) {
	case string:
		if data, err := base64.StdEncoding.DecodeString(v); err == nil && len(data) > 0 &&
			(data[0] == '{' || data[0] == '[') {
			return normal(string(data))
		}
		if inner, err := raw.Parse([]byte(v)); err == nil && (inner.IsObject() || inner.IsList()) {
			return normal(raw.Reveal(inner))
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = normal(e); e != nil {
				out[k] = e
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	if v == "" {
		return nil
	}
	return v
}

// values draws attribute values: nested blocks, sets, and documents in strings.
func values(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true),
		rapid.Map(rapid.IntRange(0, 4), func(n int) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Map(rapid.StringMatching(`[x-z]{0,2}`), func(s string) any { return s }),
		rapid.SampledFrom([]any{"a long enough text", "x\ny\nz\n", "x\nz\n"}))
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return values(depth - 1) })
	list := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l })
	object := rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "name", "id"}), inner, 0, 4),
		func(m map[string]any) any { return m })
	document := rapid.Map(rapid.OneOf(list, object), func(v any) any { text, _ := raw.Text(raw.Of(v)); return text })
	encoded := rapid.Map(document, func(v any) any {
		text, _ := v.(string)
		return base64.StdEncoding.EncodeToString([]byte(text))
	})
	return rapid.OneOf(leaf, list, object, document, encoded)
}

// TestApplyingTheDifferencesGivesAfter checks that no difference is missing and that none is listed
// for an unchanged value.
func TestApplyingTheDifferencesGivesAfter(t *testing.T) {
	attributes := rapid.MapOfN(rapid.SampledFrom([]string{"p", "q", "r"}), values(3), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		before := attributes.Draw(t, "before")
		after := attributes.Draw(t, "after")
		got, _ := newPatch(t, raw.Of(before), raw.Of(after)).apply(nil, before, true)
		if d := cmp.Diff(normal(after), normal(got)); d != "" {
			t.Fatalf("%v with the differences applied is not %v (-want +got):\n%s", before, after, d)
		}
		if same := newPatch(t, raw.Of(before), raw.Of(before)); len(same.at) > 0 {
			t.Fatalf("%v against itself has %d differences", before, len(same.at))
		}
	})
}
