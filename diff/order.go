package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/align"
)

// maxOrder is how many elements of a reordered list are shown on each side.
const maxOrder = 8

// Order is a reordered list in two short texts: what lies before the first and behind the last element that moves is left out, and of a
// long list only what moves is said (in after alone). Whole shows all elements. It is not ok for a field that is no such list, or is
// masked or cut.
func (f *FieldChange) Order(whole bool) (before, after string, ok bool) {
	was, okBefore := f.Before.elements()
	is, okAfter := f.After.elements()
	if !f.Reordered || !okBefore || !okAfter || !permuted(was, is) {
		return "", "", false
	}
	if whole {
		return listed(was, 0, len(was)), listed(is, 0, len(is)), true
	}
	from, end := 0, 0
	for from < min(len(was), len(is)) && was[from] == is[from] {
		from++
	}
	for end < min(len(was), len(is))-from && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	if len(was)-from-end > maxOrder {
		return "", moved(was, is), true
	}
	return listed(was, from, len(was)-end), listed(is, from, len(is)-end), true
}

// permuted says that two lists have the same elements: only then a new order is all that there is to say.
func permuted(was, is []string) bool {
	was, is = slices.Clone(was), slices.Clone(is)
	slices.Sort(was)
	slices.Sort(is)
	return slices.Equal(was, is)
}

// elements are the texts of a shown list's elements.
func (s Shown) elements() ([]string, bool) {
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
			out[i] = Neutral(name)
		} else {
			out[i] = Neutral(string(e))
		}
	}
	return out, true
}

func listed(elements []string, from, to int) string {
	var parts []string
	if from > 0 {
		parts = append(parts, "…")
	}
	parts = append(parts, elements[from:to]...)
	if to < len(elements) {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// moved names the elements that leave the order of the others, with their places, which count from 1.
func moved(was, is []string) string {
	now := map[string]int{}
	for i, e := range is {
		now[e] = i
	}
	var parts []string
	more := 0
	for _, s := range align.Sequences(was, is) {
		for i := s.A; i < s.AEnd && !s.Same; i++ {
			to, there := now[was[i]]
			switch {
			case !there:
			case len(parts) == maxOrder:
				more++
			default:
				parts = append(parts, fmt.Sprintf("%s from place %d to %d", was[i], i+1, to+1))
			}
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("of %d, %s", len(is), join(parts))
}
