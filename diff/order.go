package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxOrder is the largest number of moved elements that are named.
const maxOrder = 8

// OrderSummary describes a new order: which elements move, and from which place to which.
// It is empty for a field that is not reordered, whose two lists have different
// elements, that is masked or cut, or whose places do not determine what moves.
func (f *FieldChange) OrderSummary() string {
	was, okBefore := f.Before.elements()
	is, okAfter := f.After.elements()
	if !f.Reordered || len(f.Moved) == 0 || !okBefore || !okAfter || !isPermutation(was, is) {
		return ""
	}
	var parts []string
	for i, m := range f.Moved {
		if i == maxOrder {
			parts = append(parts, fmt.Sprintf("%d more", len(f.Moved)-i))
			break
		}
		if m.From == m.To { // it moves among others that are added or removed
			return ""
		}
		name := EscapeText(m.Name)
		if name == "" {
			name = "the element"
		}
		parts = append(parts, fmt.Sprintf("%s from place %d to %d", name, m.From+1, m.To+1))
	}
	return "moved: " + List(parts)
}

// isPermutation reports whether two lists have the same elements: only then OrderSummary describes the whole change.
func isPermutation(was, is []string) bool {
	was, is = slices.Clone(was), slices.Clone(is)
	slices.Sort(was)
	slices.Sort(is)
	return slices.Equal(was, is)
}

// elements returns the texts of the elements of a shown list.
func (s ShownValue) elements() ([]string, bool) {
	if s.Type != TypeList || s.Sum != "" {
		return nil, false
	}
	var raw []json.RawMessage
	if json.Unmarshal([]byte(s.Text), &raw) != nil {
		return nil, false
	}
	out := make([]string, len(raw))
	for i, e := range raw {
		var name string
		if json.Unmarshal(e, &name) == nil && name != "" && !strings.ContainsAny(name, ", \"") {
			out[i] = EscapeText(name)
		} else {
			out[i] = EscapeText(string(e))
		}
	}
	return out, true
}
