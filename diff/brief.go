package diff

import (
	"fmt"
	"strings"
)

// This file says what a plan does where there is room for little: a row of a list, a question.

// Sign is a count with the field's own sign for what it counts.
type Sign struct {
	Action Action
	Symbol string
	Count  int
}

// Words are the counts of what is done, those that are not zero: "1 to create, 2 to destroy". Empty when there are none.
func (t Totals) Words() string { return strings.Join(t.some(), ", ") }

// Signs are the counts of what is made, changed, replaced and destroyed, those that are not zero.
func (t Totals) Signs() []Sign {
	var out []Sign
	for _, s := range []Sign{{Create, "+", t.Create}, {Update, "~", t.Update}, {Replace, "±", t.Replace}, {Destroy, "-", t.Destroy}} {
		if s.Count > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Brief is Signs as a text: "+1 -2".
func (t Totals) Brief() string {
	var parts []string
	for _, s := range t.Signs() {
		parts = append(parts, fmt.Sprintf("%s%d", s.Symbol, s.Count))
	}
	return strings.Join(parts, " ")
}

// Loss says what goes, as a verb: "destroys 2 and replaces 1". Empty when nothing does.
func (t Totals) Loss() string {
	var parts []string
	if t.Destroy > 0 {
		parts = append(parts, fmt.Sprintf("destroys %d", t.Destroy))
	}
	if t.Replace > 0 {
		parts = append(parts, fmt.Sprintf("replaces %d", t.Replace))
	}
	return strings.Join(parts, " and ")
}
