package helm

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// minCommonUnchecked is the number of objects from which a common reason for skipping the server check
// is noted once for all of them: in the plan of a first installation it would appear at each.
const minCommonUnchecked = 3

// commonUnchecked returns the reasons that many objects share, with the number of objects.
func commonUnchecked(answers []helmsdk.DryRunResult) map[string]int {
	made := map[string]int{}
	for _, each := range answers {
		if each.Unchecked != "" {
			made[each.Unchecked]++
		}
	}
	maps.DeleteFunc(made, func(_ string, objects int) bool { return objects < minCommonUnchecked })
	return made
}

// uncheckedNotes returns the notes for these reasons.
func uncheckedNotes(answers []helmsdk.DryRunResult) []string {
	var made []string
	together := commonUnchecked(answers)
	for _, reason := range slices.Sorted(maps.Keys(together)) {
		made = append(made, fmt.Sprintf("Not checked by the server: %d objects, of each because %s.", together[reason],
			diff.EscapeText(reason)))
	}
	return made
}
