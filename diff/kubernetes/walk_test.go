package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// applied applies the differences to before, which defines their meaning.
func applied(t *schema.Type, before any, found []difference, depth int) any {
	groups := map[string][]difference{}
	var keys []tree.Step
	var order []int
	for _, d := range found {
		if len(d.path) == depth {
			if d.order == nil {
				return raw.Reveal(d.after)
			}
			order = d.order
			continue
		}
		k := fmt.Sprintf("%#v", *d.path[depth])
		if d.path[depth].IsIndex && len(d.path) == depth+1 && d.order == nil && !d.hasAfter {
			k = "gone " + k
		}
		if groups[k] == nil {
			keys = append(keys, *d.path[depth])
		}
		groups[k] = append(groups[k], d)
	}
	if len(groups) == 0 && order == nil {
		return before
	}
	if list, ok := before.([]any); ok {
		return appliedList(t, list, groups, order, depth)
	}
	out := maps.Clone(before.(map[string]any))
	for _, s := range keys {
		group := groups[fmt.Sprintf("%#v", s)]
		if d := group[0]; len(d.path) == depth+1 && d.order == nil && !d.hasAfter {
			delete(out, s.Key)
			continue
		}
		out[s.Key] = applied(t.Field(s.Key), out[s.Key], group, depth+1)
	}
	return out
}

func appliedList(t *schema.Type, before []any, groups map[string][]difference, order []int, depth int) any {
	gone, added := map[int]bool{}, map[int]any{}
	inside := map[int][]difference{}      // by index in before
	insideAfter := map[int][]difference{} // by index in after
	for _, group := range groups {
		d := group[0]
		s := d.path[depth]
		ends := len(d.path) == depth+1 && d.order == nil
		switch {
		case ends && !d.hasAfter:
			gone[d.place] = true
		case ends && !d.hasBefore:
			added[d.place] = raw.Reveal(d.after)
		case s.IsIndex:
			insideAfter[s.Index] = group
		default:
			inside[placeOf(t.Elem(), before, *s)] = group
		}
	}
	if order == nil {
		order = []int{}
		news := func() {
			for _, ok := added[len(order)]; ok; _, ok = added[len(order)] {
				order = append(order, -1)
			}
		}
		for i := range before {
			news()
			if !gone[i] {
				order = append(order, i)
			}
		}
		news()
	}
	out := make([]any, len(order))
	for j, i := range order {
		if i < 0 {
			out[j] = added[j]
			continue
		}
		out[j] = applied(t.Elem(), before[i], append(inside[i], insideAfter[j]...), depth+1)
	}
	return out
}

func placeOf(elem *schema.Type, list []any, s tree.Step) int {
	for i, e := range list {
		name, ok := scalarText(raw.Of(e))
		if len(s.By()) > 0 {
			name, ok = keyName(raw.Of(e), elem, s.By())
		}
		if ok && name == s.Select {
			return i
		}
	}
	return -1
}

// normal removes nulls from maps.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e != nil {
				out[k] = normal(e)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, normal(e))
		}
		return out
	}
	return v
}

// same compares two values by the meaning of their plain values.
func same(t *schema.Type, a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if _, ok := b[k]; !ok || !same(t.Field(k), a[k], b[k]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(t.Elem(), a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return schema.Equal(t, raw.Of(a), raw.Of(b))
}

var plainValues = rapid.SampledFrom([]any{
	"a", "b", "80", "1", "100m", "0.1", "1Gi", "60s", "", "TCP", "UDP", json.Number("80"), json.Number("1"),
	json.Number("53"), json.Number("1.0"),
	true, false,
})

var someKeys = rapid.SampledFrom([]string{
	"name", "value", "image", "env", "ports", "containerPort", "protocol", "labels", "rules", "verbs", "key", "args",
	"resources", "limits", "cpu", "x",
})

// anyValue draws any value, with lists of objects that have names, repeat them, or have none.
func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case depth == 0 || kind < 3:
			return plainValues.Draw(t, "plain")
		case kind == 3:
			return nil
		case kind < 7:
			return rapid.MapOfN(someKeys, anyValue(depth-1), 0, 5).Draw(t, "object")
		case kind == 7:
			return rapid.SliceOfN(plainValues, 0, 5).Draw(t, "plain list")
		default:
			return rapid.SliceOfN(anyValue(depth-1), 0, 5).Draw(t, "list")
		}
	})
}

// elementOf draws a value as in the lists of pods.
func elementOf(t *rapid.T, names []string) map[string]any {
	e := rapid.MapOfN(someKeys, anyValue(2), 0, 4).Draw(t, "element")
	e["name"] = rapid.SampledFrom(names).Draw(t, "name")
	return e
}

// aDeployment draws something that resembles a Deployment.
func aDeployment(t *rapid.T) any {
	list := func(of func() any) []any {
		out := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			out = append(out, of())
		}
		return out
	}
	names := []string{"a", "b", "c", "d"}
	containers := list(func() any {
		c := elementOf(t, names)
		c["env"] = list(func() any { return elementOf(t, names) })
		c["ports"] = list(func() any {
			return map[string]any{"containerPort": plainValues.Draw(t, "port"),
				"protocol": rapid.SampledFrom([]any{"TCP", "UDP", nil}).Draw(t, "protocol")}
		})
		return c
	})
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "labels": anyValue(2).Draw(t, "labels"),
			"finalizers": anyValue(1).Draw(t, "finalizers")},
		"spec": map[string]any{
			"replicas": plainValues.Draw(t, "replicas"),
			"template": map[string]any{"spec": map[string]any{"containers": containers,
				"volumes": anyValue(3).Draw(t, "volumes")}},
		},
	}
}

// mutated changes a value in some places.
func mutated(t *rapid.T, v any, depth int) any {
	if rapid.IntRange(0, 5).Draw(t, "change") == 0 {
		return anyValue(2).Draw(t, "new")
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch rapid.IntRange(0, 8).Draw(t, "key") {
			case 0:
			case 1, 2, 3:
				out[k] = mutated(t, v[k], depth+1)
			default:
				out[k] = v[k]
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		if len(out) > 1 && rapid.Bool().Draw(t, "shuffle") {
			out = rapid.Permutation(out).Draw(t, "order")
		}
		for i := range out {
			if rapid.IntRange(0, 3).Draw(t, "element") == 0 {
				out[i] = mutated(t, out[i], depth+1)
			}
		}
		if rapid.Bool().Draw(t, "insert") {
			at := rapid.IntRange(0, len(out)).Draw(t, "at")
			out = slices.Insert(out, at, anyValue(2).Draw(t, "inserted"))
		}
		if len(out) > 0 && rapid.Bool().Draw(t, "remove") {
			at := rapid.IntRange(0, len(out)-1).Draw(t, "from")
			out = slices.Delete(out, at, at+1)
		}
		return out
	}
	return v
}

// TestDifferencesGiveAfter checks that applying the raw differences,
// including folded ones, to before yields after.
func TestDifferencesGiveAfter(t *testing.T) {
	types := map[string]*schema.Type{
		"unknown": nil, "Deployment": schema.Builtin().Find("apps", "v1", "Deployment"),
		"Role": schema.Builtin().Find("rbac.authorization.k8s.io", "v1", "Role"),
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"unknown", "Deployment", "Role"}).Draw(t, "type")
		typ := types[kind]
		before := aDeployment(t)
		if kind != "Deployment" {
			before = map[string]any{"x": anyValue(4).Draw(t, "before")}
		}
		after := mutated(t, before, 0)
		if _, ok := after.(map[string]any); !ok {
			after = map[string]any{"x": after}
		}
		w := &walker{names: &names{}, lists: orders[kind]}
		n := both(typ, raw.Of(before), raw.Of(after))
		n.builtin = typ != nil
		w.walk(n)
		if reflect.DeepEqual(normal(before), normal(after)) && len(w.out) > 0 {
			t.Fatalf("equal values have %d differences, the first at %s", len(w.out), w.out[0].path.Text(tree.Step.Plain))
		}
		got := normal(applied(typ, before, w.out, 0))
		if !same(typ, got, normal(after)) {
			a, _ := json.Marshal(normal(before))
			b, _ := json.Marshal(normal(after))
			g, _ := json.Marshal(got)
			var paths []string
			for _, d := range w.out {
				paths = append(paths, d.path.Text(tree.Step.Plain))
			}
			t.Fatalf("before %s\nafter  %s\ngot    %s\nby %q", a, b, g, paths)
		}
	})
}

// TestNothingDiffersFromItself checks the minimum of a comparison: equal
// values have no differences.
func TestNothingDiffersFromItself(t *testing.T) {
	typ := schema.Builtin().Find("apps", "v1", "Deployment")
	rapid.Check(t, func(t *rapid.T) {
		v := aDeployment(t)
		w := &walker{names: &names{}}
		w.walk(both(typ, raw.Of(v), raw.Of(v)))
		if len(w.out) != 0 {
			t.Fatalf("%d differences, the first at %s", len(w.out), w.out[0].path.Text(tree.Step.Plain))
		}
	})
}
