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
}

// maxCompared bounds the work of one comparison: combinations of a grant times grants that may cover it, and pairs of patterns, of
// which long ones count more (their lengths multiplied, over patternShare).
const (
	maxCompared  = 1 << 20
	patternShare = 256
)

// covered says that whatever the inner grants allow is allowed by the outer ones. What is too large to compare is not covered. A
// part that only several outer grants cover together, by patterns that none has alone, counts as not covered.
func covered(measures []measure, inner, outer []grant) bool {
	budget := maxCompared
	for _, g := range inner {
		if !g.coveredBy(measures, outer, &budget) {
			return false
		}
	}
	return true
}

func (g grant) coveredBy(measures []measure, outer []grant, budget *int) bool {
	// sets[d][k] are the outer grants that cover part k of dimension d.
	sets := make([][][]bool, len(measures))
	combinations := 1
	for d, m := range measures {
		for _, part := range g.dims[d].parts() {
			*budget -= len(outer)
			if *budget < 0 {
				return false
			}
			set := make([]bool, len(outer))
			for i, o := range outer {
				set[i] = o.cond.allowsAll(g.cond) && m.coveredBy(part, o.dims[d], budget)
			}
			sets[d] = append(sets[d], set)
		}
		if combinations *= len(sets[d]); combinations*max(len(outer), 1) > *budget {
			return false
		}
	}
	*budget -= combinations * len(outer)
	all := make([]bool, len(outer))
	for i := range all {
		all[i] = true
	}
	return everyCombination(sets, all)
}

// parts splits a dimension into what can be covered by one grant each.
func (d dimension) parts() []dimension {
	if d.but {
		return []dimension{d}
	}
	parts := make([]dimension, len(d.items))
	for i := range d.items {
		parts[i] = dimension{items: d.items[i : i+1]}
	}
	return parts
}

// everyCombination says that for each choice of one set of each dimension some grant is in all of them.
func everyCombination(sets [][][]bool, in []bool) bool {
	if len(sets) == 0 {
		for _, ok := range in {
			if ok {
				return true
			}
		}
		return false
	}
	for _, set := range sets[0] {
		both := make([]bool, len(in))
		for i := range in {
			both[i] = in[i] && set[i]
		}
		if !everyCombination(sets[1:], both) {
			return false
		}
	}
	return true
}

// coveredBy says that a part, which is one thing or all but some, is within a dimension.
func (m measure) coveredBy(part, d dimension, budget *int) bool {
	for _, item := range d.items {
		for _, other := range part.items {
			cost := 1
			if strings.ContainsAny(item, "*?") {
				cost += len(item) * len(other) / patternShare
			}
			if *budget -= cost; *budget < 0 {
				return false
			}
		}
	}
	switch {
	case !d.but && !part.but:
		for _, item := range d.items {
			if m.covers(item, part.items[0]) {
				return true
			}
		}
		return false
	case !d.but:
		// Whatever is left out, all but that is covered only by all.
		for _, item := range d.items {
			if item == "*" {
				return true
			}
		}
		return false
	case !part.but:
		for _, item := range d.items {
			if m.meet(item, part.items[0]) {
				return false
			}
		}
		return true
	}
	// All but these is within all but those when those are among these.
	for _, left := range d.items {
		found := false
		for _, item := range part.items {
			found = found || m.covers(item, left)
		}
		if !found {
			return false
		}
	}
	return true
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
