package app

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// alike is the minimum similarity of two components for a rename.
	alike = 0.7
	// maxRenames bounds the components compared per side; with more, nothing counts as renamed.
	maxRenames = 64
)

// renamed joins removed and added components of the same kind with almost equal content. It joins
// the most similar ones first; ties go to the first in order.
func renamed(all []pair) []pair {
	var gone, come []int
	for i, p := range all {
		switch {
		case p.after == nil && p.before.kind == kindComponent:
			gone = append(gone, i)
		case p.before == nil && p.after.kind == kindComponent:
			come = append(come, i)
		}
	}
	if len(gone) > maxRenames || len(come) > maxRenames {
		return all
	}
	for {
		best, from, to := 0.0, -1, -1
		for _, i := range gone {
			for _, j := range come {
				if s := similarity(all[i].before, all[j].after); s >= alike && s > best && all[i].after == nil &&
					all[j].before == nil {
					best, from, to = s, i, j
				}
			}
		}
		if from < 0 {
			return slices.DeleteFunc(all, func(p pair) bool { return p.before == nil && p.after == nil })
		}
		all[to].before, all[from] = all[from].before, pair{}
		gone = slices.DeleteFunc(gone, func(i int) bool { return i == from })
	}
}

// similarity returns the similarity of two components, without their names, from 0 to 1.
func similarity(a, b *part) float64 {
	if engine(a.component) != engine(b.component) {
		return 0
	}
	had, has := map[pathValue]int{}, map[pathValue]int{}
	n := valuesByPath("", a.value, had) + valuesByPath("", b.value, has)
	common := 0
	for s, count := range had {
		common += 2 * min(count, has[s])
	}
	if n == 0 {
		return 0
	}
	return float64(common) / float64(n)
}

// pathValue is a value with its path.
type pathValue struct {
	path string
	hash uint64
}

// valuesByPath counts the values in v by path, except the name.
func valuesByPath(path string, v raw.Value, into map[pathValue]int) int {
	switch {
	case v.IsObject():
		n := 0
		for _, key := range v.Keys() {
			if child, _ := v.Get(key); path+key != "name" {
				n += valuesByPath(path+key+"\x00", child, into)
			}
		}
		return n
	case v.IsList():
		n := 0
		for i := range v.Len() {
			n += valuesByPath(path, v.At(i), into)
		}
		return n
	}
	into[pathValue{path, v.Hash()}]++
	return 1
}
