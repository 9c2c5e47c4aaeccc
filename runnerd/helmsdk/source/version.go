package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// anyVersion is the constraint for an empty version: all but pre-releases.
const anyVersion = "*"

// satisfies reports whether a version matches the wanted one, exactly or by a constraint.
func satisfies(wanted, version string) bool {
	if wanted == version {
		return true
	}
	constraint, err := constraintOf(wanted)
	if err != nil {
		return false
	}
	parsed, err := semver.NewVersion(version)
	return err == nil && constraint.Check(parsed)
}

func constraintOf(wanted string) (*semver.Constraints, error) {
	if strings.TrimSpace(wanted) == "" {
		wanted = anyVersion
	}
	return semver.NewConstraint(wanted)
}

// choose returns the version that equals wanted, or else the highest that satisfies
// the constraint. Errors end with the known versions.
func choose(wanted string, known []string) (string, error) {
	if wanted != "" && slices.Contains(known, wanted) {
		return wanted, nil
	}
	constraint, err := constraintOf(wanted)
	if err != nil {
		return "", fmt.Errorf("%s is neither a version nor a constraint; write one as 1.2.3, ~1.2 or >=1.2 <2", quote(wanted))
	}
	ordered := descending(known)
	for _, v := range ordered {
		if constraint.Check(v) {
			return v.Original(), nil
		}
	}
	return "", fmt.Errorf("it has no version %s; %s", describeWanted(wanted), listVersions(wanted, ordered))
}

func describeWanted(wanted string) string {
	if wanted == "" {
		return "that is no pre-release"
	}
	return clean(wanted)
}

// listVersions lists known versions: the nearest to an exact one, otherwise the newest.
func listVersions(wanted string, ordered []*semver.Version) string {
	if len(ordered) == 0 {
		return "it has none at all"
	}
	names := make([]string, len(ordered))
	for i, v := range ordered {
		names[i] = v.Original()
	}
	there := "the newest are " + listSome(names)
	exact, err := semver.NewVersion(wanted)
	if err != nil || len(names) < 2 {
		return there
	}
	return fmt.Sprintf("the nearest is %s, %s", nearestAbove(exact, ordered).Original(), there)
}

// nearestAbove returns the lowest version that is higher, or the highest.
func nearestAbove(wanted *semver.Version, ordered []*semver.Version) *semver.Version {
	best := ordered[0]
	for _, v := range ordered {
		if v.LessThan(wanted) {
			break
		}
		best = v
	}
	return best
}

// descending returns the semantic versions, highest first; versions that differ only
// in build metadata are ordered by their text.
func descending(known []string) []*semver.Version {
	var parsed []*semver.Version
	for _, text := range known {
		if v, err := semver.NewVersion(text); err == nil {
			parsed = append(parsed, v)
		}
	}
	slices.SortFunc(parsed, func(a, b *semver.Version) int {
		return cmp.Or(b.Compare(a), cmp.Compare(b.Original(), a.Original()))
	})
	return parsed
}
