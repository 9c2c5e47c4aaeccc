package risk

import (
	"slices"
	"strings"
)

// This file compares what two lists of grants allow. A grant allows every combination of what its dimensions have, for example
// actions, resources and principals; a list allows what any of its grants does. Policies, roles, firewalls and networks are all of
// this form.

// grant allows all combinations of its dimensions, under a condition.
type grant struct {
	dims []dimension
	cond condition
}

// dimension is what a grant says of one thing: these, or all but these.
type dimension struct {
	but   bool
	items []string
}

// these is the dimension of some things.
func these(items ...string) dimension { return dimension{items: items} }

// measure knows the things of one dimension.
type measure struct {
	// covers: all that inner stands for, outer stands for, too.
	covers func(outer, inner string) bool
	// meet: something is in both. Nil where "all but" does not occur.
	meet func(a, b string) bool
	// wider lists things that cover a thing, besides an equal one. A thing that covers others and is in none of their lists is loose.
	// Nil: there are none, and all are loose.
	wider func(inner string) []string
	loose func(outer string) bool
}

func (m measure) isLoose(item string) bool { return m.loose == nil || m.loose(item) }

func (m measure) listWider(item string) []string {
	if m.wider == nil {
		return nil
	}
	return m.wider(item)
}

// The measures of words: * is all of them, and patterns have stars in other places.
func allOfThem(string) []string  { return []string{"*"} }
func never(string) bool          { return false }
func isPattern(item string) bool { return item != "*" && strings.ContainsAny(item, "*?") }

var (
	words = measure{covers: wordCovers, wider: allOfThem, loose: never}
	globs = measure{covers: globCovers, meet: globsMeet, wider: allOfThem, loose: isPattern}
)

// maxCompared bounds the work of one comparison: parts that are looked up in a grant, and pairs of patterns, of which long ones count
// more (their lengths multiplied, over patternShare).
const (
	maxCompared  = 1 << 20
	patternShare = 256
)

// covered says that whatever the inner grants allow is allowed by the outer ones. What is too large to compare is not covered. A
// part that only several outer grants cover together, by patterns that none has alone, counts as not covered.
func covered(measures []measure, inner, outer []grant) bool {
	c := newCoverage(measures, outer)
	for _, g := range inner {
		if !c.covers(g) {
			return false
		}
	}
	return true
}

// coverage answers what some grants cover. It finds the grants that have a thing without reading all of them.
type coverage struct {
	measures []measure
	grants   []grant
	// shapes are the dimensions of each grant.
	shapes [][]shape
	// having are the grants with a thing, by dimension; any are those that may cover what they do not list.
	having []map[string][]int
	any    [][]int
	budget int
}

// shape is a dimension whose things can be looked up.
type shape struct {
	dimension
	exact map[string]bool
	loose []string
}

func newCoverage(measures []measure, grants []grant) *coverage {
	c := &coverage{
		measures: measures, grants: grants, shapes: make([][]shape, len(grants)),
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
				if !s.but {
					c.having[d][item] = append(c.having[d][item], i)
				}
			}
			if s.but || len(s.loose) > 0 {
				c.any[d] = append(c.any[d], i)
			}
			c.shapes[i] = append(c.shapes[i], s)
		}
	}
	return c
}

// part is one thing or all but some, and what is known to cover it.
type part struct {
	dimension
	names []string
}

// parts splits the dimensions of a grant into what can be covered by one grant each.
func (c *coverage) parts(g grant) [][]part {
	out := make([][]part, len(c.measures))
	for d, m := range c.measures {
		if g.dims[d].but {
			out[d] = []part{{g.dims[d], []string{"*"}}}
			continue
		}
		for i, item := range g.dims[d].items {
			out[d] = append(out[d], part{dimension{items: g.dims[d].items[i : i+1]}, append(m.listWider(item), item)})
		}
	}
	return out
}

// covering are the grants that cover all of another one alone.
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

// covers says that the grants cover another one.
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

// order lists the dimensions: the one whose things few grants have comes first.
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

// combinations says that for each choice of one part of each of the dimensions some of the grants covers all of them.
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

// oneCovers says that one of the grants covers all parts of the dimensions.
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

// with are those of the grants that cover a part.
func (c *coverage) with(grants []int, d int, p part) []int {
	var out []int
	for _, i := range grants {
		if c.has(i, d, p) {
			out = append(out, i)
		}
	}
	return out
}

// count is how many grants may cover a part, at most.
func (c *coverage) count(d int, p part) int {
	n := len(c.any[d])
	for _, name := range p.names {
		n += len(c.having[d][name])
	}
	return n
}

// candidates are the grants that may cover a part of g under its condition.
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

// has says that a grant covers a part.
func (c *coverage) has(i, d int, p part) bool {
	s := &c.shapes[i][d]
	if c.budget--; c.budget < 0 {
		return false
	}
	if p.but || s.but {
		return c.measures[d].coveredBy(p.dimension, s.dimension, &c.budget)
	}
	if slices.ContainsFunc(p.names, func(name string) bool { return s.exact[name] }) {
		return true
	}
	return slices.ContainsFunc(s.loose, func(item string) bool {
		return spend(&c.budget, item, p.items[0]) && c.measures[d].covers(item, p.items[0])
	})
}

// spend takes the cost of comparing two things from a budget, if it has that.
func spend(budget *int, item, other string) bool {
	cost := 1
	if strings.ContainsAny(item, "*?") {
		cost += len(item) * len(other) / patternShare
	}
	*budget -= cost
	return *budget >= 0
}

// coveredBy says that a part, which is one thing or all but some, is within a dimension.
func (m measure) coveredBy(part, d dimension, budget *int) bool {
	covers := func(item, other string) bool { return spend(budget, item, other) && m.covers(item, other) }
	switch {
	case !part.but && !d.but:
		return slices.ContainsFunc(d.items, func(item string) bool { return covers(item, part.items[0]) })
	case part.but && !d.but:
		// Whatever is left out, all but that is covered only by all.
		return slices.Contains(d.items, "*")
	case !part.but:
		return !slices.ContainsFunc(d.items, func(item string) bool {
			return !spend(budget, item, part.items[0]) || m.meet(item, part.items[0])
		})
	}
	// All but these is within all but those when those are among these.
	return !slices.ContainsFunc(d.items, func(left string) bool {
		return !slices.ContainsFunc(part.items, func(item string) bool { return covers(item, left) })
	})
}

// condition is what must hold for a grant to count: each test must, and a test holds for any of its values. The key is the operator
// and what it looks at, in lower case.
type condition map[string][]string

// narrowing are the operators of which fewer values are a narrower test. Of all others only the same values are the same test.
func narrowing(operator string) bool {
	switch operator {
	case "stringequals", "stringequalsignorecase", "stringlike", "arnequals", "arnlike", "ipaddress", "numericequals", "dateequals":
		return true
	}
	return false
}

// allowsAll says that c holds wherever other does.
func (c condition) allowsAll(other condition) bool {
	for key, values := range c {
		theirs, ok := other[key]
		if !ok || !among(theirs, values) {
			return false
		}
		operator, _, _ := cutOperator(key)
		if !narrowing(operator) && !among(values, theirs) {
			return false
		}
	}
	return true
}

// among says that each of some texts is one of others.
func among(some, others []string) bool {
	if len(others) < 8 {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
	}
	set := make(map[string]bool, len(others))
	for _, o := range others {
		set[o] = true
	}
	return !slices.ContainsFunc(some, func(s string) bool { return !set[s] })
}
