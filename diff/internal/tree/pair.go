package tree

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff/align"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Pair is an element of before and its counterpart in after; -1 means none.
type Pair struct {
	Before, After int
	// Moved: both are equal, but their position among the other equal
	// elements differs. Only the order changes.
	Moved bool
}

// Step returns the step to the element, by its indices.
func (p Pair) Step() Step {
	switch {
	case p.After < 0:
		return Step{Index: p.Before, IsIndex: true, Lone: OnlyBefore}
	case p.Before < 0:
		return Step{Index: p.After, IsIndex: true, Lone: OnlyAfter}
	}
	return Step{Index: p.After, IsIndex: true, Shift: int32(p.Before - p.After)}
}

// Places returns, for each element of after, the index in before of the
// element that it is paired with, or -1.
func Places(after int, pairs []Pair) []int {
	out := slices.Repeat([]int{-1}, after)
	for _, p := range pairs {
		if p.After >= 0 {
			out[p.After] = p.Before
		}
	}
	return out
}

// Pairs is like Matches for callers that ignore Moved: an element that only
// changes its position is removed in one place and added in another.
func Pairs(before, after raw.Value, unknown func(i int) bool) []Pair {
	var out []Pair
	for _, p := range Matches(before, after, unknown) {
		if p.Moved {
			out = append(out, Pair{Before: -1, After: p.After}, Pair{Before: p.Before, After: -1})
			continue
		}
		out = append(out, p)
	}
	return out
}

// Matches pairs the elements of two lists without a key: first equal ones, as many as
// stay in order; then equal ones in another order; then objects with the same name,
// key or id; then the most similar objects at any positions, because many formats
// represent a set as a list, in which a changed element changes its position; then
// the rest in order. The pairs are in the order of after; an element that only before
// has stays in its position. Unknown reports whether an element of after is not fully
// known, which makes it equal to none; a nil unknown means that all are known.
func Matches(before, after raw.Value, unknown func(i int) bool) []Pair {
	m := newMatcher(before, after, unknown)
	m.equal()
	m.alike()
	m.places()
	return m.pairs()
}

type matcher struct {
	before, after raw.Value
	was, is       []elementKey
	spans         []align.Span
	// partner is the index in before of each element of after, or -1; taken
	// marks the elements of before that have a partner.
	partner []int
	taken   []bool
	moved   []bool
}

func newMatcher(before, after raw.Value, unknown func(i int) bool) *matcher {
	m := &matcher{before: before, after: after, was: hashes(before, nil), is: hashes(after, unknown)}
	m.spans = align.Sequences(m.was, m.is)
	m.partner, m.taken, m.moved = make([]int, len(m.is)), make([]bool, len(m.was)), make([]bool, len(m.is))
	for j := range m.partner {
		m.partner[j] = -1
	}
	return m
}

func (m *matcher) join(i, j int) { m.partner[j], m.taken[i] = i, true }

type elementKey struct {
	hash    uint64
	unknown int
}

// hashes returns the keys by which elements are aligned. An element that is
// not fully known gets a unique key.
func hashes(l raw.Value, unknown func(i int) bool) []elementKey {
	out := make([]elementKey, l.Len())
	for i := range out {
		if unknown != nil && unknown(i) {
			out[i] = elementKey{unknown: i + 1}
		} else {
			out[i] = elementKey{hash: l.At(i).Hash()}
		}
	}
	return out
}

// equal joins equal elements: first those in order, then the others.
func (m *matcher) equal() {
	left := map[elementKey][]int{}
	for _, s := range m.spans {
		for i := s.A; i < s.AEnd; i++ {
			if s.Same {
				m.join(i, s.B+i-s.A)
			} else {
				left[m.was[i]] = append(left[m.was[i]], i)
			}
		}
	}
	for j := range m.is {
		if same := left[m.is[j]]; m.partner[j] < 0 && len(same) > 0 {
			left[m.is[j]] = same[1:]
			m.join(same[0], j)
			m.moved[j] = true
		}
	}
}

// places joins the remaining elements of each span in order: everything other
// than objects, and objects if both sides have the same number of them.
func (m *matcher) places() {
	for _, s := range m.spans {
		if s.Same {
			continue
		}
		was, is := m.free(s)
		objects := count(m.before, was) == count(m.after, is)
		for _, j := range is {
			for k, i := range was {
				if m.fit(i, j, objects) {
					m.join(i, j)
					copy(was[1:k+1], was[:k])
					was = was[1:]
					break
				}
				if k >= maxSkipped {
					break
				}
			}
		}
	}
}

// maxSkipped bounds how many elements of a different shape are skipped in the search for a partner.
const maxSkipped = 16

// free returns the elements of a span that have no partner.
func (m *matcher) free(s align.Span) (was, is []int) {
	for i := s.A; i < s.AEnd; i++ {
		if !m.taken[i] {
			was = append(was, i)
		}
	}
	for j := s.B; j < s.BEnd; j++ {
		if m.partner[j] < 0 {
			is = append(is, j)
		}
	}
	return was, is
}

func count(l raw.Value, places []int) int {
	n := 0
	for _, i := range places {
		if l.At(i).IsObject() {
			n++
		}
	}
	return n
}

// fit reports whether two elements have the same shape and no different identities.
// A null in after fits everything, because it may be a value that is not known yet.
func (m *matcher) fit(i, j int, objects bool) bool {
	was, is := m.before.At(i), m.after.At(j)
	if is.IsNull() {
		return true
	}
	if was.IsObject() != is.IsObject() || was.IsList() != is.IsList() {
		return false
	}
	id, named := identity(was)
	otherID, alsoNamed := identity(is)
	return !was.IsObject() || objects && (!named || !alsoNamed || id == otherID)
}

// pairs lists the pairs, span by span.
func (m *matcher) pairs() []Pair {
	var out []Pair
	for _, s := range m.spans {
		for j := s.B; j < s.BEnd; j++ {
			out = append(out, Pair{m.partner[j], j, m.moved[j]})
		}
		for i := s.A; i < s.AEnd; i++ {
			if !m.taken[i] {
				out = append(out, Pair{Before: i, After: -1})
			}
		}
	}
	return out
}
