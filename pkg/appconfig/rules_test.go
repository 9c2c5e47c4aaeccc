package appconfig

import (
	"regexp"
	"strings"
	"testing"
)

// TestRules: rule names are short words with dashes, unique, each with a one-sentence summary.
func TestRules(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	last := ""
	for _, rule := range Rules() {
		switch {
		case !name.MatchString(rule.Name):
			t.Errorf("%q is no name of a rule", rule.Name)
		case seen[rule.Name]:
			t.Errorf("%s is there twice", rule.Name)
		case rule.Name < last:
			t.Errorf("%s comes after %s", rule.Name, last)
		case !strings.HasSuffix(rule.Summary, ".") || strings.ContainsAny(rule.Summary, "\n|"):
			t.Errorf("%s: %q is no sentence", rule.Name, rule.Summary)
		}
		seen[rule.Name], last = true, rule.Name
	}
}
