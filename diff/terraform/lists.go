package terraform

import "github.com/nuon-toolkit/nuon/diff/internal/tree"

// list compares the elements that belong together. A set is a list in a plan's JSON.
func (c *comparer) list(p tree.Path, n node, depth int) {
	count := len(c.fields)
	for _, pair := range tree.Pairs(n.before, n.after, func(i int) bool { return n.unknown.index(i).some() }) {
		c.element(p, n, pair.Before, pair.After, depth)
	}
	c.never(count, p, n)
}

// element compares element i of before with element j of after; -1 is none.
func (c *comparer) element(p tree.Path, n node, i, j, depth int) {
	e := node{hasBefore: i >= 0, hasAfter: j >= 0, lone: i < 0 || j < 0}
	index := i
	if i >= 0 {
		e.before, e.was = n.before.At(i), n.was.index(i)
	}
	if j >= 0 {
		e.after, e.is, e.unknown = n.after.At(j), n.is.index(j), n.unknown.index(j)
		index = j
	}
	// An element that is null is there all the same.
	if e.lone && e.before.IsNull() && e.after.IsNull() {
		e.lone = false
	}
	c.walk(p.At(index), e, depth+1)
}
