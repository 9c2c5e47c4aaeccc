package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// maxDepth is how deep values are compared field by field; below it they are compared whole.
const maxDepth = 64

// mark is a tree of booleans beside a value: true stands for the whole value under it.
type mark struct{ raw diff.Raw }

func (m mark) all() bool { return m.raw.IsTrue() }

// some says that anything at or under the mark is marked.
func (m mark) some() bool {
	if m.raw.IsTrue() {
		return true
	}
	for _, k := range m.raw.Keys() {
		if m.key(k).some() {
			return true
		}
	}
	for i := range m.raw.Len() {
		if m.index(i).some() {
			return true
		}
	}
	return false
}

func (m mark) key(k string) mark {
	if m.all() {
		return m
	}
	child, _ := m.raw.Get(k)
	return mark{child}
}

func (m mark) index(i int) mark {
	if m.all() {
		return m
	}
	return mark{m.raw.At(i)}
}

// node is one place in both values, with the marks that belong to it.
type node struct {
	before, after       diff.Raw
	hasBefore, hasAfter bool
	unknown, was, is    mark
	// lone: the value around this place is on one side only, where a null is an attribute that nobody set.
	lone bool
}

type comparer struct {
	masker  *diff.Masker
	forcing []tree.Path
	fields  []diff.FieldChange
}

// compare lists the differences of a change field by field, and names the attributes that force a replacement.
func compare(m *diff.Masker, c change, a diff.Action) (fields []diff.FieldChange, forced []string) {
	cmp := &comparer{masker: m}
	if a == diff.Replace {
		cmp.forcing = replacePaths(c.ReplacePaths)
	}
	if a == diff.Destroy || a == diff.Forget {
		// What goes is known.
		c.AfterUnknown = diff.Raw{}
	}
	cmp.walk(nil, node{
		before: c.Before, after: c.After,
		hasBefore: a != diff.Create && a != diff.Read || !c.Before.IsNull(),
		hasAfter:  a != diff.Destroy && a != diff.Forget || !c.After.IsNull(),
		unknown:   mark{c.AfterUnknown}, was: mark{c.BeforeSensitive}, is: mark{c.AfterSensitive},
	}, 0)
	seen := map[string]bool{}
	for _, p := range cmp.forcing {
		if text := p.Text(m.Text); !seen[text] {
			seen[text] = true
			forced = append(forced, text)
		}
	}
	return cmp.fields, forced
}

func (c *comparer) walk(p tree.Path, n node, depth int) {
	switch {
	case n.unknown.all():
		c.emit(p, n)
	case n.was.all() && n.hasBefore || n.is.all() && n.hasAfter:
		c.sensitive(p, n)
	case depth < maxDepth && fits(n, diff.Raw.IsObject):
		c.object(p, n, depth)
	case depth < maxDepth && fits(n, diff.Raw.IsList):
		c.list(p, n, depth)
	default:
		c.leaf(p, n)
	}
}

// fits says that at least one side is of a shape and the other one is, too, or is nothing.
func fits(n node, shape func(diff.Raw) bool) bool {
	before, after := shape(n.before), shape(n.after)
	return before && after || before && n.after.IsNull() || after && n.before.IsNull()
}

// sensitive adds a field that is marked as a whole. It is listed when its value or its mark changes: from then on others may read
// it, or no longer.
func (c *comparer) sensitive(p tree.Path, n node) {
	if n.lone && n.before.IsNull() && n.after.IsNull() {
		return
	}
	sameMark := n.was.all() == n.is.all()
	if n.hasBefore == n.hasAfter && !n.unknown.some() && sameMark && n.before.Equal(n.after) {
		return
	}
	c.emit(p, n)
}

func (c *comparer) leaf(p tree.Path, n node) {
	if n.lone && n.before.IsNull() && n.after.IsNull() {
		return
	}
	if n.hasBefore == n.hasAfter && !n.unknown.some() && n.before.Equal(n.after) {
		return
	}
	c.emit(p, n)
}

// emit adds a field with both sides as they are here.
func (c *comparer) emit(p tree.Path, n node) {
	before := diff.Side{Value: n.before, Absent: !n.hasBefore, Sensitive: n.was.some()}
	after := diff.Side{Value: n.after, Absent: !n.hasAfter, Unknown: n.unknown.some(), Sensitive: n.is.some()}
	f := c.masker.Field(p, before, after)
	for _, forcing := range c.forcing {
		if p.Overlaps(forcing) {
			f.ForcesReplace = true
		}
	}
	c.fields = append(c.fields, f)
}

// object compares key by key: those of either side and those that are known only after apply.
func (c *comparer) object(p tree.Path, n node, depth int) {
	count := len(c.fields)
	lone := !n.before.IsObject() || !n.after.IsObject()
	for _, k := range unionKeys(n) {
		before, hasBefore := n.before.Get(k)
		after, hasAfter := n.after.Get(k)
		unknown := n.unknown.key(k)
		c.walk(p.Field(k), node{
			before: before, after: after, hasBefore: hasBefore,
			// A plan leaves out of after what is not known yet.
			hasAfter: hasAfter || unknown.some(), unknown: unknown,
			was: n.was.key(k), is: n.is.key(k), lone: lone,
		}, depth+1)
	}
	c.never(count, p, n)
}

// never makes sure that a difference is not lost because none of the parts shows it: an empty object that appears, elements that
// only change places.
func (c *comparer) never(count int, p tree.Path, n node) {
	if len(c.fields) > count {
		return
	}
	if n.hasBefore != n.hasAfter || !n.before.Equal(n.after) {
		c.emit(p, n)
	}
}

func unionKeys(n node) []string {
	before, after := n.before.Keys(), n.after.Keys()
	var unknown []string
	for _, k := range n.unknown.raw.Keys() {
		if n.unknown.key(k).some() {
			unknown = append(unknown, k)
		}
	}
	return merge(merge(before, after), unknown)
}

// merge joins two sorted lists without doubles.
func merge(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return out
}
