package tree

import (
	"github.com/nuon-toolkit/nuon/diff/align"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Pair is an element of before and the one of after that belongs to it; -1 is none.
type Pair struct{ Before, After int }

// Pairs puts the elements of two lists together that have no key of their own: equal ones first, in their order; then, between those,
// objects that have the same name, key or id; then the others in their order. Unknown says that an element of after is not fully known,
// which makes it equal to none; nil knows all.
func Pairs(before, after raw.Value, unknown func(i int) bool) []Pair {
	var out []Pair
	for _, s := range align.Sequences(hashes(before, nil), hashes(after, unknown)) {
		if s.Same {
			for i := range s.AEnd - s.A {
				out = append(out, Pair{s.A + i, s.B + i})
			}
			continue
		}
		out = append(out, pairs(before, after, s)...)
	}
	return out
}

type elementKey struct {
	hash    uint64
	unknown int
}

// hashes are what elements are aligned by. One that is not fully known gets a hash of its own.
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

// identities are the keys by which configuration names the objects of a list, the strongest first.
var identities = []string{"name", "key", "id"}

// pairs puts the elements of a changed stretch together. What is left over was added or removed.
func pairs(before, after raw.Value, s align.Span) []Pair {
	partner := map[int]int{} // place in after → place in before
	taken := map[int]bool{}
	byIdentity := map[uint64]int{}
	for i := s.A; i < s.AEnd; i++ {
		if h, ok := identity(before.At(i)); ok {
			byIdentity[h] = i
		}
	}
	for j := s.B; j < s.BEnd; j++ {
		h, ok := identity(after.At(j))
		if i, found := byIdentity[h]; ok && found && !taken[i] {
			partner[j], taken[i] = i, true
		}
	}
	var out []Pair
	free := s.A
	for j := s.B; j < s.BEnd; j++ {
		i, ok := partner[j]
		if !ok {
			if i, ok = nextFree(before, &free, s.AEnd, taken, after.At(j)); ok {
				taken[i] = true
			} else {
				i = -1
			}
		}
		out = append(out, Pair{i, j})
	}
	for i := s.A; i < s.AEnd; i++ {
		if !taken[i] {
			out = append(out, Pair{i, -1})
		}
	}
	return out
}

// nextFree finds the next element of before that no other one belongs to, if it is of the same shape and neither has an identity
// that says otherwise.
func nextFree(before raw.Value, free *int, end int, taken map[int]bool, after raw.Value) (int, bool) {
	for *free < end && taken[*free] {
		*free++
	}
	if *free == end {
		return 0, false
	}
	candidate := before.At(*free)
	_, named := identity(candidate)
	_, alsoNamed := identity(after)
	sameShape := candidate.IsObject() == after.IsObject() && candidate.IsList() == after.IsList()
	if named && alsoNamed || !sameShape && !after.IsNull() {
		return 0, false
	}
	return *free, true
}

func identity(v raw.Value) (uint64, bool) {
	for _, k := range identities {
		if id, ok := v.Get(k); ok && !id.IsNull() {
			return id.Hash(), true
		}
	}
	return 0, false
}
