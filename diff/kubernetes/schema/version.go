package schema

import (
	"cmp"
	"strconv"
	"strings"
)

// compareVersions orders versions by age: v1alpha1, v1beta1, v1, v2alpha1. A version in
// another format is older than all of these; such versions are in alphabetical order.
//
// The format: https://kubernetes.io/docs/reference/using-api/#api-versioning
func compareVersions(a, b string) int {
	x, y := ageOf(a), ageOf(b)
	return cmp.Or(cmp.Compare(x.major, y.major), cmp.Compare(x.stability, y.stability), cmp.Compare(x.minor, y.minor),
		strings.Compare(a, b))
}

type age struct{ major, stability, minor int }

const (
	alpha = iota
	beta
	stable
)

func ageOf(version string) age {
	rest, ok := strings.CutPrefix(version, "v")
	if !ok {
		return age{}
	}
	a := age{stability: stable}
	for stability, word := range []string{"alpha", "beta"} {
		if major, minor, found := strings.Cut(rest, word); found {
			if a.minor = positive(minor); a.minor == 0 {
				return age{}
			}
			rest, a.stability = major, stability
			break
		}
	}
	if a.major = positive(rest); a.major == 0 {
		return age{}
	}
	return a
}

// positive returns the number of a text of digits without leading zeros, or 0.
func positive(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || text != strconv.Itoa(n) {
		return 0
	}
	return n
}
