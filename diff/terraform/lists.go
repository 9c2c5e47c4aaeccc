package terraform

import (
	"encoding/json"
	"strconv"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// list compares matching elements. A set appears in a plan's JSON as a list whose order follows from
// the values, so a changed element may be at any index. Only equal elements that change places count
// as a new order.
func (c *comparer) list(p tree.Path, n node, depth int) {
	count := len(c.out.fields)
	pairs := tree.Matches(n.before, n.after, func(i int) bool { return n.unknown.index(i).some() })
	if c.full(len(pairs)) && c.full(n.differing(pairs)) {
		c.emit(p, n)
		return
	}
	c.order(p, n, pairs)
	for _, pair := range pairs {
		leave := func() {}
		if c.enter != nil {
			leave = c.enter(p, pair)
		}
		c.element(p, n, pair.Before, pair.After, depth)
		leave()
	}
	c.emitWhole(count, p, n)
}

// differing counts the pairs whose values or marks are unequal.
func (n node) differing(pairs []tree.Pair) int {
	count := 0
	for _, p := range pairs {
		if p.Before < 0 || p.After < 0 || !n.before.At(p.Before).Equal(n.after.At(p.After)) ||
			!n.wasSensitive.index(p.Before).raw.Equal(n.isSensitive.index(p.After).raw) {
			count++
		}
	}
	return count
}

// element compares element i of before with element j of after; -1 means that a side has none.
func (c *comparer) element(p tree.Path, n node, i, j, depth int) {
	e := node{hasBefore: i >= 0, hasAfter: j >= 0, oneSided: i < 0 || j < 0, named: n.named}
	if i >= 0 {
		e.before, e.wasSensitive = n.before.At(i), n.wasSensitive.index(i)
	}
	if j >= 0 {
		e.after, e.isSensitive, e.unknown = n.after.At(j), n.isSensitive.index(j), n.unknown.index(j)
	}
	// A null element of a list still exists.
	if e.oneSided && e.before.IsNull() && e.after.IsNull() {
		e.oneSided = false
	}
	c.walk(p.Paired(tree.Pair{Before: i, After: j}), e, depth+1)
}

// order adds a field when equal elements change places. The field lists the elements of both sides.
func (c *comparer) order(p tree.Path, n node, pairs []tree.Pair) {
	moved := false
	var kept []tree.Pair
	for _, pair := range pairs {
		moved = moved || pair.Moved
		if pair.Before >= 0 && pair.After >= 0 && n.before.At(pair.Before).Equal(n.after.At(pair.After)) {
			kept = append(kept, pair)
		}
	}
	if !moved {
		return
	}
	byPlace := make([]int, n.before.Len()) // 1 + index in kept
	for k, pair := range kept {
		byPlace[pair.Before] = k + 1
	}
	names := elementNames(n.before, kept)
	var was, is []any
	for _, k := range byPlace {
		if k > 0 {
			was = append(was, names[k-1])
		}
	}
	for k := range kept {
		is = append(is, names[k])
	}
	places := tree.Places(n.after.Len(), kept)
	c.add(p, n, raw.Of(was), raw.Of(is)).MarkReordered(places)
}

// elementNames returns a name for each element of before: its value if that is scalar, its name,
// otherwise the first attribute that is unique, otherwise its index.
func elementNames(before diff.Raw, kept []tree.Pair) []any {
	named := func(of func(diff.Raw) diff.Raw) []any { return distinctNames(before, kept, of) }
	if names := named(func(e diff.Raw) diff.Raw { return e }); names != nil {
		return names
	}
	if names := named(tree.Identity); names != nil {
		return names
	}
	for i, k := range before.At(kept[0].Before).Keys() {
		if i == maxNaming {
			break
		}
		if names := named(func(e diff.Raw) diff.Raw { v, _ := e.Get(k); return v }); names != nil {
			return names
		}
	}
	return elementPlaces(kept)
}

// maxNaming bounds how many attributes are tried as names.
const maxNaming = 32

// distinctNames returns the result of the function of for each element, or nil if a result is no scalar
// or occurs twice.
func distinctNames(before diff.Raw, kept []tree.Pair, of func(diff.Raw) diff.Raw) []any {
	names := make([]any, len(kept))
	seen := map[uint64]bool{}
	for k, pair := range kept {
		name := of(before.At(pair.Before))
		hash := name.Hash()
		if seen[hash] || name.IsNull() || name.IsObject() || name.IsList() {
			return nil
		}
		seen[hash], names[k] = true, name
	}
	return names
}

func elementPlaces(kept []tree.Pair) []any {
	names := make([]any, len(kept))
	for k, pair := range kept {
		names[k] = json.Number(strconv.Itoa(pair.Before))
	}
	return names
}
