package risk

import (
	"slices"
	"strings"
)

// This file compares what two lists of grants allow. A grant allows every combination of the items
// in its dimensions, for example actions, resources and principals; a list allows what any of its
// grants allows. Policies, roles, firewalls and networks all reduce to this form.

// grant allows all combinations of its dimensions, under a condition.
type grant struct {
	dims []dimension
	cond condition
}

// dimension holds the allowed items of one dimension, or, with but, all items except these.
type dimension struct {
	except bool
	items  []string
}

// itemsOnly returns the dimension that holds the given items.
func itemsOnly(items ...string) dimension { return dimension{items: items} }

// comparator compares the items of one dimension.
type comparator struct {
	// covers reports whether outer includes everything that inner stands for.
	covers func(outer, inner string) bool
	// meet reports whether two items overlap. It is nil for dimensions that never use "all but".
	meet func(a, b string) bool
	// widerItems lists the items that cover an item, other than an equal one; nil means that there are
	// none. An item for which loose is true covers others without being in their lists; a nil loose
	// means that every item may.
	widerItems func(inner string) []string
	loose      func(outer string) bool
}

func (m comparator) isLoose(item string) bool { return m.loose == nil || m.loose(item) }

func (m comparator) listWider(item string) []string {
	if m.widerItems == nil {
		return nil
	}
	return m.widerItems(item)
}

// The measures of plain words and of patterns: * covers all items, and patterns may have stars in
// other places.
func allItems(string) []string   { return []string{"*"} }
func never(string) bool          { return false }
func isPattern(item string) bool { return item != "*" && strings.ContainsAny(item, "*?") }

var (
	words = comparator{covers: wordCovers, widerItems: allItems, loose: never}
	globs = comparator{covers: globCovers, meet: globsMeet, widerItems: allItems, loose: isPattern}
)

// maxCompared bounds the work of one comparison. The unit is one lookup of a part in a grant, or
// one comparison of two patterns; long patterns cost the product of their lengths over patternShare.
const (
	maxCompared  = 1 << 20
	patternShare = 256
)

// covered reports whether the outer grants allow everything that the inner ones allow. It returns
// false for what is too large to compare, and for a part that several outer grants cover only
// together, with patterns of which none covers it alone.
func covered(measures []comparator, inner, outer []grant) bool {
	c := newCoverage(measures, outer)
	for _, g := range inner {
		if !c.covers(g) {
			return false
		}
	}
	return true
}

// coverage computes what a list of grants covers. Its indexes find the grants with an item without
// reading all grants.
type coverage struct {
	comparators []comparator
	grants      []grant
	// shapes holds the dimensions of each grant.
	shapes [][]shape
	// having maps an item to the grants that list it, per dimension. any holds the grants that may
	// cover items that they do not list.
	having []map[string][]int
	any    [][]int
	budget int
}

// shape is a dimension with an index of its items.
type shape struct {
	dimension
	exact map[string]bool
	loose []string
}

func newCoverage(measures []comparator, grants []grant) *coverage {
	c := &coverage{
		comparators: measures, grants: grants, shapes: make([][]shape, len(grants)),
		having: make([]map[string][]int, len(measures)), any: make([][]int, len(measures)), budget: maxCompared,
	}
	for d, m := range measures {
		c.having[d] = map[string][]int{}
		for i, g := range grants {
			s := shape{dimension: g.dims[d], exact: make(map[string]bool, len(g.dims[d].items))}
			for _, item := range s.items {
				if s.exact[item] {
					continue
				}
				s.exact[item] = true
				if m.isLoose(item) {
					s.loose = append(s.loose, item)
				}
				if !s.except {
					c.having[d][item] = append(c.having[d][item], i)
				}
			}
			if s.except || len(s.loose) > 0 {
				c.any[d] = append(c.any[d], i)
			}
			c.shapes[i] = append(c.shapes[i], s)
		}
	}
	return c
}

// part is a dimension with one item or with "all but", and the names of the items that can cover it.
type part struct {
	dimension
	names []string
}

// parts splits the dimensions of a grant into parts that one grant alone can cover.
func (c *coverage) parts(g grant) [][]part {
	out := make([][]part, len(c.comparators))
	for d, m := range c.comparators {
		if g.dims[d].except {
			out[d] = []part{{g.dims[d], []string{"*"}}}
			continue
		}
		for i, item := range g.dims[d].items {
			out[d] = append(out[d], part{dimension{items: g.dims[d].items[i : i+1]}, append(m.listWider(item), item)})
		}
	}
	return out
}

// covering returns the grants that cover all of another grant alone.
func (c *coverage) covering(g grant) []int {
	var out []int
	parts := c.parts(g)
	if slices.ContainsFunc(parts, func(p []part) bool { return len(p) == 0 }) {
		for i := range c.grants {
			out = append(out, i)
		}
		return out
	}
	dims := c.order(parts)
	for _, i := range c.candidates(g, dims[0], parts[dims[0]][0]) {
		if c.oneCovers(parts, dims, []int{i}) {
			out = append(out, i)
		}
	}
	return out
}

// covers reports whether the grants together cover another one.
func (c *coverage) covers(g grant) bool {
	parts := c.parts(g)
	if slices.ContainsFunc(parts, func(p []part) bool { return len(p) == 0 }) {
		return true
	}
	order := c.order(parts)
	first := order[0]
	if c.oneCovers(parts, order, c.candidates(g, first, parts[first][0])) {
		return true
	}
	for _, p := range parts[first] {
		if !c.combinations(parts, order[1:], c.with(c.candidates(g, first, p), first, p)) {
			return false
		}
	}
	return true
}

// order sorts the dimensions by how many grants have their items, fewest first.
func (c *coverage) order(parts [][]part) []int {
	order, few := make([]int, len(parts)), make([]int, len(parts))
	for d := range parts {
		order[d] = d
		for _, p := range parts[d] {
			few[d] = max(few[d], c.count(d, p))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return few[a] - few[b] })
	return order
}

// combinations reports whether, for each choice of one part per dimension, one of the grants covers
// all chosen parts.
func (c *coverage) combinations(parts [][]part, dims, grants []int) bool {
	switch {
	case len(grants) == 0:
		return false
	case len(dims) == 0 || c.oneCovers(parts, dims, grants):
		return true
	case !slices.ContainsFunc(dims, func(d int) bool { return len(parts[d]) > 1 }):
		return false
	}
	for _, p := range parts[dims[0]] {
		if !c.combinations(parts, dims[1:], c.with(grants, dims[0], p)) {
			return false
		}
	}
	return true
}

// oneCovers reports whether one of the grants covers all parts of the dimensions.
func (c *coverage) oneCovers(parts [][]part, dims, grants []int) bool {
	return slices.ContainsFunc(grants, func(i int) bool {
		for _, d := range dims {
			for _, p := range parts[d] {
				if !c.has(i, d, p) {
					return false
				}
			}
		}
		return true
	})
}

// with returns those of the grants that cover a part.
func (c *coverage) with(grants []int, d int, p part) []int {
	var out []int
	for _, i := range grants {
		if c.has(i, d, p) {
			out = append(out, i)
		}
	}
	return out
}

// count returns an upper bound for the number of grants that cover a part.
func (c *coverage) count(d int, p part) int {
	n := len(c.any[d])
	for _, name := range p.names {
		n += len(c.having[d][name])
	}
	return n
}

// candidates returns the grants that may cover a part of g and whose condition includes that of g.
func (c *coverage) candidates(g grant, d int, p part) []int {
	var out []int
	seen := map[int]bool{}
	add := func(list []int) {
		for _, i := range list {
			if c.budget--; c.budget < 0 {
				return
			}
			if !seen[i] && c.grants[i].cond.allowsAll(g.cond) {
				out = append(out, i)
			}
			seen[i] = true
		}
	}
	add(c.any[d])
	for _, name := range p.names {
		add(c.having[d][name])
	}
	return out
}

// has reports whether the grant with index i covers a part.
func (c *coverage) has(i, d int, p part) bool {
	s := &c.shapes[i][d]
	if c.budget--; c.budget < 0 {
		return false
	}
	if p.except || s.except {
		return c.comparators[d].coveredBy(p.dimension, s.dimension, &c.budget)
	}
	if slices.ContainsFunc(p.names, func(name string) bool { return s.exact[name] }) {
		return true
	}
	return slices.ContainsFunc(s.loose, func(item string) bool {
		return spendBudget(&c.budget, item, p.items[0]) && c.comparators[d].covers(item, p.items[0])
	})
}

// spendBudget subtracts the cost of comparing two items from a budget and reports whether it sufficed.
func spendBudget(budget *int, item, other string) bool {
	cost := 1
	if strings.ContainsAny(item, "*?") {
		cost += len(item) * len(other) / patternShare
	}
	*budget -= cost
	return *budget >= 0
}

// coveredBy reports whether a part lies within a dimension.
func (m comparator) coveredBy(part, d dimension, budget *int) bool {
	covers := func(item, other string) bool { return spendBudget(budget, item, other) && m.covers(item, other) }
	switch {
	case !part.except && !d.except:
		return slices.ContainsFunc(d.items, func(item string) bool { return covers(item, part.items[0]) })
	case part.except && !d.except:
		// Only "*" covers "all but these".
		return slices.Contains(d.items, "*")
	case !part.except:
		return !slices.ContainsFunc(d.items, func(item string) bool {
			return !spendBudget(budget, item, part.items[0]) || m.meet(item, part.items[0])
		})
	}
	// "All but these" lies within "all but those" when each of those is covered by one of these.
	return !slices.ContainsFunc(d.items, func(left string) bool {
		return !slices.ContainsFunc(part.items, func(item string) bool { return covers(item, left) })
	})
}

// condition restricts a grant: every test must hold, and a test holds for any of its values. The key
// is the operator and the name that it tests, in lower case.
type condition map[string][]string

// narrowing reports whether fewer values make a test with this operator narrower. For all other
// operators, only equal values make the same test.
func narrowing(operator string) bool {
	switch operator {
	case "stringequals", "stringequalsignorecase", "stringlike", "arnequals", "arnlike", "ipaddress", "numericequals",
		"dateequals":
		return true
	}
	return false
}

// allowsAll reports whether c holds wherever other holds.
func (c condition) allowsAll(other condition) bool {
	for key, values := range c {
		theirs, ok := other[key]
		if !ok || !isSubset(theirs, values) {
			return false
		}
		operator, _, _ := cutOperator(key)
		if !narrowing(operator) && !isSubset(values, theirs) {
			return false
		}
	}
	return true
}

// isSubset reports whether each element of some is one of others.
func isSubset(some, others []string) bool {
	if len(others) < 8 {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
	}
	set := make(map[string]bool, len(others))
	for _, o := range others {
		set[o] = true
	}
	return !slices.ContainsFunc(some, func(s string) bool { return !set[s] })
}
