package source

import (
	"slices"
	"strings"
	"unicode"
)

// hole is the rune that begins each placeholder. It is of a private area, so that no text has it by accident.
const hole = "\uE000"

// HasHole says whether a value was, at least in part, a template expression: nothing can be said of it.
func HasHole(value string) bool { return strings.Contains(value, hole) }

// Expression is one `{{ … }}` of a text.
type Expression struct {
	Offset, End int    // of the braces, in bytes
	Inner       string // between the braces, without the trim markers and spaces
}

// Control says whether the expression steers what follows rather than giving a value: what is around it may then be anything.
func (e Expression) Control() bool {
	if strings.HasPrefix(e.Inner, "$") {
		return strings.Contains(e.Inner, "=")
	}
	return slices.Contains([]string{"if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"}, e.word())
}

// word is what the expression begins with, if that is a name: what follows it need not be a space.
func (e Expression) word() string {
	end := strings.IndexFunc(e.Inner, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return e.Inner
	}
	return e.Inner[:end]
}

// opens and closes say what the expression does to the nesting of blocks.
func (e Expression) opens() bool {
	return slices.Contains([]string{"if", "range", "with", "define", "block"}, e.word())
}

func (e Expression) closes() bool { return e.Inner == "end" }

// Comment says whether the expression leaves nothing behind.
func (e Expression) Comment() bool { return strings.HasPrefix(e.Inner, "/*") }

// Expressions finds the template expressions of the text, in order. An expression that is not closed, a block that is not ended and
// an end without a block are reported; ok is then false.
func (t *Text) Expressions() (found []Expression, ok bool) {
	var open []Expression
	for at := 0; ; {
		next := strings.Index(t.Bytes[at:], "{{")
		if next < 0 {
			break
		}
		begin := at + next
		length := expressionEnd(t.Bytes[begin+2:])
		if length < 0 {
			t.Error(begin, 2, "template-syntax", "an expression begins with {{ and never ends", "close it with }}")
			return found, false
		}
		at = begin + 2 + length
		e := Expression{Offset: begin, End: at, Inner: trimmed(t.Bytes[begin+2 : at-2])}
		found = append(found, e)
		switch {
		case e.opens():
			open = append(open, e)
		case e.closes() && len(open) == 0:
			t.Error(begin, at-begin, "template-syntax", "{{ end }} closes nothing", "remove it, or open the block with {{ if … }}")
			return found, false
		case e.closes():
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		t.Error(last.Offset, last.End-last.Offset, "template-syntax", "a template block begins here and never ends", "close it with {{ end }}")
		return found, false
	}
	return found, true
}

// expressionEnd gives how many bytes after {{ the expression reaches, its }} included, or -1 if it is not closed. Braces in the
// strings and comments of the template language do not count.
func expressionEnd(s string) int {
	if body := strings.TrimLeft(s, "- "); strings.HasPrefix(body, "/*") {
		end := strings.Index(s, "*/")
		closing := strings.Index(s[max(end, 0):], "}}")
		if end < 0 || closing < 0 {
			return -1
		}
		return end + closing + 2
	}
	for at := 0; at < len(s); at++ {
		switch s[at] {
		case '"', '`':
			length := stringEnd(s[at:])
			if length < 0 {
				return -1
			}
			at += length - 1
		case '}':
			if strings.HasPrefix(s[at:], "}}") {
				return at + 2
			}
		}
	}
	return -1
}

// stringEnd gives the length of the quoted string that s begins with, or -1.
func stringEnd(s string) int {
	quote := s[0]
	for at := 1; at < len(s); at++ {
		switch {
		case s[at] == quote:
			return at + 1
		case s[at] == '\\' && quote == '"':
			at++
		}
	}
	return -1
}

func trimmed(inner string) string {
	inner = strings.TrimPrefix(inner, "-")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "-"))
}

// Placeholder gives a text of exactly so many bytes that can stand for an expression inside a string or a plain word, so that all
// positions stay. HasHole knows it again.
func Placeholder(length int) string {
	if length < len(hole) {
		return strings.Repeat("_", max(length, 0))
	}
	return hole + strings.Repeat("_", length-len(hole))
}
