package chart

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
)

// moved says in which object, and in which field of it, the report that is true now differs from the one that was approved.
func moved(approved []byte, now *diff.Report) string {
	const other = "the plan comes to something else now than what was approved"
	var then diff.Report
	if err := json.Unmarshal(approved, &then); err != nil {
		return other
	}
	for _, lists := range [][2][]diff.Change{{then.Changes, now.Changes}, {then.Hooks, now.Hooks}, {then.Kept, now.Kept}, {then.Drift, now.Drift}, {then.Tests, now.Tests}} {
		if words := movedIn(lists[0], lists[1]); words != "" {
			return words
		}
	}
	for _, said := range now.Notes {
		if !slices.Contains(then.Notes, said) {
			return "this is new since the plan was made: " + said
		}
	}
	return other
}

func movedIn(then, now []diff.Change) string {
	approved := make(map[string]diff.Change, len(then))
	for _, each := range then {
		approved[each.Address] = each
	}
	for _, each := range now {
		was, there := approved[each.Address]
		delete(approved, each.Address)
		switch {
		case !there:
			return fmt.Sprintf("%s was changed by somebody else since the plan was made, and would be changed back", diff.Neutral(each.Address))
		case was.Action != each.Action:
			return fmt.Sprintf("%s was to be %s when the plan was made, and is to be %s now", diff.Neutral(each.Address), was.Action, each.Action)
		case !equal(was, each):
			return fmt.Sprintf("%s was changed by somebody else since the plan was made%s", diff.Neutral(each.Address), movedField(was, each))
		}
	}
	for _, each := range then {
		if _, gone := approved[each.Address]; gone {
			return fmt.Sprintf("%s was changed by somebody else since the plan was made: nothing is left to do there", diff.Neutral(each.Address))
		}
	}
	return ""
}

// movedField names the first field in which two changes of an object differ, with a colon before it.
func movedField(was, is diff.Change) string {
	for i, field := range is.Fields {
		if i >= len(was.Fields) || !equal(was.Fields[i], field) {
			return ": " + diff.Neutral(field.Path)
		}
	}
	if len(was.Fields) > len(is.Fields) {
		return ": " + diff.Neutral(was.Fields[len(is.Fields)].Path)
	}
	return ""
}

func equal(a, b any) bool {
	left, leftErr := json.Marshal(a)
	right, rightErr := json.Marshal(b)
	return leftErr == nil && rightErr == nil && string(left) == string(right)
}
