package ignore

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// pattern matches pointers (diff.FieldChange.Pointer). The step ** matches any number of steps, and
// a star inside a step any run of characters. A pattern matches a field and everything below it.
type pattern []string

// deep is the step that matches any number of steps.
const deep = "**"

// newPattern parses a pattern.
func newPattern(pointer string) (pattern, error) {
	if pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf(`the pointer %q does not begin with "/"; write it as in "/spec/replicas"`,
			diff.EscapeText(pointer))
	}
	for rest := pointer; ; {
		_, after, found := strings.Cut(rest, "~")
		if !found {
			break
		}
		if after == "" || after[0] < '0' || after[0] > '3' {
			return nil, fmt.Errorf(`the pointer %q has a "~" alone; write "~0" for "~", "~1" for "/", and in the value of a list's key "~2" for ","`, diff.EscapeText(pointer))
		}
		rest = after
	}
	return append(pattern(pointerSteps(pointer)), deep), nil
}

// pointerSteps returns the unescaped keys of a pointer. The empty pointer has none.
func pointerSteps(pointer string) []string {
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

// unescape implements RFC 6901 in one pass, so that "~01" becomes "~1". The escapes ~2 and ~3 of a
// comma and a "=" inside a selection get a NUL prefix, which distinguishes them from separators.
var unescape = strings.NewReplacer("~1", "/", "~0", "~", "~2", "\x00,", "~3", "\x00=")

// matches reports whether a field equals the pattern or is below it.
func (p pattern) matches(field []string) bool {
	return matchWild(len(p), len(field), func(i int) bool { return p[i] == deep },
		func(i, j int) bool { return glob(p[i], field[j]) })
}

// glob reports whether a text matches a pattern in which a star is any run of characters.
func glob(pattern, text string) bool {
	return matchWild(len(pattern), len(text), func(i int) bool { return pattern[i] == '*' },
		func(i, j int) bool { return pattern[i] == text[j] })
}

// matchWild matches a pattern of m elements, some of which match any number of things, with n things. It
// takes about m·n steps at most, because it backtracks only to the latest such element, which
// suffices.
func matchWild(m, n int, any func(i int) bool, one func(i, j int) bool) bool {
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
