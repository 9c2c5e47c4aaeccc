package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// pattern is a place in an object: keys separated by dots, ["KEY"] for a key that contains a dot,
// * for any key, [*] for any element of a list, and ** for any number of steps. A pattern includes
// everything below its place.
type pattern []string

const (
	anyKey     = "*"
	anyElement = "[*]"
	anySteps   = "**"
)

func parsePattern(s string) pattern {
	var p pattern
	for s != "" {
		switch {
		case strings.HasPrefix(s, anyElement):
			p, s = append(p, anyElement), s[len(anyElement):]
		case strings.HasPrefix(s, `["`):
			key, rest, _ := strings.Cut(s[2:], `"]`)
			p, s = append(p, key), rest
		default:
			end := strings.IndexAny(s, ".[")
			if end < 0 {
				end = len(s)
			}
			p, s = append(p, s[:end]), s[end:]
		}
		s = strings.TrimPrefix(s, ".")
	}
	return p
}

// matches reports whether a difference is at the place or below it. A difference above it, where a
// whole block is added or removed, matches if the block differs at the place.
func (p pattern) matches(t Difference) bool {
	at := t.Path
	for len(p) > 0 && len(at) > 0 {
		if p[0] == anySteps {
			return p.somewhere(at, t)
		}
		if !stepFits(p[0], *at[0]) {
			return false
		}
		p, at = p[1:], at[1:]
	}
	return len(p) == 0 || differs(p, t)
}

// somewhere reports whether the rest of a pattern after ** matches from some step of the path on, or
// from some place below its end.
func (p pattern) somewhere(at tree.Path, t Difference) bool {
	for i := range at {
		if p[1:].matches(Difference{Path: at[i:], Before: t.Before, After: t.After, HasBefore: t.HasBefore,
			HasAfter: t.HasAfter}) {
			return true
		}
	}
	return differs(p, t)
}

// under reports whether a path is at the place or below it.
func (p pattern) under(at tree.Path) bool {
	for i, step := range p {
		if i == len(at) || !stepFits(step, *at[i]) {
			return false
		}
	}
	return true
}

func stepFits(step string, s tree.Step) bool {
	switch {
	case s.Into() != "":
		return false
	case s.IsIndex || s.IsSelect:
		return step == anyElement
	}
	return step == anyKey || step == s.Key
}

// differs reports whether the values at a place below both sides are unequal. From the first
// wildcard on it only requires that one side has a value there.
func differs(p pattern, t Difference) bool {
	before, after, hasBefore, hasAfter := t.Before, t.After, t.HasBefore, t.HasAfter
	for i, step := range p {
		switch step {
		case anyKey, anyElement:
			return !before.Equal(after) && (holdsBelow(p[i:], before) || holdsBelow(p[i:], after))
		case anySteps:
			return !before.Equal(after) && (deep(p[i+1:], before, maxSearch) || deep(p[i+1:], after, maxSearch))
		}
		var ok bool
		before, ok = before.Get(step)
		hasBefore = hasBefore && ok
		after, ok = after.Get(step)
		hasAfter = hasAfter && ok
	}
	return hasBefore != hasAfter || !before.Equal(after)
}

// holdsBelow reports whether a value has something at a place.
func holdsBelow(p pattern, v raw.Value) bool {
	if len(p) == 0 {
		return true
	}
	switch p[0] {
	case anySteps:
		return deep(p[1:], v, maxSearch)
	case anyElement:
		for i := range v.Len() {
			if holdsBelow(p[1:], v.At(i)) {
				return true
			}
		}
	case anyKey:
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if holdsBelow(p[1:], child) {
				return true
			}
		}
	default:
		child, ok := v.Get(p[0])
		return ok && holdsBelow(p[1:], child)
	}
	return false
}

// maxSearch bounds the depth to which an added or removed block is searched.
const maxSearch = 12

// fieldsIn calls each for every field of a value and of its children, down to depth levels. It does
// not descend into a field for which each returns false.
func fieldsIn(v raw.Value, depth int, each func(key string, child raw.Value) bool) {
	if depth == 0 {
		return
	}
	for i := range v.Len() {
		fieldsIn(v.At(i), depth-1, each)
	}
	for _, k := range v.Keys() {
		if child, _ := v.Get(k); each(k, child) {
			fieldsIn(child, depth-1, each)
		}
	}
}

// deep reports whether a value has something at a place that starts anywhere inside it.
func deep(p pattern, v raw.Value, depth int) bool {
	if holdsBelow(p, v) {
		return true
	}
	if depth == 0 {
		return false
	}
	for _, k := range v.Keys() {
		if child, _ := v.Get(k); deep(p, child, depth-1) {
			return true
		}
	}
	for i := range v.Len() {
		if deep(p, v.At(i), depth-1) {
			return true
		}
	}
	return false
}
