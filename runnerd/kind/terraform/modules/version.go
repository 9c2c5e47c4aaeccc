package modules

import (
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// constraints is a version constraint of a module call. It selects the versions that Terraform
// selects: the semantics are those of hashicorp/go-version, and a prerelease is selected only if a
// condition requires exactly it.
type constraints struct {
	all version.Constraints
	// exact reports that one of the conditions is an exact version.
	exact bool
}

// parseConstraints parses the version argument of a module block; the empty text allows all.
func parseConstraints(text string) (constraints, error) {
	if text == "" {
		return constraints{}, nil
	}
	all, err := version.NewConstraint(text)
	if err != nil {
		return constraints{}, problemf("write conditions such as \"~> 1.2\" or \">= 1.0, < 2.0\"",
			"the version constraint %s cannot be read", diagnostic.Quote(text))
	}
	found := constraints{all: all}
	for _, one := range all {
		text := strings.TrimSpace(one.String())
		if text = strings.TrimSpace(strings.TrimPrefix(text, "=")); text != "" && text[0] >= '0' && text[0] <= '9' {
			found.exact = true
		}
	}
	return found, nil
}

// allows reports whether a version may be chosen.
func (c constraints) allows(v *version.Version) bool {
	return (v.Prerelease() == "" || c.exact) && c.all.Check(v)
}

// newest returns the newest of the listed versions that the constraints allow, and the newest of all
// that are no prereleases, either of which may be nil. Texts that are no versions are ignored.
func (c constraints) newest(listed []string) (match, latest *version.Version) {
	for _, text := range listed {
		v, err := version.NewVersion(text)
		if err != nil || len(text) > 100 || strings.ContainsAny(text, "/\\%?#") {
			continue
		}
		if v.Prerelease() == "" && (latest == nil || v.GreaterThan(latest)) {
			latest = v
		}
		if c.allows(v) && (match == nil || v.GreaterThan(match)) {
			match = v
		}
	}
	return match, latest
}
