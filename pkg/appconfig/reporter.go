package appconfig

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Diagnostic is one error or warning about a config; its File is relative to the config directory.
type Diagnostic = diagnostic.Diagnostic

// Diagnostics are all errors and warnings, sorted by file and position.
type Diagnostics = diagnostic.Diagnostics

// maxDiagnostics keeps the report about a hostile config readable and bounded.
const maxDiagnostics = 1000

// reporter collects diagnostics while a config is read.
type reporter struct {
	found   Diagnostics
	dropped int
}

func (r *reporter) add(d Diagnostic) {
	if len(r.found) >= maxDiagnostics {
		r.dropped++
		return
	}
	d.Line, d.Column = max(d.Line, 1), max(d.Column, 1)
	d.Message, d.Hint = sanitize(d.Message), sanitize(d.Hint)
	r.found = append(r.found, d)
}

// sanitize replaces characters that would move or reorder text on a terminal: names can come from
// untrusted templates and files.
func sanitize(words string) string {
	if strings.IndexFunc(words, isUnsafeRune) < 0 {
		return words
	}
	return strings.Map(func(r rune) rune {
		if isUnsafeRune(r) {
			return unicode.ReplacementChar
		}
		return r
	}, words)
}

// isUnsafeRune reports whether a character moves the cursor, changes the text direction or breaks the
// line.
func isUnsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// full reports that further diagnostics are dropped, so that checking more is useless.
func (r *reporter) full() bool { return r.dropped > 0 }

// errorf reports an error: the config cannot be used. rule is one of Rules; hint is the remedy.
func (r *reporter) errorf(rule string, at syntax.Position, hint, format string, args ...any) {
	r.report(diagnostic.Error, rule, at, hint, format, args...)
}

// warnf reports something that has no effect or is probably a mistake.
func (r *reporter) warnf(rule string, at syntax.Position, hint, format string, args ...any) {
	r.report(diagnostic.Warning, rule, at, hint, format, args...)
}

func (r *reporter) report(severity diagnostic.Severity, rule string, at syntax.Position, hint, format string,
	args ...any) {
	if r.full() {
		return
	}
	r.add(Diagnostic{
		File: at.File, Line: at.Line, Column: at.Column, Width: at.Width,
		Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// sorted returns all diagnostics, sorted and unique.
func (r *reporter) sorted() Diagnostics {
	all := slices.Clone(r.found)
	all.Sort()
	all = slices.Compact(all)
	if r.dropped > 0 {
		all = append(all, Diagnostic{
			File: ".", Line: 1, Column: 1, Severity: diagnostic.Error, Rule: "too-many",
			Message: "there are more diagnostics than these", Hint: "fix these first",
		})
	}
	return all
}
