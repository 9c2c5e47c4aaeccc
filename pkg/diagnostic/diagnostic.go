// Package diagnostic owns what there is to tell the author of a text: where something is wrong, what, and what to write instead.
//
// Readers of the app config format and of the policies in it give diagnostics; the CLI, the API and code hosts show them. The
// package reads no file and knows no format.
package diagnostic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a text can be used as it is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the text cannot be used
	Warning Severity = "warning" // it can, but something in it has no effect or is probably a mistake
)

// Diagnostic is one thing to tell.
type Diagnostic struct {
	File     string   `json:"file"`            // slash path below the directory that was read
	Line     int      `json:"line"`            // from 1
	Column   int      `json:"column"`          // in bytes, from 1
	Width    int      `json:"width,omitempty"` // bytes of that line that are meant; 0 if not known
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`           // the rule that was broken, a short name such as unknown-key
	Message  string   `json:"message"`        // what is wrong
	Hint     string   `json:"hint,omitempty"` // what to write instead, such that it can be pasted or done
}

// String gives "file:line:column: severity: message (hint)".
func (d Diagnostic) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s: %s", d.File, d.Line, d.Column, d.Severity, d.Message)
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Diagnostics is all there is to tell.
type Diagnostics []Diagnostic

// HasErrors says whether one of them is an error.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(one Diagnostic) bool { return one.Severity == Error })
}

// Count gives how many are errors and how many are warnings.
func (d Diagnostics) Count() (wrong, warned int) {
	for _, one := range d {
		if one.Severity == Error {
			wrong++
		}
	}
	return wrong, len(d) - wrong
}

// Strict gives them with every warning turned into an error.
func (d Diagnostics) Strict() Diagnostics {
	strict := slices.Clone(d)
	for i := range strict {
		strict[i].Severity = Error
	}
	return strict
}

// Err is nil without errors. Otherwise it says them all, one a line, without the warnings.
func (d Diagnostics) Err() error {
	var wrong Diagnostics
	for _, one := range d {
		if one.Severity == Error {
			wrong = append(wrong, one)
		}
	}
	if wrong == nil {
		return nil
	}
	return errors.New(wrong.String())
}

// String gives all of them, one a line.
func (d Diagnostics) String() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Sort puts them in the order in which a person reads: by file, position, and then by what they say.
func (d Diagnostics) Sort() {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
	})
}
