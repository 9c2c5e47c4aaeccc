package tree

import (
	"sort"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Limits of the search for similar objects.
const (
	// maxLeaves is the largest number of leaves of an object that are compared.
	maxLeaves = 64
	// maxAll is the largest number of pairs for which all are scored. Beyond
	// it, an object is compared only with those that share one of its rarest
	// leaves: maxRare leaves, and maxHolders objects for each.
	maxAll     = 1 << 12
	maxRare    = 4
	maxHolders = 8
	// maxObjects is the largest number of objects, of both sides together,
	// that are matched by similarity.
	maxObjects = 1 << 16
	// minAlike is the lowest score of two objects that are matched.
	minAlike = 1.0 / 3
	// sameName is added to the score of objects with the same identity, so
	// that no similarity exceeds it.
	sameName = 2
)

// identities are the keys that usually identify the objects of a list, the strongest first.
var identities = []string{"name", "key", "id"}

// Identity returns the name, key or id of an object. It is null when the object has none.
func Identity(v raw.Value) raw.Value {
	for _, k := range identities {
		if id, ok := v.Get(k); ok && !id.IsNull() {
			return id
		}
	}
	return raw.Value{}
}

func identity(v raw.Value) (uint64, bool) {
	id := Identity(v)
	return id.Hash(), !id.IsNull()
}

// leaf is a value in an object at a path. The indices of list elements are not part of the path.
type leaf struct {
	path string
	hash uint64
}

// object holds what two objects are compared by.
type object struct {
	place  int
	id     uint64
	named  bool
	leaves []leaf
}

// alike joins the objects that have no partner yet: the best scores first,
// and the lowest indices among equal scores.
func (m *matcher) alike() {
	was, is := m.objects()
	if len(was) == 0 || len(is) == 0 || len(was)+len(is) > maxObjects {
		return
	}
	only := len(m.was) == 1 && len(m.is) == 1
	scored := candidates(was, is, func(a, b object) float64 {
		if a.named && b.named && a.id != b.id && !only {
			return 0
		}
		return score(a, b)
	})
	sort.SliceStable(scored, func(x, y int) bool { return scored[x].score > scored[y].score })
	for _, s := range scored {
		if m.partner[s.is] < 0 && !m.taken[s.was] {
			m.join(s.was, s.is)
		}
	}
}

// objects returns the elements without a partner that are objects.
func (m *matcher) objects() (was, is []object) {
	for i := range m.was {
		if v := m.before.At(i); !m.taken[i] && v.IsObject() {
			was = append(was, describe(i, v))
		}
	}
	for j := range m.is {
		if v := m.after.At(j); m.partner[j] < 0 && v.IsObject() {
			is = append(is, describe(j, v))
		}
	}
	return was, is
}

func describe(place int, v raw.Value) object {
	o := object{place: place}
	o.id, o.named = identity(v)
	o.add("", v)
	return o
}

// add collects the leaves of v that distinguish objects: not false, zero and
// empty values, which all objects of a kind have.
func (o *object) add(path string, v raw.Value) {
	if len(o.leaves) >= maxLeaves || len(path) > maxDepthOfLeaves {
		return
	}
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			o.add(path+"\x00"+k, child)
		}
	case v.IsList():
		for i := range v.Len() {
			o.add(path+"\x00", v.At(i))
		}
	default:
		if text, kind := raw.Text(v); kind != "null" && text != "" && text != "false" && text != "0" {
			o.leaves = append(o.leaves, leaf{path, v.Hash()})
		}
	}
}

// maxDepthOfLeaves bounds the length of a path in bytes.
const maxDepthOfLeaves = 1 << 10

// score returns the similarity of two objects, from 0 to 1, and more if they
// have the same identity. It returns 0 below minAlike.
func score(a, b object) float64 {
	have := make(map[leaf]int, len(a.leaves))
	for _, l := range a.leaves {
		have[l]++
	}
	common := 0
	for _, l := range b.leaves {
		if have[l] > 0 {
			have[l]--
			common++
		}
	}
	s := 0.0
	if common > 0 {
		s = 2 * float64(common) / float64(len(a.leaves)+len(b.leaves))
	}
	if a.named && b.named && a.id == b.id {
		return s + sameName
	}
	if s < minAlike {
		return 0
	}
	return s
}

// candidate is a pair of indices with its score.
type candidate struct {
	was, is int
	score   float64
}

// candidates scores pairs. Their number stays proportional to the number of objects.
func candidates(was, is []object, score func(a, b object) float64) []candidate {
	near := func(object) []int { return nil }
	if len(was)*len(is) > maxAll {
		near = neighbours(was)
	}
	var out []candidate
	add := func(a, b object) {
		if s := score(a, b); s > 0 {
			out = append(out, candidate{a.place, b.place, s})
		}
	}
	for _, b := range is {
		if len(was)*len(is) <= maxAll {
			for _, a := range was {
				add(a, b)
			}
			continue
		}
		for _, k := range near(b) {
			add(was[k], b)
		}
	}
	return out
}

// neighbours returns a function that finds the objects of was that share the
// identity or one of the rarest leaves of another object.
func neighbours(was []object) func(b object) []int {
	byLeaf, byID := map[leaf][]int{}, map[uint64][]int{}
	for k, a := range was {
		for _, l := range a.leaves {
			byLeaf[l] = append(byLeaf[l], k)
		}
		if a.named {
			byID[a.id] = append(byID[a.id], k)
		}
	}
	return func(b object) []int {
		var rare []leaf
		for _, l := range b.leaves {
			if len(byLeaf[l]) > 0 {
				rare = append(rare, l)
			}
		}
		sort.SliceStable(rare, func(x, y int) bool { return len(byLeaf[rare[x]]) < len(byLeaf[rare[y]]) })
		var out []int
		if b.named {
			out = append(out, first(byID[b.id], maxHolders)...)
		}
		for _, l := range first(rare, maxRare) {
			out = append(out, first(byLeaf[l], maxHolders)...)
		}
		return out
	}
}

func first[T any](l []T, n int) []T { return l[:min(n, len(l))] }
