// Package source owns the text of a policy while it is checked: where in it something stands, what is told about it, and what
// stands in for the template expressions in it. It knows no policy language, reads no file and renders nothing. The packages beside
// it, one for each language, call it.
package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// MaxBytes is the longest text that is checked: a hundred times the longest policy that people wrote.
const MaxBytes = 1 << 20

// maxFindings are told of one text; whoever made more mistakes than that corrects these first.
const maxFindings = 50

// Text is one policy's text and what there is to tell about it.
type Text struct {
	Name  string // the file, as diagnostics name it
	Bytes string

	starts []int         // offset of each line's first byte, worked out when the first position is asked for
	marks  map[int][]int // of lines in which one was: the offset of each column that apart divides, from 0
	found  diagnostic.Diagnostics
	more   int
}

// New begins the check of a text. A text that is longer than MaxBytes, or not UTF-8, is reported, and ok is false: it must not be
// read any further.
func New(name, text string) (t *Text, ok bool) {
	t = &Text{Name: name, Bytes: text}
	if len(text) > MaxBytes {
		t.Bytes = ""
		t.Error(0, 0, "policy-size", fmt.Sprintf("the text has %d bytes, more than the %d that a policy may have", len(text), MaxBytes), "split it into several policies")
		return t, false
	}
	if at := firstInvalid(text); at >= 0 {
		t.Error(at, 1, "policy-encoding", "the text is not UTF-8", "save the file as UTF-8")
		return t, false
	}
	return t, true
}

// firstInvalid is the offset of the first byte that is not UTF-8, or -1.
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

// Error reports what makes the text unusable. Offset and width are in bytes.
func (t *Text) Error(offset, width int, rule, message, hint string) {
	t.report(diagnostic.Error, offset, width, rule, message, hint)
}

// Warning reports what is probably a mistake, or has no effect.
func (t *Text) Warning(offset, width int, rule, message, hint string) {
	t.report(diagnostic.Warning, offset, width, rule, message, hint)
}

func (t *Text) report(severity diagnostic.Severity, offset, width int, rule, message, hint string) {
	if len(t.found) == maxFindings {
		t.more++
		if severity == diagnostic.Error && !t.found.HasErrors() {
			t.found = t.found[:maxFindings-1] // an error must not be lost behind warnings
		} else {
			return
		}
	}
	line, column := t.Position(offset)
	t.found = append(t.found, diagnostic.Diagnostic{
		File: t.Name, Line: line, Column: column, Width: max(width, 0), Severity: severity, Rule: rule, Message: message, Hint: hint,
	})
}

// Position gives the line and the column, in bytes from 1, of an offset. An offset outside the text gives its nearest end.
func (t *Text) Position(offset int) (line, column int) {
	t.findLines()
	offset = min(max(offset, 0), len(t.Bytes))
	line, found := slices.BinarySearch(t.starts, offset)
	if found {
		line++
	}
	return line, offset - t.starts[line-1] + 1
}

// Offset gives the offset of a position whose column counts runes from 1, as YAML readers count. A position outside the text gives the
// nearest offset.
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
	near := min(column/apart, len(marks)-1)
	at := marks[near]
	for left := column - near*apart; left > 0 && at < len(t.Bytes) && t.Bytes[at] != '\n'; left-- {
		_, size := utf8.DecodeRuneInString(t.Bytes[at:])
		at += size
	}
	return at
}

// apart is how many columns lie between two marks of a line.
const apart = 256

// columns gives the marks of a line, so that not all of it has to be counted for each position in it: all of a text can be one line.
func (t *Text) columns(line int) []int {
	if marks := t.marks[line]; marks != nil {
		return marks
	}
	marks := []int{t.starts[line-1]}
	for at, column := t.starts[line-1], 0; at < len(t.Bytes) && t.Bytes[at] != '\n'; column++ {
		if column > 0 && column%apart == 0 {
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

// Lines says how many lines the text has, at least one.
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

// Failed says whether something makes the text unusable.
func (t *Text) Failed() bool { return t.found.HasErrors() }

// Diagnostics gives all that there is to tell, sorted; nil if there is nothing. It says so when some were left out.
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

// Quote makes a word of the text fit to be shown: in quotes, on one line, without control sequences, shortened when it is long.
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

// Plain is Quote without the quotes, for words that are names or another program's messages.
func Plain(words string) string {
	quoted := Quote(words)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
