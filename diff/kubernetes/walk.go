package kubernetes

import (
	"iter"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// maxDepth is how deep values are compared field by field; deeper ones are compared as a whole.
const maxDepth = 64

// walker finds the differences of two values.
type walker struct {
	// document means that the values are those of a document inside a string, in
	// which null is a value like any other. In an object, null omits a field.
	document bool
	// nulls means that null is compared as the API server stores it. Against
	// a cluster, null removes a field.
	nulls bool
	// lists are the fields of the kind with lists whose order has another
	// meaning than the schema declares.
	lists listOrders
	names *names
	// path leads to the current place of the walk. Its steps are those of steps, at the same depths:
	// they are used again for the next place until a difference has them.
	path  tree.Path
	steps []*tree.Step
	out   []difference
}

// node is one place in both values.
type node struct {
	// typ is the type after the change, and was the one before it.
	typ, was                   *schema.Type
	before, after              raw.Value
	hasBefore, hasAfter        bool
	parentBefore, parentAfter  raw.Value
	place                      int
	builtin, sensitive, atomic bool
	holds                      secretScope
	// template: the place is inside a pod template, where every difference recreates the pods.
	template bool
	// order is the meaning of the order of a list at this place, if that differs from the schema.
	order order
}

// both returns the node of two existing values.
func both(t *schema.Type, before, after raw.Value) node {
	return node{typ: t, was: t, before: before, after: after, hasBefore: true, hasAfter: true}
}

// step continues the walk in a part.
func (w *walker) step(s tree.Step, n node) {
	depth := len(w.path)
	for len(w.steps) <= depth { // by more than one if the walk started below a path
		w.steps = append(w.steps, nil)
	}
	if w.steps[depth] == nil {
		w.steps[depth] = new(tree.Step)
	}
	*w.steps[depth] = s
	w.path = append(w.path, w.steps[depth])
	w.walk(n)
	w.path = w.path[:depth]
}

// keepPath returns the path to the current place, which later steps do not change.
func (w *walker) keepPath() tree.Path {
	clear(w.steps[:min(len(w.steps), len(w.path))])
	return slices.Clone(w.path)
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
	case !schema.Equal(n.typ, n.before, n.after) || n.was != n.typ && !schema.Equal(n.was, n.before, n.after):
		w.emit(n)
	}
}

// emit adds a difference with both sides of the node.
func (w *walker) emit(n node) {
	d := difference{
		path: w.keepPath(), typ: n.typ, was: n.was, before: n.before, after: n.after, hasBefore: n.hasBefore,
		hasAfter: n.hasAfter, place: n.place, atomic: n.atomic, builtin: n.builtin, sensitive: n.sensitive, holds: n.holds,
	}
	if !n.hasBefore {
		d.parent = n.parentBefore
	} else if !n.hasAfter {
		d.parent = n.parentAfter
	}
	w.out = append(w.out, d)
}

// object compares two objects key by key.
func (w *walker) object(n node) {
	_, wasSpec := n.before.Get("spec")
	_, isSpec := n.after.Get("spec")
	template := n.template || isPods(n.before, wasSpec || isSpec) || isPods(n.after, wasSpec || isSpec)
	for k := range unionOfKeys(n.before.Fields(), n.after.Fields()) {
		child := node{
			typ: n.typ.Field(k), was: n.was.Field(k), builtin: n.builtin || len(w.path) == 0 && !w.document && k == "metadata",
			atomic: n.atomic, template: template, parentBefore: n.before, parentAfter: n.after,
			sensitive: n.sensitive || w.names.secretField(n, k),
			order:     w.lists.at(w.path, k),
		}
		child.before, child.hasBefore = w.get(&n, n.before, k)
		child.after, child.hasAfter = w.get(&n, n.after, k)
		child.holds = max(n.holds.at(n.builtin, n.before, k, child.before), n.holds.at(n.builtin, n.after, k, child.after))
		w.step(tree.Step{Key: k}, child)
	}
}

// unionOfKeys iterates over the keys of two objects in order.
func unionOfKeys(a, b []raw.Field) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(a) > 0 || len(b) > 0 {
			var key string
			switch {
			case len(b) == 0 || len(a) > 0 && a[0].Key < b[0].Key:
				key, a = a[0].Key, a[1:]
			case len(a) == 0 || b[0].Key < a[0].Key:
				key, b = b[0].Key, b[1:]
			default:
				key, a, b = a[0].Key, a[1:], b[1:]
			}
			if !yield(key) {
				return
			}
		}
	}
}

// get returns the value at a key, as the API server stores it: null omits most fields.
func (w *walker) get(n *node, v raw.Value, key string) (raw.Value, bool) {
	child, ok := v.Get(key)
	if !ok || w.document || !child.IsNull() {
		return child, ok
	}
	if !w.nulls {
		return child, false
	}
	return storedNull(n.typ, n.builtin, key)
}

// storedNull returns what the API server stores for null at a key of an
// object, and whether it keeps the key.
func storedNull(t *schema.Type, builtin bool, key string) (raw.Value, bool) {
	if !t.KeepsNull(builtin, key) {
		return raw.Value{}, false
	}
	if builtin {
		return t.Field(key).Zero(), true
	}
	return raw.Value{}, true
}

// isPods reports whether an object defines pods: a Pod, a pod template, or the spec
// of either, in objects of any kind.
func isPods(v raw.Value, hasSpec bool) bool {
	if hasSpec {
		v, _ = v.Get("spec")
	}
	containers, _ := v.Get("containers")
	before, _ := v.Get("initContainers")
	return containers.IsList() || before.IsList()
}
