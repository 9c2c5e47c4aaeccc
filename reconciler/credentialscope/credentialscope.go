// Package credentialscope has the rules that the lists of addresses of a credential have in common: how
// they change, what a pattern matches, and which paths are unambiguous. A pattern is an address, or one
// with /* at its end for all addresses below it. Packages observe and build define what an address is.
package credentialscope

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Limit is the number of patterns that one list of a credential may have.
const Limit = 100

// belowSuffix is the end of a pattern for all addresses below a path.
const belowSuffix = "/*"

// CutBelow returns a pattern without the /* at its end, and whether it had one.
func CutBelow(pattern string) (above string, all bool) {
	return strings.CutSuffix(pattern, belowSuffix)
}

// Below returns the pattern for all addresses below a path.
func Below(above string) string { return above + belowSuffix }

// Match returns how many bytes of an address a pattern names, or 0 if it is not for the address. The
// address itself counts more than any pattern for all below a path.
func Match(pattern, address string) int {
	above, all := CutBelow(pattern)
	switch {
	case pattern == address:
		return len(pattern) + 1
	case all && strings.HasPrefix(address, above+"/"):
		return len(above)
	}
	return 0
}

// PlainPath reports whether the path of a URL is unambiguous for every server: it has no empty segment,
// no dot segment, and no escaped separator.
func PlainPath(path string) bool {
	if path == "" {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		clear, err := url.PathUnescape(segment)
		if err != nil || clear == "" || clear == "." || clear == ".." || strings.ContainsAny(clear, "/\\%\x00") {
			return false
		}
	}
	return true
}

// NotNamedError is the error of Change for a pattern that is to be removed and is not in the list.
type NotNamedError struct{ Pattern string }

func (e *NotNamedError) Error() string { return "the credential does not name " + e.Pattern }

// TooManyError is the error of Change for a list that would be longer than Limit.
type TooManyError struct{}

func (TooManyError) Error() string { return fmt.Sprintf("a credential names at most %d", Limit) }

// Change returns a list of patterns with some added and some removed, sorted. normalize checks a pattern
// and returns it in normalized spelling; its error is returned unchanged.
func Change(now, add, remove []string, normalize func(string) (string, error)) ([]string, error) {
	changed := append([]string{}, now...)
	for _, text := range remove {
		pattern, err := normalize(text)
		if err != nil {
			return nil, err
		}
		at := slices.Index(changed, pattern)
		if at < 0 {
			return nil, &NotNamedError{Pattern: pattern}
		}
		changed = slices.Delete(changed, at, at+1)
	}
	for _, text := range add {
		pattern, err := normalize(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(changed, pattern) {
			changed = append(changed, pattern)
		}
	}
	if len(changed) > Limit {
		return nil, TooManyError{}
	}
	slices.Sort(changed)
	return changed, nil
}
