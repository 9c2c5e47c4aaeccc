package ignore

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// pattern matches pointers (diff.FieldChange.Pointer): a step of stars alone is any number of steps, a star inside a step is any
// run of characters. It names a field and all that lies in it.
type pattern []string

// deep is the step that stands for any number of steps.
const deep = "**"

// newPattern reads a pattern.
func newPattern(pointer string) (pattern, error) {
	if pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf(`the pointer %q does not begin with "/"; write it as in "/spec/replicas"`, diff.Neutral(pointer))
	}
	for rest := pointer; ; {
		_, after, found := strings.Cut(rest, "~")
		if !found {
			break
		}
		if after == "" || after[0] < '0' || after[0] > '3' {
			return nil, fmt.Errorf(`the pointer %q has a "~" alone; write "~0" for "~", "~1" for "/", and in the value of a list's key "~2" for ","`, diff.Neutral(pointer))
		}
		rest = after
	}
	return append(pattern(steps(pointer)), deep), nil
}

// steps are the keys of a pointer, unescaped. The empty pointer has none.
func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, s := range all {
		if strings.Contains(s, "~") {
			all[i] = unescape.Replace(s)
		}
	}
	return all
}

// unescape is RFC 6901's: one pass, so that "~01" is "~1". A comma or a "=" that is part of a selection stays apart from those between its
// parts.
var unescape = strings.NewReplacer("~1", "/", "~0", "~", "~2", "\x00,", "~3", "\x00=")

// matches says that a field is the one that the pattern names, or lies in it.
func (p pattern) matches(field []string) bool {
	return wild(len(p), len(field), func(i int) bool { return p[i] == deep }, func(i, j int) bool { return glob(p[i], field[j]) })
}

// glob says that a text is like a pattern in which a star is any run of characters.
func glob(pattern, text string) bool {
	return wild(len(pattern), len(text), func(i int) bool { return pattern[i] == '*' }, func(i, j int) bool { return pattern[i] == text[j] })
}

// wild matches a pattern of m elements, of which some are any number of things, with n things. It takes at most about m·n steps: what
// one "any number" took is given back only up to the next one, which is enough.
func wild(m, n int, any func(i int) bool, one func(i, j int) bool) bool {
	i, j := 0, 0
	star, taken := -1, 0
	for j < n {
		switch {
		case i < m && any(i):
			star, taken = i, j
			i++
		case i < m && one(i, j):
			i++
			j++
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	for i < m && any(i) {
		i++
	}
	return i == m
}
