package risk

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// versions returns the names of the versions of a custom resource for which holds is true.
func versions(crd raw.Value, holds func(raw.Value) bool) map[string]bool {
	out := map[string]bool{}
	for _, v := range oneOrMore(get(crd, "spec", "versions")) {
		if holds == nil || holds(v) {
			out[text(get(v, "name"))] = true
		}
	}
	return out
}

func served(v raw.Value) bool  { return get(v, "served").IsTrue() }
func storage(v raw.Value) bool { return get(v, "storage").IsTrue() }

// fieldGone reports whether a difference removes a field from the schema of a version that remains:
// the field itself, a block that contains it, or a part of it.
func fieldGone(t Difference, after func(tree.Step) (raw.Value, bool)) bool {
	if !t.HasBefore || len(t.Path) < 4 {
		return false
	}
	version, ok := after(*t.Path[2])
	if !ok {
		return false
	}
	at := t.Path[3:]
	was, is := t.Before, t.After
	if len(at) == 1 { // the whole schema
		return losesField(get(was, "openAPIV3Schema"), get(is, "openAPIV3Schema"), maxDepth)
	}
	here := get(version, "schema", "openAPIV3Schema")
	for at = at[2:]; len(at) > 0; {
		switch step := at[0].Key; {
		case step == "properties" && len(at) == 1:
			return losesOf(was, is, maxDepth) && !keeps(here)
		case step == "properties":
			field, ok := get(here, "properties").Get(at[1].Key)
			if !ok {
				return !keeps(here)
			}
			here, at = field, at[2:]
		case step == "items" || step == "additionalProperties":
			here, at = get(here, step), at[1:]
		default: // the schema of one field
			return false
		}
	}
	return losesField(was, is, maxDepth)
}

// element returns the element of a list of named things to which a step leads.
func element(l raw.Value, s tree.Step) (raw.Value, bool) {
	if s.IsIndex {
		return l.At(s.Index), s.Index < l.Len()
	}
	for i := range l.Len() {
		if text(get(l.At(i), "name")) == s.Select {
			return l.At(i), true
		}
	}
	return raw.Value{}, false
}

// finder returns a function like element that serves many steps into one list.
func finder(list raw.Value) func(tree.Step) (raw.Value, bool) {
	byName := map[string]raw.Value{}
	for i := list.Len() - 1; i >= 0; i-- {
		byName[text(get(list.At(i), "name"))] = list.At(i)
	}
	return func(s tree.Step) (raw.Value, bool) {
		if s.IsIndex {
			return list.At(s.Index), s.Index < list.Len()
		}
		v, ok := byName[s.Select]
		return v, ok
	}
}

// keeps reports whether an object preserves fields that its schema does not declare.
func keeps(schema raw.Value) bool {
	return get(schema, "x-kubernetes-preserve-unknown-fields").IsTrue()
}

// maxDepth bounds the depth to which schemas are compared.
const maxDepth = 40

// losesField reports whether before has a field that after lacks.
func losesField(before, after raw.Value, depth int) bool {
	if depth == 0 || !before.IsObject() {
		return false
	}
	if losesOf(get(before, "properties"), get(after, "properties"), depth-1) && !keeps(after) {
		return true
	}
	return losesField(get(before, "items"), get(after, "items"), depth-1) ||
		losesField(get(before, "additionalProperties"), get(after, "additionalProperties"), depth-1)
}

// losesOf compares the properties of two schemas for losesField.
func losesOf(before, after raw.Value, depth int) bool {
	for _, k := range before.Keys() {
		is, stays := after.Get(k)
		was, _ := before.Get(k)
		if !stays || losesField(was, is, depth) {
			return true
		}
	}
	return false
}
