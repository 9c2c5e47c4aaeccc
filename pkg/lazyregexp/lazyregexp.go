// Package lazyregexp compiles regular expressions at their first use, which shortens the start of a
// program.
//
// In tests it compiles every expression immediately, so that an invalid one fails there. Any
// package may import it.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled at its first use.
type Regexp struct {
	expression string
	compiled   func() *regexp.Regexp
}

var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns a regular expression. If the expression is invalid, its first use panics.
func New(expression string) *Regexp {
	r := &Regexp{expression: expression}
	r.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.expression) })
	if inTest {
		r.compiled()
	}
	return r
}

// String returns the source text of the expression.
func (r *Regexp) String() string { return r.expression }

// Compiled returns the compiled expression, for all that has no method here.
func (r *Regexp) Compiled() *regexp.Regexp { return r.compiled() }

// MatchString reports whether s contains a match.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindStringSubmatch returns the first match in s and its groups.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllStringSubmatch returns all matches in s and their groups, at most n if n is not negative.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// ReplaceAllString replaces all matches in src; $1 in with is the first group.
func (r *Regexp) ReplaceAllString(src, with string) string {
	return r.compiled().ReplaceAllString(src, with)
}
