package appconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a config can be used in spite of a diagnostic.
type Severity string

const (
	// SeverityError means that the config cannot be used.
	SeverityError Severity = "error"
	// SeverityWarning means that the config works, but probably not as meant.
	SeverityWarning Severity = "warning"
)

// Diagnostic is one thing to tell the author of a config.
type Diagnostic struct {
	File     string   `json:"file"`   // slash path below the config directory
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // in bytes, from 1
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`        // what is wrong
	Hint     string   `json:"hint,omitempty"` // what to write instead
}

// String gives "file:line:column: severity: message (hint)".
func (d Diagnostic) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s: %s", d.File, d.Line, d.Column, d.Severity, d.Message)
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Diagnostics is all there is to tell, sorted by file and position.
type Diagnostics []Diagnostic

// HasErrors says whether the config cannot be used.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(one Diagnostic) bool { return one.Severity == SeverityError })
}

// Err is nil without errors. Otherwise it says them all, one a line, without the warnings.
func (d Diagnostics) Err() error {
	var lines []string
	for _, one := range d {
		if one.Severity == SeverityError {
			lines = append(lines, one.String())
		}
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// String gives all diagnostics, one a line.
func (d Diagnostics) String() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// maxDiagnostics keeps the answer to a hostile config readable and bounded.
const maxDiagnostics = 1000

// collector gathers diagnostics while a config is read.
type collector struct {
	found   Diagnostics
	dropped int
}

func (c *collector) add(d Diagnostic) {
	if len(c.found) >= maxDiagnostics {
		c.dropped++
		return
	}
	d.Line, d.Column = max(d.Line, 1), max(d.Column, 1)
	c.found = append(c.found, d)
}

// full says that nothing more will be told, so that looking is in vain.
func (c *collector) full() bool { return c.dropped > 0 }

func (c *collector) errorf(file string, at position, hint, format string, args ...any) {
	c.add(Diagnostic{
		File: file, Line: at.line, Column: at.column,
		Severity: SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (c *collector) warnf(file string, at position, hint, format string, args ...any) {
	c.add(Diagnostic{
		File: file, Line: at.line, Column: at.column,
		Severity: SeverityWarning, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// sorted ends the collection.
func (c *collector) sorted() Diagnostics {
	all := slices.Clone(c.found)
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint),
		)
	})
	all = slices.Compact(all)
	if c.dropped > 0 {
		all = append(all, Diagnostic{
			File: ".", Line: 1, Column: 1, Severity: SeverityError,
			Message: fmt.Sprintf("there are %d more diagnostics", c.dropped), Hint: "fix these first",
		})
	}
	return all
}
