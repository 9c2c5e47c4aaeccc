package diagnostic

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns a hint with the known name that is most similar to a mistaken one, or the
// empty string if none is similar.
func DidYouMean(mistaken string, known []string) string {
	if name, ok := Nearest(mistaken, known); ok {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}

// Nearest returns the known name with the fewest edits, and the first in alphabetical order among
// equals. The maximum is a third of the name's length, but at least two edits. If no name is within
// the maximum, it returns the only known name that is a prefix of the mistaken one or vice versa.
func Nearest(mistaken string, known []string) (string, bool) {
	const longest = 100 // no known name is longer; bounds the work
	if len(mistaken) > longest {
		return "", false
	}
	best, edits := "", max(2, len(mistaken)/3)+1
	for _, name := range slices.Sorted(slices.Values(known)) {
		if n := distance(mistaken, name); n < edits && n < len(name) {
			best, edits = name, n
		}
	}
	if best == "" {
		best = onlyPrefixMatch(mistaken, known)
	}
	return best, best != ""
}

// onlyPrefixMatch returns the only known name for which one of the two names is a prefix of the other, such
// as terraform_module for terraform.
func onlyPrefixMatch(mistaken string, known []string) string {
	const shortest = 2 // minimum length in bytes of a meaningful prefix
	found := ""
	for _, name := range known {
		if min(len(name), len(mistaken)) < shortest ||
			!strings.HasPrefix(name, mistaken) && !strings.HasPrefix(mistaken, name) {
			continue
		}
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	return found
}

// distance counts inserted, removed, changed and swapped bytes (optimal string alignment).
func distance(a, b string) int {
	if len(b) > 2*len(a)+4 {
		return len(b)
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
