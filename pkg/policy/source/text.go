// Package source represents the text of a policy while it is checked: positions in it, the
// diagnostics about it, and the placeholders for its template expressions. It is independent of
// policy languages, reads no file and renders nothing. The sibling packages, one per language, call
// it.
package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// MaxBytes is the maximum length of a text that is checked: a hundred times the longest known
// policy.
const MaxBytes = 1 << 20

// maxFindings is the maximum number of diagnostics for one text.
const maxFindings = 50

// Text is the text of one policy, with the diagnostics about it.
type Text struct {
	Name  string // the file name in diagnostics
	Bytes string

	starts []int         // offset of each line's first byte, computed at the first use
	marks  map[int][]int // per line: the offset of every apart-th column, computed at the first use
	found  diagnostic.Diagnostics
	more   int
}

// New starts the check of a text. If the text is longer than MaxBytes or not UTF-8, New reports
// that and ok is false: the text must then not be checked further.
func New(name, text string) (t *Text, ok bool) {
	t = &Text{Name: name, Bytes: text}
	if len(text) > MaxBytes {
		t.Bytes = ""
		t.Error(0, 0, "policy-size", fmt.Sprintf("the text has %d bytes, more than the %d that a policy may have",
			len(text), MaxBytes), "split it into several policies")
		return t, false
	}
	if at := firstInvalid(text); at >= 0 {
		t.Error(at, 1, "policy-encoding", "the text is not UTF-8", "save the file as UTF-8")
		return t, false
	}
	return t, true
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for at, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[at:]); size == 1 {
				return at
			}
		}
	}
	return -1
}

// Error reports a problem that makes the text unusable. Offset and width are in bytes.
func (t *Text) Error(offset, width int, rule, message, hint string) {
	t.report(diagnostic.Error, offset, width, rule, message, hint)
}

// Warning reports something that is probably a mistake or has no effect.
func (t *Text) Warning(offset, width int, rule, message, hint string) {
	t.report(diagnostic.Warning, offset, width, rule, message, hint)
}

func (t *Text) report(severity diagnostic.Severity, offset, width int, rule, message, hint string) {
	if len(t.found) == maxFindings {
		t.more++
		if severity == diagnostic.Error && !t.found.HasErrors() {
			t.found = t.found[:maxFindings-1] // an error must not be lost among warnings
		} else {
			return
		}
	}
	line, column := t.Position(offset)
	t.found = append(t.found, diagnostic.Diagnostic{
		File: t.Name, Line: line, Column: column, Width: max(width, 0), Severity: severity, Rule: rule,
		Message: message, Hint: hint,
	})
}

// Position returns the line and the column, in bytes from 1, of an offset. For an offset outside of
// the text it returns the nearest end.
func (t *Text) Position(offset int) (line, column int) {
	t.findLines()
	offset = min(max(offset, 0), len(t.Bytes))
	line, found := slices.BinarySearch(t.starts, offset)
	if found {
		line++
	}
	return line, offset - t.starts[line-1] + 1
}

// Offset returns the offset of a position whose column counts runes from 1, as YAML parsers do. For
// a position outside of the text it returns the nearest offset.
func (t *Text) Offset(line, column int) int {
	t.findLines()
	if line < 1 {
		return 0
	}
	if line > len(t.starts) {
		return len(t.Bytes)
	}
	column = max(column-1, 0)
	marks := t.columns(line)
	nearest := min(column/markInterval, len(marks)-1)
	at := marks[nearest]
	for remaining := column - nearest*markInterval; remaining > 0 && at < len(t.Bytes) &&
		t.Bytes[at] != '\n'; remaining-- {
		_, size := utf8.DecodeRuneInString(t.Bytes[at:])
		at += size
	}
	return at
}

// markInterval is the number of columns between two marks of a line.
const markInterval = 256

// columns returns the marks of a line. They avoid counting a line from its start for each position,
// because the whole text can be one line.
func (t *Text) columns(line int) []int {
	if marks := t.marks[line]; marks != nil {
		return marks
	}
	marks := []int{t.starts[line-1]}
	for at, column := t.starts[line-1], 0; at < len(t.Bytes) && t.Bytes[at] != '\n'; column++ {
		if column > 0 && column%markInterval == 0 {
			marks = append(marks, at)
		}
		_, size := utf8.DecodeRuneInString(t.Bytes[at:])
		at += size
	}
	if t.marks == nil {
		t.marks = map[int][]int{}
	}
	t.marks[line] = marks
	return marks
}

// Lines returns the number of lines of the text, at least one.
func (t *Text) Lines() int {
	t.findLines()
	return len(t.starts)
}

func (t *Text) findLines() {
	if t.starts != nil {
		return
	}
	t.starts = []int{0}
	for at := 0; ; {
		next := strings.IndexByte(t.Bytes[at:], '\n')
		if next < 0 {
			return
		}
		at += next + 1
		t.starts = append(t.starts, at)
	}
}

// Failed reports whether the text is unusable.
func (t *Text) Failed() bool { return t.found.HasErrors() }

// Diagnostics returns all diagnostics, sorted, or nil if there are none. The last one states how
// many were left out.
func (t *Text) Diagnostics() []diagnostic.Diagnostic {
	if t.found == nil {
		return nil
	}
	all := slices.Clone(t.found)
	all.Sort()
	if t.more > 0 {
		last := &all[len(all)-1]
		last.Message = fmt.Sprintf("%s; %d more like these are not shown", last.Message, t.more)
	}
	return all
}

// Quote makes a word of the text safe to show: in quotes, on one line, without control sequences,
// and shortened if it is long.
func Quote(word string) string {
	const longest = 60
	if len(word) > longest {
		cut := longest
		for cut > 0 && !utf8.RuneStart(word[cut]) {
			cut--
		}
		word = word[:cut] + "…"
	}
	return fmt.Sprintf("%q", word)
}

// Plain is Quote without the quotes, for names and for messages of other programs.
func Plain(words string) string {
	quoted := Quote(words)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
