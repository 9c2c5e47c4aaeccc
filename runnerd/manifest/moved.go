package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
)

// moved says what differs between the report that was approved and the one that is true now: the first object, and the first field of it.
func moved(approved []byte, now *diff.Report) string {
	var then diff.Report
	if err := json.Unmarshal(approved, &then); err != nil {
		return "the plan says something else now than what was approved"
	}
	for _, lists := range [][2][]diff.Change{{then.Changes, now.Changes}, {then.Drift, now.Drift}} {
		if words := movedChange(lists[0], lists[1]); words != "" {
			return words
		}
	}
	if !slices.Equal(then.Notes, now.Notes) {
		for _, n := range now.Notes {
			if !slices.Contains(then.Notes, n) {
				return "since the plan was made, this is new: " + diff.Neutral(n)
			}
		}
	}
	return "the plan says something else now than what was approved"
}

// movedChange finds the first change that is not in both lists alike.
func movedChange(then, now []diff.Change) string {
	known := map[string]diff.Change{}
	for _, c := range then {
		known[c.Address] = c
	}
	for _, c := range now {
		was, there := known[c.Address]
		delete(known, c.Address)
		switch {
		case !there:
			return fmt.Sprintf("%s was changed by others since the plan was made, or is to be changed now and was not then", diff.Neutral(c.Address))
		case was.Action != c.Action:
			return fmt.Sprintf("%s: the plan was to %s it, and now it would be to %s it", diff.Neutral(c.Address), was.Action, c.Action)
		case !same(was, c):
			return fmt.Sprintf("%s was changed by others since the plan was made%s", diff.Neutral(c.Address), movedField(was, c))
		}
	}
	for _, c := range then {
		if _, left := known[c.Address]; left {
			return fmt.Sprintf("%s was changed by others since the plan was made: nothing is left to do about it", diff.Neutral(c.Address))
		}
	}
	return ""
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// movedField names the first field that differs.
func movedField(was, is diff.Change) string {
	for i, f := range is.Fields {
		if i >= len(was.Fields) || !same(was.Fields[i], f) {
			return ": " + diff.Neutral(f.Path)
		}
	}
	if len(was.Fields) > len(is.Fields) {
		return ": " + diff.Neutral(was.Fields[len(is.Fields)].Path)
	}
	return ""
}
