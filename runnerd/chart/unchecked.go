package chart

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/helm"
)

// manyUnchecked is from how many objects on one reason why the server was not asked is said once of all of them: in the plan of a first
// installation it would stand at each.
const manyUnchecked = 3

// uncheckedTogether are the reasons that many objects have, with how many.
func uncheckedTogether(answers []helm.Answer) map[string]int {
	made := map[string]int{}
	for _, each := range answers {
		if each.Unchecked != "" {
			made[each.Unchecked]++
		}
	}
	maps.DeleteFunc(made, func(_ string, objects int) bool { return objects < manyUnchecked })
	return made
}

// uncheckedNotes say them.
func uncheckedNotes(answers []helm.Answer) []string {
	var made []string
	together := uncheckedTogether(answers)
	for _, reason := range slices.Sorted(maps.Keys(together)) {
		made = append(made, fmt.Sprintf("Not checked by the server: %d objects, of each because %s.", together[reason], diff.Neutral(reason)))
	}
	return made
}
