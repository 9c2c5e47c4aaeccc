package diff

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// Element is an element of a list that only one side has.
type Element struct {
	Change ElementChange `json:"change"`
	// Path and Pointer lead to the element, on the side that has it. The fields of one element
	// share the Element.
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
}

// ElementChange is what happens to an element of a list.
type ElementChange string

// The changes. FieldChange.Moved lists the elements that both sides have at different indices.
const (
	ElementAdded   ElementChange = "added"
	ElementRemoved ElementChange = "removed"
)

// ElementMove is an element of a list that changes its place among the others.
type ElementMove struct {
	// Name identifies the element: its name, or its value; empty when it has none.
	Name string `json:"name,omitempty"`
	// From and To are its indices in before and in after.
	From int `json:"from"`
	To   int `json:"to"`
}

// SetPointers sets the pointers of a field and the element that it belongs to. The values of the field
// must be set before.
func (f *FieldChange) SetPointers(path tree.Path, shown func(tree.Step) string) {
	f.Pointer = path.Pointer(shown)
	if path.Shifted() {
		before := path.InBefore().Pointer(shown)
		if f.After.Absent {
			f.Pointer = before
		} else if !f.Before.Absent {
			f.BeforePointer = before
		}
	}
	element, side := path.Element()
	if side == tree.Both {
		return
	}
	f.Element = &Element{Change: ElementAdded, Path: element.Text(shown)}
	if side == tree.OnlyBefore {
		f.Element.Change, element = ElementRemoved, element.InBefore()
	}
	f.Element.Pointer = element.Pointer(shown)
}

// MarkReordered marks a field as a new order of a list; Before and After list the elements that both
// sides have. For each element of after, places has its index in before, or -1 for a new one.
func (f *FieldChange) MarkReordered(places []int) {
	f.Reordered = true
	names := f.namesAt(places)
	stays := longestIncreasing(places)
	for j, i := range places {
		if i >= 0 && !stays[j] {
			f.Moved = append(f.Moved, ElementMove{Name: names[i], From: i, To: j})
		}
	}
}

// namesAt returns the names of the elements of before that both sides have, by their indices. An
// element that is identified only by its index has no name.
func (f *FieldChange) namesAt(places []int) map[int]string {
	common := slices.DeleteFunc(slices.Sorted(slices.Values(places)), func(i int) bool { return i < 0 })
	var elements []json.RawMessage
	if f.Before.Sum != "" || json.Unmarshal([]byte(f.Before.Text), &elements) != nil || len(elements) != len(common) {
		return nil
	}
	names := make(map[int]string, len(common))
	for k, i := range common {
		var name string
		if json.Unmarshal(elements[k], &name) != nil {
			name = string(elements[k])
		}
		if name != strconv.Itoa(i) {
			names[i] = name
		}
	}
	return names
}

// longestIncreasing marks the members of a longest increasing subsequence of places.
func longestIncreasing(places []int) []bool {
	var ends []int // by length, where the subsequence of that length with the smallest last place ends
	previous := make([]int, len(places))
	for j, i := range places {
		if i < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, i, func(end, i int) int { return places[end] - i })
		if previous[j] = -1; n > 0 {
			previous[j] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, j)
		}
		ends[n] = j
	}
	out := make([]bool, len(places))
	if len(ends) == 0 {
		return out
	}
	for j := ends[len(ends)-1]; j >= 0; j = previous[j] {
		out[j] = true
	}
	return out
}
