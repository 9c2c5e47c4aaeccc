package kubernetes

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// maxDepth is how deep values are compared field by field; below it they are compared whole.
const maxDepth = 64

// walker finds the differences of two values.
type walker struct {
	// document says that the values are those of a document inside a string, where null is a value like any other. In an object it is what
	// leaves a field out.
	document bool
	// unordered are the fields with lists of which the order means nothing.
	unordered map[string]bool
	names     *names
	// path leads to where the walk is now.
	path tree.Path
	out  []difference
}

// node is one place in both values.
type node struct {
	typ                        *schema.Type
	before, after              raw.Value
	hasBefore, hasAfter        bool
	parentBefore, parentAfter  raw.Value
	place                      int
	builtin, sensitive, atomic bool
	// template: the place is inside of what pods are made of, where every difference makes them anew. unordered: see walker.
	template, unordered bool
}

// both is the node of two values that are there.
func both(t *schema.Type, before, after raw.Value) node {
	return node{typ: t, before: before, after: after, hasBefore: true, hasAfter: true}
}

// step walks on into a part.
func (w *walker) step(s tree.Step, n node) {
	w.path = append(w.path, s)
	w.walk(n)
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) walk(n node) {
	switch {
	case !n.hasBefore && !n.hasAfter:
	case n.hasBefore != n.hasAfter:
		w.emit(n)
	case len(w.path) < maxDepth && n.before.IsObject() && n.after.IsObject():
		w.object(n)
	case len(w.path) < maxDepth && n.before.IsList() && n.after.IsList():
		w.list(n)
	case !schema.Equal(n.typ, n.before, n.after):
		w.emit(n)
	}
}

// emit adds a difference with both sides as they are here.
func (w *walker) emit(n node) {
	d := difference{
		path: slices.Clone(w.path), typ: n.typ, before: n.before, after: n.after, hasBefore: n.hasBefore, hasAfter: n.hasAfter, place: n.place,
		atomic: n.atomic, builtin: n.builtin, sensitive: n.sensitive,
	}
	if !n.hasBefore {
		d.parent = n.parentBefore
	} else if !n.hasAfter {
		d.parent = n.parentAfter
	}
	w.out = append(w.out, d)
}

// object compares key by key.
func (w *walker) object(n node) {
	for _, k := range tree.Union(n.before.Keys(), n.after.Keys()) {
		child := node{
			typ: n.typ.Field(k), builtin: n.builtin, atomic: n.atomic, template: n.template,
			parentBefore: n.before, parentAfter: n.after,
			sensitive: n.sensitive || w.names.secretField(n, k),
			unordered: w.unordered[k],
		}
		child.before, child.hasBefore = w.get(n.before, k)
		child.after, child.hasAfter = w.get(n.after, k)
		if k == "template" && (podTemplate(child.before) || podTemplate(child.after)) {
			child.template = true
		}
		w.step(tree.Step{Key: k}, child)
	}
}

// get is the value at a key. Null leaves a field out, as it does for an apply.
func (w *walker) get(v raw.Value, key string) (raw.Value, bool) {
	child, ok := v.Get(key)
	return child, ok && (w.document || !child.IsNull())
}

// podTemplate says that a value is what pods are made of.
func podTemplate(v raw.Value) bool {
	spec, _ := v.Get("spec")
	containers, ok := spec.Get("containers")
	return ok && containers.IsList()
}
