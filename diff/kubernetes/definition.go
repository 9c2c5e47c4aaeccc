package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file makes the schemas of custom resources readable: they are the largest things in manifests by far, and of a field that comes or goes
// one line says enough.

// schemaKey is the field of a definition that holds a schema.
const schemaKey = "openAPIV3Schema"

// schemaPlace is where in a schema a path leads.
type schemaPlace struct {
	// depth is how many steps of the custom resource lead to the field, and field the last of them, see fieldStep.
	depth int
	field tree.Step
	// rest is what of the field's schema the path leads to; empty for all of it.
	rest tree.Path
}

// placeIn is the place that a path leads to in the schema of a custom resource. Not ok: it leads elsewhere.
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

// schemaRoot is how many steps of a path lead to a schema; 0 if it does not lead into one.
func schemaRoot(p tree.Path) int {
	for i := 2; i < len(p); i++ {
		if p[i].Key == schemaKey && (p[i-1].Key == "schema" || p[i-1].Key == "validation") {
			return i + 1
		}
	}
	return 0
}

// fieldStep takes the first step that leads from a schema to a field of it: a key, an index that stands for all elements of a list, or a
// selection that stands for all values of a map. Not ok: there is none.
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

// pathText is a path as people may see it. In a schema it is that of the field, and then what is said of it:
// spec.versions[v1] (schema) spec.routes[].weight: default.
func pathText(p tree.Path, shown func(tree.Step) string) string {
	root := schemaRoot(p)
	if root == 0 {
		return p.Text(shown)
	}
	var b strings.Builder
	b.WriteString(p[:root-2].Text(shown) + " (schema)")
	rest := p[root:]
	for first := true; ; first = false {
		field, after, ok := fieldStep(rest)
		if !ok {
			break
		}
		rest = after
		switch text := (tree.Path{{}, field}).Text(shown); {
		case field.IsIndex:
			b.WriteString("[]")
		case field.IsSelect:
			b.WriteString("[*]")
		case first:
			b.WriteString(" " + strings.TrimPrefix(text, "."))
		default:
			b.WriteString(text)
		}
	}
	if len(rest) > 0 {
		b.WriteString(": " + strings.TrimPrefix(append(tree.Path{{}}, rest...).Text(shown), "."))
	}
	return b.String()
}

// schema adds a part of a schema that only one side has, if that is all of a field: one difference for it, and one that is folded for its
// description. Of a whole schema, and of what it says of spec and status, the fields are added one by one.
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

// opened is how deep in a schema the fields of what comes or goes are shown one by one: those of spec and of status.
const opened = 2

func without(v raw.Value, key string) raw.Value {
	kept := make(map[string]any, len(v.Keys()))
	for _, k := range v.Keys() {
		if k != key {
			child, _ := v.Get(k)
			kept[k] = raw.Reveal(child)
		}
	}
	return raw.Of(kept)
}

// mentions says that a small value has a key somewhere.
func mentions(v raw.Value, key string) bool {
	return !raw.Leaves(v, func(text string, isKey bool) bool { return !isKey || text != key })
}

// maxAlike is how often the same change of fields of one name is shown: generators write the schema of a type wherever that is used.
const maxAlike = 3

// foldRepeats folds what is added to a schema as often elsewhere and changes nothing for objects that do not use it; the fields nearest to
// the root stay. It comes after the rules of risk, which look at all of them.
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

// assumed are what a schema says of a field anyway, if it does not say so.
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
var assumed = map[string]string{"x-kubernetes-list-type": "atomic", "x-kubernetes-map-type": "granular", "nullable": "false"}

// assumes says that one side writes what the other one assumes of a field in a schema.
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

// maxOutline is how many bytes of names an outline has, about.
const maxOutline = 90

// outline is what a schema is about, for one line: the names and types of its fields, or only its type.
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

// outlineFields are the first fields of a schema, and that there are more.
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

// typeOf is the type of a field in one word.
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
