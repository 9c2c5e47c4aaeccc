package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file makes the schemas of custom resources readable: they are by far the largest
// values in manifests, and one line is enough for a field that is added or removed.

// schemaKey is the field of a definition that holds a schema.
const schemaKey = "openAPIV3Schema"

// schemaPlace is a position in a schema.
type schemaPlace struct {
	// depth is the number of steps from the custom resource to the field, and
	// field the last of them, see fieldStep.
	depth int
	field tree.Step
	// rest is the path inside the field's schema; empty for all of it.
	rest tree.Path
}

// placeIn returns the position that a path leads to in the schema of a custom
// resource. It returns not ok if the path leads elsewhere.
func placeIn(p tree.Path) (schemaPlace, bool) {
	root := schemaRoot(p)
	at := schemaPlace{rest: p[root:]}
	for root > 0 {
		field, rest, ok := fieldStep(at.rest)
		if !ok {
			break
		}
		at.field, at.rest, at.depth = field, rest, at.depth+1
	}
	return at, root > 0
}

// schemaRoot returns the number of steps of a path up to a schema; 0 if it does not lead into one.
func schemaRoot(p tree.Path) int {
	for i := 2; i < len(p); i++ {
		if p[i].Key == schemaKey && (p[i-1].Key == "schema" || p[i-1].Key == "validation") {
			return i + 1
		}
	}
	return 0
}

// fieldStep splits off the first step from a schema to a field of it: a key, an index for all
// elements of a list, or a selection for all values of a map. It returns not ok if there is none.
func fieldStep(p tree.Path) (field tree.Step, rest tree.Path, ok bool) {
	switch {
	case len(p) > 1 && p[0].Key == "properties":
		return tree.Step{Key: p[1].Key}, p[2:], true
	case len(p) > 0 && p[0].Key == "items":
		return tree.Step{IsIndex: true}, p[1:], true
	case len(p) > 0 && p[0].Key == "additionalProperties":
		return tree.Step{IsSelect: true}, p[1:], true
	}
	return tree.Step{}, p, false
}

// pathText returns a path as it may be shown. In a schema it is the path of the field,
// followed by the schema's own key: spec.versions[v1] (schema) spec.routes[].weight: default.
func pathText(p tree.Path, shown func(tree.Step) string) string {
	root := schemaRoot(p)
	if root == 0 {
		return p.Text(shown)
	}
	var b strings.Builder
	b.Grow(len(p) * len("properties"))
	b.WriteString(p[:root-2].Text(shown))
	b.WriteString(" (schema)")
	rest := p[root:]
	for first := true; ; first = false {
		field, after, ok := fieldStep(rest)
		if !ok {
			break
		}
		rest = after
		switch {
		case field.IsIndex:
			b.WriteString("[]")
		case field.IsSelect:
			b.WriteString("[*]")
		default:
			if first {
				b.WriteByte(' ')
			}
			tree.Path{&field}.AppendText(&b, first, shown)
		}
	}
	if len(rest) > 0 {
		b.WriteString(": ")
		rest.AppendText(&b, rest[0].Into() == "", shown)
	}
	return strings.TrimRight(b.String(), " ")
}

// schema adds a part of a schema that only one side has, if that is a whole
// field: one difference for it, and one folded for its description. The
// fields of a whole schema, and of its spec and status, are added one by one.
func (s *shower) schema(d difference, v raw.Value) bool {
	at, ok := placeIn(d.path)
	if !ok || len(at.rest) > 0 || !v.IsObject() {
		return false
	}
	if words, ok := v.Get("description"); ok && isText(words) {
		part := d.part(d.path.Field("description"), words)
		part.fold = foldDescription
		v = without(v, "description")
		d = d.part(d.path, v)
		defer s.leaf(part)
	}
	budget := maxCompact
	if !compact(v, &budget) || mentions(v, "description") {
		if at.depth < opened {
			s.keys(d, v)
			return true
		}
		d.outline = outline(v)
	}
	s.leaf(d)
	return true
}

// opened is the depth down to which the fields of an added or removed schema
// are shown one by one: those of spec and of status.
const opened = 2

func without(v raw.Value, key string) raw.Value {
	return v.Without(key)
}

// mentions reports whether a small value has a key at any depth.
func mentions(v raw.Value, key string) bool {
	return !raw.Leaves(v, func(text string, isKey bool) bool { return !isKey || text != key })
}

// maxAlike is how often the same change of fields with one name is shown:
// generators repeat the schema of a type wherever it is used.
const maxAlike = 3

// foldRepeats folds repetitions of the same addition to a schema that changes
// nothing for objects that do not use it; those nearest to the root stay
// visible. It runs after the risk rules, which check all of them.
func foldRepeats(out *outcome) {
	type change struct {
		field, said         string
		before, after       uint64
		hasBefore, hasAfter bool
	}
	type place struct{ difference, depth int }
	alike := map[change][]place{}
	for i := range out.differences {
		d := &out.differences[i]
		at, ok := placeIn(d.path)
		if !ok || !inert(d, at.rest) || d.fold != "" || d.order != nil || at.depth == 0 {
			continue
		}
		c := change{
			field: at.field.Key, said: at.rest.Text(tree.Step.Plain),
			before: d.before.Hash(), after: d.after.Hash(), hasBefore: d.hasBefore, hasAfter: d.hasAfter,
		}
		alike[c] = append(alike[c], place{i, at.depth})
	}
	for _, places := range alike {
		slices.SortStableFunc(places, func(a, b place) int { return a.depth - b.depth })
		for _, p := range places[min(maxAlike, len(places)):] {
			out.differences[p.difference].fold = foldRepeated
			out.change.Fields[p.difference].Fold = foldRepeated
		}
	}
}

// assumed are the values that a schema implies for keys that it does not set.
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
var assumed = map[string]string{"x-kubernetes-list-type": "atomic", "x-kubernetes-map-type": "granular",
	"nullable": "false"}

// assumes reports whether one side sets a key to the value that it has without being set.
func assumes(d *difference) bool {
	want, known := assumed[d.path[len(d.path)-1].Key]
	if !known || d.hasBefore == d.hasAfter {
		return false
	}
	at, ok := placeIn(d.path)
	said, scalar := scalarOf(d.values()[0])
	return ok && len(at.rest) == 1 && scalar && said == want
}

func scalarOf(v raw.Value) (string, bool) {
	said, kind := raw.Text(v)
	return said, kind == "string" || kind == "bool"
}

// maxOutline is the approximate number of bytes of names in an outline.
const maxOutline = 90

// outline returns a summary of a schema for one line: the names and types of
// its fields, or only its type.
func outline(schema raw.Value) raw.Value { return raw.Of(outlineOf(schema, maxDepth)) }

func outlineOf(schema raw.Value, depth int) any {
	properties, _ := schema.Get("properties")
	items, isList := schema.Get("items")
	values, isMap := schema.Get("additionalProperties")
	switch {
	case depth == 0:
	case properties.IsObject():
		return outlineFields(properties)
	case isList:
		return []any{outlineOf(items, depth-1)}
	case isMap && values.IsObject():
		return map[string]any{"*": outlineOf(values, depth-1)}
	}
	return typeOf(schema)
}

// outlineFields returns the first fields of a schema, and a mark if there are more.
func outlineFields(properties raw.Value) any {
	out := map[string]any{}
	room := maxOutline
	for _, k := range properties.Keys() {
		field, _ := properties.Get(k)
		word := typeOf(field)
		if room -= len(k) + len(word) + len(`"":"",`); room < 0 && len(out) > 0 {
			break
		}
		out[k] = word
	}
	return out
}

// typeOf returns the type of a field in one word.
func typeOf(schema raw.Value) string {
	if either, _ := schema.Get("x-kubernetes-int-or-string"); either.IsTrue() {
		return "int-or-string"
	}
	name := raw.TextAt(schema, "type")
	if name == "" {
		return "any"
	}
	return name
}
