package diff

import (
	"fmt"
	"strings"
)

// This file describes a plan in little space, such as a table row or a prompt.

// ActionCount is a count of an action with the action's symbol.
type ActionCount struct {
	Action Action
	Symbol string
	Count  int
}

// Text returns the counts of all actions that are not zero: "1 to create, 2 to destroy". It is
// empty when all are zero.
func (t Totals) Text() string { return strings.Join(t.nonZeroActions(), ", ") }

// ActionCounts returns the counts of creates, updates, replacements and destroys that are not zero.
func (t Totals) ActionCounts() []ActionCount {
	var out []ActionCount
	for _, s := range []ActionCount{{Create, "+", t.Create}, {Update, "~", t.Update}, {Replace, "±", t.Replace},
		{Destroy, "-", t.Destroy}} {
		if s.Count > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Brief returns ActionCounts as a text: "+1 -2".
func (t Totals) Brief() string {
	var parts []string
	for _, s := range t.ActionCounts() {
		parts = append(parts, fmt.Sprintf("%s%d", s.Symbol, s.Count))
	}
	return strings.Join(parts, " ")
}

// LossSummary describes what is lost as a verb phrase: "destroys 2 and replaces 1". It is empty when
// nothing is destroyed or replaced.
func (t Totals) LossSummary() string {
	var parts []string
	if t.Destroy > 0 {
		parts = append(parts, fmt.Sprintf("destroys %d", t.Destroy))
	}
	if t.Replace > 0 {
		parts = append(parts, fmt.Sprintf("replaces %d", t.Replace))
	}
	return strings.Join(parts, " and ")
}
