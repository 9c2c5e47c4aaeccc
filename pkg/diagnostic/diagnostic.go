// Package diagnostic represents problems in a text for its author: where something is wrong, what,
// and what to write instead.
//
// Parsers of the app config format and of the policies in it create diagnostics; the CLI, the API
// and code hosts show them. The package reads no file and depends on no format.
package diagnostic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity states whether a text can be used despite a problem.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the text cannot be used
	Warning Severity = "warning" // the text can be used, but part of it has no effect or is probably a mistake
)

// Diagnostic is one problem.
type Diagnostic struct {
	File     string   `json:"file"`            // slash path below the directory that was read
	Line     int      `json:"line"`            // from 1
	Column   int      `json:"column"`          // in bytes, from 1
	Width    int      `json:"width,omitempty"` // length in bytes of the affected part of the line; 0 if unknown
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`           // short name of the violated rule, such as unknown-key
	Message  string   `json:"message"`        // what is wrong
	Hint     string   `json:"hint,omitempty"` // what to write or do instead, in a form that can be pasted or executed
}

// String returns "file:line:column: severity: message (hint)".
func (d Diagnostic) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s: %s", d.File, d.Line, d.Column, d.Severity, d.Message)
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Diagnostics is a list of problems.
type Diagnostics []Diagnostic

// HasErrors reports whether one of them is an error.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(diag Diagnostic) bool { return diag.Severity == Error })
}

// Count returns the number of errors and the number of warnings.
func (d Diagnostics) Count() (errorCount, warningCount int) {
	for _, diag := range d {
		if diag.Severity == Error {
			errorCount++
		}
	}
	return errorCount, len(d) - errorCount
}

// Strict returns the diagnostics with every warning turned into an error.
func (d Diagnostics) Strict() Diagnostics {
	strict := slices.Clone(d)
	for i := range strict {
		strict[i].Severity = Error
	}
	return strict
}

// Err returns an error with all errors, one per line and without the warnings. It returns nil if
// there are none.
func (d Diagnostics) Err() error {
	var errs Diagnostics
	for _, diag := range d {
		if diag.Severity == Error {
			errs = append(errs, diag)
		}
	}
	if errs == nil {
		return nil
	}
	return errors.New(errs.String())
}

// String returns all diagnostics, one per line.
func (d Diagnostics) String() string {
	lines := make([]string, len(d))
	for i, diag := range d {
		lines[i] = diag.String()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the diagnostics in reading order: by file, by position, and then by severity, message
// and hint.
func (d Diagnostics) Sort() {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
	})
}
