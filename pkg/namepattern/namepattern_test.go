package namepattern_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/namepattern"
)

// TestMatch checks names with patterns.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"repair", "repair", true}, {"repair", "repairs", false}, {"", "", true}, {"*", "", true},
		{"*-repair", "ins_1-repair", true}, {"*-repair", "ins_1-repairs", false}, {"ins_1-*", "ins_1-", true},
		{"ins_1-*", "ins_11-x", false}, {"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c", false}, {"ab*ba", "aba", false},
		{"*@*.com", "n1@x.com", true}, {"[a]", "a", false},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 10_000), false},
	} {
		if got := namepattern.Match(c.pattern, c.name); got != c.want {
			t.Errorf("%q with %q: %t", c.pattern, c.name, got)
		}
	}
}
