package diff

import (
	"encoding/json"
	"slices"
)

// Mismatch is the first difference between a report and a later report about the same thing.
type Mismatch struct {
	// Address names the object. It is empty when no object differs.
	Address string
	// Before and Is are the actions on the object in the earlier and the later
	// report; empty in the report that does not have the object.
	Before, After Action
	// Field is the path of the first field that differs, where both reports
	// have the object with the same action.
	Field string
	// Note is a note that the earlier report does not have, where all objects are the same.
	Note string
}

// FirstMismatch compares two reports about the same thing: first the objects, list
// by list, then the notes. It returns the zero Mismatch when both are the same.
func FirstMismatch(earlier, later *Report) Mismatch {
	for _, lists := range [][2][]Change{
		{earlier.Changes, later.Changes}, {earlier.Hooks, later.Hooks}, {earlier.Kept, later.Kept},
		{earlier.Outputs, later.Outputs}, {earlier.Drift, later.Drift}, {earlier.Tests, later.Tests},
		{earlier.Deferred, later.Deferred},
	} {
		if found := mismatchedChange(lists[0], lists[1]); found != (Mismatch{}) {
			return found
		}
	}
	for _, note := range later.Notes {
		if !slices.Contains(earlier.Notes, note) {
			return Mismatch{Note: note}
		}
	}
	return Mismatch{}
}

// mismatchedChange returns the first change that only one of two lists has, or that differs.
func mismatchedChange(earlier, later []Change) Mismatch {
	type object struct{ address, deposed string }
	known := make(map[object]Change, len(earlier))
	for _, c := range earlier {
		known[object{c.Address, c.Deposed}] = c
	}

	for _, c := range later {
		was, found := known[object{c.Address, c.Deposed}]
		delete(known, object{c.Address, c.Deposed})
		switch {
		case !found:
			return Mismatch{Address: c.Address, After: c.Action}
		case was.Action != c.Action:
			return Mismatch{Address: c.Address, Before: was.Action, After: c.Action}
		case !sameJSON(was, c):
			return Mismatch{Address: c.Address, Before: was.Action, After: c.Action, Field: mismatchedField(was, c)}
		}
	}

	for _, c := range earlier {
		if _, left := known[object{c.Address, c.Deposed}]; left {
			return Mismatch{Address: c.Address, Before: c.Action}
		}
	}
	return Mismatch{}
}

// mismatchedField returns the path of the first field in which two changes of an object differ.
func mismatchedField(was, is Change) string {
	for i, f := range is.Fields {
		if i >= len(was.Fields) || !sameJSON(was.Fields[i], f) {
			return f.Path
		}
	}
	if len(was.Fields) > len(is.Fields) {
		return was.Fields[len(is.Fields)].Path
	}
	return ""
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
