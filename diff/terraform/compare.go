package terraform

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

const (
	// maxDepth is the depth to which values are compared field by field. Deeper values are compared
	// as wholes.
	maxDepth = 64
	// maxFields is the approximate limit of differences listed for one change. Beyond it, values are
	// compared as wholes: nobody reads more, and a report must stay far smaller than a hostile plan.
	maxFields = 5000
)

// mark is a tree of booleans that mirrors a value. true applies to the whole value below it.
type mark struct{ raw diff.Raw }

func (m mark) all() bool { return m.raw.IsTrue() }

// some reports whether anything at or below the mark is marked.
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

// marked visits the parts of v that are marked as wholes.
func marked(v diff.Raw, m mark, visit func(diff.Raw)) {
	switch {
	case m.all():
		visit(v)
	case m.raw.IsObject():
		for _, k := range m.raw.Keys() {
			child, _ := v.Get(k)
			marked(child, m.key(k), visit)
		}
	case m.raw.IsList():
		for i := range min(m.raw.Len(), v.Len()) {
			marked(v.At(i), m.index(i), visit)
		}
	}
}

// node is one place in both values, with its marks.
type node struct {
	before, after                      diff.Raw
	hasBefore, hasAfter                bool
	unknown, wasSensitive, isSensitive mark
	// oneSided reports that the parent exists on one side only. A null there is an attribute that nobody
	// set.
	oneSided bool
	// named reports that the value is a secret because of its name.
	named bool
}

type comparer struct {
	masker *diff.Masker
	kind   string
	action diff.Action
	// unordered reports that the value has no schema, as that of an output.
	unordered bool
	// isSecret reports that the whole value is a secret.
	isSecret bool
	// folds enables folding. It is set for updates of resources, never where the field may force a
	// replacement.
	folds   bool
	forcing tree.PathSet
	out     differences
	// enter is a test hook that is called for each pair of list elements; leave is called after
	// their comparison.
	enter func(p tree.Path, pair tree.Pair) (leave func())
}

// differences holds the differences of one change: fields masked, touched unmasked, in the same
// order.
type differences struct {
	fields  []diff.FieldChange
	touched []risk.Difference
	// forced names the attributes that force a replacement.
	forced []string
	// masked names the fields whose masking hides a change of what runs, or of who may do what.
	masked []string
}

// compare lists the differences of a resource's change field by field.
func compare(m *diff.Masker, kind string, c change, a diff.Action) differences {
	cmp := &comparer{masker: m, kind: kind, action: a, folds: a == diff.Update}
	cmp.compare(c)
	return cmp.out
}

// compareOutput is compare for an output. An output can be any value, so nothing is folded. With
// byName, the output is masked as a whole.
func compareOutput(m *diff.Masker, c change, a diff.Action, byName bool) differences {
	cmp := &comparer{masker: m, action: a, unordered: true, isSecret: byName}
	cmp.compare(c)
	return cmp.out
}

func (c *comparer) compare(of change) {
	if c.action == diff.Replace {
		c.forcing = tree.PathsOf(of.replacePaths)
	}
	gone := c.action == diff.Destroy || c.action == diff.Forget
	if gone {
		// Nothing is unknown about a destroyed object.
		of.afterUnknown = diff.Raw{}
	}
	comes := c.action == diff.Create || c.action == diff.Read
	c.walk(nil, node{
		before: of.before, after: of.after,
		hasBefore: !comes || !of.before.IsNull(), hasAfter: !gone || !of.after.IsNull(),
		unknown: mark{of.afterUnknown}, wasSensitive: mark{of.beforeSensitive}, isSensitive: mark{of.afterSensitive},
	}, 0)
	for _, p := range c.forcing.All() {
		if text := p.Text(c.masker.Step); !slices.Contains(c.out.forced, text) {
			c.out.forced = append(c.out.forced, text)
		}
	}
}

func (c *comparer) walk(p tree.Path, n node, depth int) {
	switch {
	case n.unknown.all():
		c.emit(p, n)
	case c.isSecret, n.wasSensitive.all() && n.hasBefore || n.isSensitive.all() && n.hasAfter:
		c.sensitive(p, n)
	case depth < maxDepth && shapesMatch(n, diff.Raw.IsObject):
		count := len(c.out.fields)
		c.object(p, n, depth)
		if n.before.IsObject() != n.after.IsObject() && (!attribute(p) || !isMap(p)) {
			c.unfold(count)
		}
	case depth < maxDepth && shapesMatch(n, diff.Raw.IsList):
		c.list(p, n, depth)
	default:
		c.leaf(p, n, depth)
	}
}

// shapesMatch reports whether one side has a shape and the other side has it, too, or is null.
func shapesMatch(n node, shape func(diff.Raw) bool) bool {
	before, after := shape(n.before), shape(n.after)
	return before && after || before && n.after.IsNull() || after && n.before.IsNull()
}

// sensitive adds a field that is masked as a whole. A changed mark also makes a difference, because
// it changes who can read the value.
func (c *comparer) sensitive(p tree.Path, n node) {
	if n.oneSided && n.before.IsNull() && n.after.IsNull() {
		return
	}
	sameMark := n.wasSensitive.all() == n.isSensitive.all()
	if n.hasBefore == n.hasAfter && !n.unknown.some() && sameMark && n.before.Equal(n.after) {
		return
	}
	c.emit(p, n)
}

func (c *comparer) leaf(p tree.Path, n node, depth int) {
	if n.oneSided && n.before.IsNull() && n.after.IsNull() {
		return
	}
	if n.hasBefore == n.hasAfter && !n.unknown.some() && n.before.Equal(n.after) {
		return
	}
	if !c.document(p, n, depth) {
		c.emit(p, n)
	}
}

// emit adds a field with the values of the node on both sides.
func (c *comparer) emit(p tree.Path, n node) { c.add(p, n, n.before, n.after) }

// add adds a field at the place of n that shows was and is.
func (c *comparer) add(p tree.Path, n node, was, is diff.Raw) *diff.FieldChange {
	plain := plainPlace(p, was, is)
	before := diff.UnmaskedSide{Value: was, Absent: !n.hasBefore, Sensitive: n.wasSensitive.some() || c.isSecret,
		Plain: plain}
	after := diff.UnmaskedSide{Value: is, Absent: !n.hasAfter, Unknown: n.unknown.some(),
		Sensitive: n.isSensitive.some() || c.isSecret,
		Plain:     plain}
	redactSecrets(&before, &after)
	f := c.masker.Field(p, before, after)
	if c.masksDecision(p, n, &f, plain, f.MaskedPart && c.copies(after.Value)) {
		c.out.masked = append(c.out.masked, f.Path)
	}
	// List elements are created or destroyed together with the resource.
	if !c.unordered && c.action != diff.Update && c.action != diff.Replace {
		f.Element = nil
	}
	f.ForcesReplace = f.ForcesReplace || c.forcing.Overlaps(p)
	if c.folds {
		f.Fold = c.foldOf(p, n)
	}
	c.out.fields = append(c.out.fields, f)
	c.out.touched = append(c.out.touched, risk.Difference{
		Path: p, Before: n.before, After: n.after, HasBefore: n.hasBefore, HasAfter: n.hasAfter, Folded: f.Fold != "",
		Revealed: n.wasSensitive.all() && !n.isSensitive.all() && n.hasAfter && !n.after.IsNull(),
	})
	return &c.out.fields[len(c.out.fields)-1]
}

// same reports that nothing differs at or below a place. It avoids building a path for the place.
func (n node) same() bool {
	return n.hasBefore && n.hasAfter && !n.unknown.some() && n.wasSensitive.raw.Equal(n.isSensitive.raw) &&
		n.before.Equal(n.after)
}

// object compares the keys of either side and those that are known only after apply.
func (c *comparer) object(p tree.Path, n node, depth int) {
	count := len(c.out.fields)
	var differing []string
	for _, k := range unionKeys(n) {
		if !n.child(k).same() {
			differing = append(differing, k)
		}
	}
	if c.full(len(differing)) {
		c.emit(p, n)
		return
	}
	kind := ""
	if len(p) == 0 {
		kind = c.kind
	}
	for _, k := range differing {
		c.walk(p.Field(k), markSecret(kind, n, k, n.child(k)), depth+1)
	}
	c.emitWhole(count, p, n)
}

// full reports whether n more differences exceed maxFields.
func (c *comparer) full(n int) bool { return n > 0 && len(c.out.fields)+n > maxFields }

// child returns the node of a key of an object.
func (n node) child(k string) node {
	before, hasBefore := n.before.Get(k)
	after, hasAfter := n.after.Get(k)
	unknown := n.unknown.key(k)
	return node{
		before: before, after: after, hasBefore: hasBefore,
		// A plan omits unknown values from after.
		hasAfter: hasAfter || unknown.some(), unknown: unknown,
		wasSensitive: n.wasSensitive.key(k), isSensitive: n.isSensitive.key(k), oneSided: !n.before.IsObject() ||
			!n.after.IsObject(), named: n.named,
	}
}

// emitWhole adds a field for the whole value if no part has shown its difference, for example an empty
// object that appears, or elements that only change places.
func (c *comparer) emitWhole(count int, p tree.Path, n node) {
	if len(c.out.fields) > count {
		return
	}
	if n.hasBefore != n.hasAfter || !n.before.Equal(n.after) {
		c.emit(p, n)
	}
}

// unfold unfolds the fields from an index on if all of them are folded. An object that is added or
// removed has a meaning even when it is empty, as the empty block of an action has.
func (c *comparer) unfold(from int) {
	for i := from; i < len(c.out.fields); i++ {
		if c.out.fields[i].Fold == "" {
			return
		}
	}
	for i := from; i < len(c.out.fields); i++ {
		c.out.fields[i].Fold, c.out.touched[i].Folded = "", false
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
	return tree.Union(tree.Union(before, after), unknown)
}
