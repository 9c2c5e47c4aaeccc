package diagnostic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDistance checks the number of edits between two names, and that it is the same in both directions.
func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"name", "name", 0}, {"", "abc", 3}, {"name", "nam", 1}, {"name", "names", 1}, {"name", "nbme", 1},
		{"name", "nmae", 1}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"kitten", "sitting", 3}, {"region", "rgeoin", 2},
		{"abcd", "badc", 2}, {"a", "bb", 2},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.b, test.a, got, test.want)
		}
	}
	if got := distance("a", "abcdefg"); got != 7 { // so much longer that it is not computed
		t.Errorf("to a name that is much longer: %d", got)
	}
}

// TestNearestLimits checks how different a name may be, which of several is chosen, and when a common beginning
// counts.
func TestNearestLimits(t *testing.T) {
	for _, test := range []struct {
		mistaken string
		known    []string
		want     string
	}{
		{"abcdef", []string{"abcdxx"}, "abcdxx"}, {"abcdef", []string{"abcxxx"}, ""}, // two of six, three of six
		{"abcdefghi", []string{"abcdefxxx"}, "abcdefxxx"}, {"abcdefghi", []string{"abcdexxxx"}, ""},
		{"ab", []string{"xy"}, ""},                                 // as many edits as letters
		{"size", []string{"side", "sizes"}, "side"},                // the first in the alphabet of two
		{"size", []string{"sizes", "side"}, "side"},                // in any order
		{"siez", []string{"sizes", "size"}, "size"},                // the one with fewer edits
		{"t", []string{"terraform_module"}, ""},                    // too short to be a beginning
		{"te", []string{"terraform_module"}, "terraform_module"},   // long enough
		{"te", []string{"terraform_module", "terraform_plan"}, ""}, // of two
		{"te", []string{"terraform_module", "terraform_module"}, "terraform_module"},
		{"go_modules_of_this", []string{"go"}, "go"}, // it begins with a known name
		{"Name", []string{"name"}, "name"}, {"name", nil, ""},
		{strings.Repeat("a", 100), []string{strings.Repeat("a", 99)}, strings.Repeat("a", 99)},
		{strings.Repeat("a", 101), []string{strings.Repeat("a", 100)}, ""},
	} {
		if got, ok := Nearest(test.mistaken, test.known); got != test.want || ok != (test.want != "") {
			t.Errorf("%.20q of %.60q: %q, %t, want %q", test.mistaken, test.known, got, ok, test.want)
		}
	}
	if hint := DidYouMean("zzz", []string{"name"}); hint != "" {
		t.Errorf("a hint without a similar name: %q", hint)
	}
}

// TestSortOrder checks every key by which diagnostics are sorted, and that equal ones keep their order.
func TestSortOrder(t *testing.T) {
	sorted := Diagnostics{
		{File: "a", Line: 1, Column: 9, Severity: Warning, Message: "z", Hint: "z"},
		{File: "a", Line: 2, Column: 1, Severity: Warning, Message: "z", Hint: "z"},
		{File: "a", Line: 2, Column: 3, Severity: Error, Message: "z", Hint: "z"},
		{File: "a", Line: 2, Column: 3, Severity: Warning, Message: "a", Hint: "z"},
		{File: "a", Line: 2, Column: 3, Severity: Warning, Message: "b", Hint: "a"},
		{File: "a", Line: 2, Column: 3, Severity: Warning, Message: "b", Hint: "b", Rule: "first"},
		{File: "a", Line: 2, Column: 3, Severity: Warning, Message: "b", Hint: "b", Rule: "a rule does not count"},
		{File: "a", Line: 10, Column: 1, Severity: Error, Message: "a"},
		{File: "b", Line: 1, Column: 1, Severity: Error, Message: "a"},
	}
	for offset := range sorted {
		mixed := append(append(Diagnostics{}, sorted[offset:]...), sorted[:offset]...)
		if offset == 6 {
			continue // the two equal ones are swapped
		}
		mixed.Sort()
		if diff := cmp.Diff(sorted, mixed); diff != "" {
			t.Errorf("from %d on: %s", offset, diff)
		}
	}
}

// TestErrAndText checks the texts of several diagnostics and of none.
func TestErrAndText(t *testing.T) {
	all := Diagnostics{
		{File: "f", Line: 1, Column: 2, Severity: Error, Message: "one"}, {File: "f", Severity: Warning, Message: "two",
			Hint: "h"},
		{File: "f", Line: 3, Column: 4, Severity: Error, Message: "three", Hint: "do it"},
	}
	if err := all.Err(); err == nil || err.Error() != "f:1:2: error: one\nf:3:4: error: three (do it)" {
		t.Errorf("the error is %v", err)
	}
	if text := all.String(); text != "f:1:2: error: one\nf:0:0: warning: two (h)\nf:3:4: error: three (do it)" {
		t.Errorf("the text is %s", text)
	}
	if errs, warnings := all.Count(); errs != 2 || warnings != 1 {
		t.Errorf("%d errors and %d warnings", errs, warnings)
	}
	var none Diagnostics
	if errs, warnings := none.Count(); none.String() != "" || none.Err() != nil || none.HasErrors() ||
		errs+warnings != 0 ||
		len(none.Strict()) != 0 {
		t.Error("none are something")
	}
}

// TestQuote checks that a quoted text is cut at a character, and only if it is long.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a\n\x1b[0m": `"a\n\x1b[0m"`, strings.Repeat("a", 60): `"` + strings.Repeat("a", 60) + `"`,
		strings.Repeat("a", 61):       `"` + strings.Repeat("a", 60) + `…"`,
		strings.Repeat("a", 59) + "é": `"` + strings.Repeat("a", 59) + `…"`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
