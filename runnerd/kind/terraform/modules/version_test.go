package modules

import (
	"fmt"
	"testing"

	"github.com/hashicorp/go-version"
	"pgregory.net/rapid"
)

// TestConstraints follows the examples of
// https://developer.hashicorp.com/terraform/language/expressions/version-constraints and the rules
// for prereleases there.
func TestConstraints(t *testing.T) {
	t.Parallel()
	listed := []string{"0.9.0", "1.0.4", "1.0.5", "1.0.10", "1.1.0", "1.2.0", "v1.3.0", "1.9.9", "2.0.0-beta.1", "2.0.0",
		"2.1.0-rc1", "not a version", "../../x", "1.0.5/../../y", ""}
	for constraint, want := range map[string]string{
		"":                    "2.0.0",
		"1.2.0":               "1.2.0",
		"= 1.2.0":             "1.2.0",
		"=1.2":                "1.2.0",
		">= 1.2.0, < 2.0.0":   "1.9.9",
		">= 1.2.0":            "2.0.0",
		"~> 1.0.4":            "1.0.10",
		"~> 1.1":              "1.9.9",
		"~> 1.1.0":            "1.1.0",
		"~>1":                 "2.0.0",
		"!= 2.0.0":            "1.9.9",
		"<= 1.0.5":            "1.0.5",
		"< 1.0.0":             "0.9.0",
		"> 2.0.0":             "",
		">= 2.0.0-beta.1":     "2.0.0",
		"2.0.0-beta.1":        "2.0.0-beta.1",
		"= 2.1.0-rc1":         "2.1.0-rc1",
		"~> 2.0.0-beta.1":     "",
		">= 2.1.0-rc1":        "",
		"2.1.0-rc1, >= 2.0.0": "",
		"1.3":                 "1.3.0",
		"9.9.9":               "",
	} {
		parsed, err := parseConstraints(constraint)
		if err != nil {
			t.Errorf("%s: %v", constraint, err)
			continue
		}
		match, latest := parsed.newest(listed)
		got := ""
		if match != nil {
			got = match.String()
		}
		if got != want || latest.String() != "2.0.0" {
			t.Errorf("%q selects %q, want %q (latest %s)", constraint, got, want, latest)
		}
	}
	for _, constraint := range []string{"~> a", ">> 1", "1.0 2.0", ",", "latest"} {
		if _, err := parseConstraints(constraint); err == nil {
			t.Errorf("%q is no constraint", constraint)
		}
	}
}

// TestNewestIsNewest checks the properties of a choice for any list and constraint: what is chosen
// is listed and allowed, nothing newer is, and the order of the list does not matter.
func TestNewestIsNewest(t *testing.T) {
	t.Parallel()
	number := func(r *rapid.T) string {
		text := fmt.Sprintf("%d.%d.%d", rapid.IntRange(0, 2).Draw(r, "major"), rapid.IntRange(0, 2).Draw(r, "minor"),
			rapid.IntRange(0, 2).Draw(r, "patch"))
		return text + rapid.SampledFrom([]string{"", "", "", "-alpha", "-beta.2"}).Draw(r, "prerelease")
	}
	rapid.Check(t, func(r *rapid.T) {
		listed := rapid.SliceOfN(rapid.Custom(number), 1, 12).Draw(r, "listed")
		operator := rapid.SampledFrom([]string{"", "=", "!=", ">", "<", ">=", "<=", "~>"}).Draw(r, "operator")
		text := operator + " " + number(r)
		parsed, err := parseConstraints(text)
		if err != nil {
			r.Fatal(err)
		}
		match, _ := parsed.newest(listed)
		reversed := make([]string, len(listed))
		for i, one := range listed {
			reversed[len(listed)-1-i] = one
		}
		if again, _ := parsed.newest(reversed); (again == nil) != (match == nil) || again != nil && !again.Equal(match) {
			r.Fatalf("%s: the order matters: %v and %v", text, match, again)
		}
		all := version.MustConstraints(version.NewConstraint(text))
		found := false
		for _, one := range listed {
			v := version.Must(version.NewVersion(one))
			exact := operator == "" || operator == "="
			allowed := all.Check(v) && (v.Prerelease() == "" || exact)
			if allowed && (match == nil || v.GreaterThan(match)) {
				r.Fatalf("%s: %s is allowed, chosen was %v", text, v, match)
			}
			found = found || match != nil && allowed && v.Equal(match)
		}
		if match != nil && !found {
			r.Fatalf("%s: %s was chosen and is not listed or not allowed", text, match)
		}
	})
}
