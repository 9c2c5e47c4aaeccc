package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/align"
)

// list aligns the elements, then compares those that belong together. A set is a list in a plan's JSON.
func (c *comparer) list(p path, n node, depth int) {
	count := len(c.fields)
	for _, s := range align.Sequences(hashes(n.before, mark{}), hashes(n.after, n.unknown)) {
		if s.Same {
			for i := range s.AEnd - s.A {
				c.element(p, n, s.A+i, s.B+i, depth)
			}
			continue
		}
		for _, pair := range pairs(n, s) {
			c.element(p, n, pair[0], pair[1], depth)
		}
	}
	c.never(count, p, n)
}

// element compares element i of before with element j of after; -1 is none.
func (c *comparer) element(p path, n node, i, j, depth int) {
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
	c.walk(p.at(index), e, depth+1)
}

// hashes are what elements are aligned by. One that is not fully known is equal to nothing, so it gets a hash of its own.
func hashes(l diff.Raw, unknown mark) []elementKey {
	out := make([]elementKey, l.Len())
	for i := range out {
		out[i] = elementKey{hash: l.At(i).Hash()}
		if unknown.index(i).some() {
			out[i] = elementKey{unknown: i + 1}
		}
	}
	return out
}

type elementKey struct {
	hash    uint64
	unknown int
}

// identities are the keys by which configuration names the objects of a list, the strongest first.
var identities = []string{"name", "key", "id"}

// pairs puts the elements of a changed stretch together: objects that have the same name, key or id first, the others in their
// order. What is left over was added or removed.
func pairs(n node, s align.Span) [][2]int {
	partner := map[int]int{} // place in after → place in before
	taken := map[int]bool{}
	byIdentity := map[uint64]int{}
	for i := s.A; i < s.AEnd; i++ {
		if h, ok := identity(n.before.At(i)); ok {
			byIdentity[h] = i
		}
	}
	for j := s.B; j < s.BEnd; j++ {
		h, ok := identity(n.after.At(j))
		if i, found := byIdentity[h]; ok && found && !taken[i] {
			partner[j], taken[i] = i, true
		}
	}
	var out [][2]int
	free := s.A
	for j := s.B; j < s.BEnd; j++ {
		i, ok := partner[j]
		if !ok {
			if i, ok = nextFree(n, &free, s.AEnd, taken, n.after.At(j)); ok {
				taken[i] = true
			} else {
				i = -1
			}
		}
		out = append(out, [2]int{i, j})
	}
	for i := s.A; i < s.AEnd; i++ {
		if !taken[i] {
			out = append(out, [2]int{i, -1})
		}
	}
	return out
}

// nextFree finds the next element of before that no other one belongs to, if it is of the same shape and neither has an identity
// that says otherwise.
func nextFree(n node, free *int, end int, taken map[int]bool, after diff.Raw) (int, bool) {
	for *free < end && taken[*free] {
		*free++
	}
	if *free == end {
		return 0, false
	}
	candidate := n.before.At(*free)
	_, named := identity(candidate)
	_, alsoNamed := identity(after)
	sameShape := candidate.IsObject() == after.IsObject() && candidate.IsList() == after.IsList()
	if named && alsoNamed || !sameShape && !after.IsNull() {
		return 0, false
	}
	return *free, true
}

func identity(v diff.Raw) (uint64, bool) {
	for _, k := range identities {
		if id, ok := v.Get(k); ok && !id.IsNull() {
			return id.Hash(), true
		}
	}
	return 0, false
}
