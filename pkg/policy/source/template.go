package source

import (
	"slices"
	"strings"
	"unicode"
)

// placeholderRune is the rune that starts each placeholder. It is from a private use area, so that texts do
// not contain it by accident.
const placeholderRune = "\uE000"

// HasPlaceholder reports whether a value is, or contains, a template expression, so that it cannot be
// checked.
func HasPlaceholder(value string) bool { return strings.Contains(value, placeholderRune) }

// Expression is one `{{ … }}` of a text.
type Expression struct {
	Offset, End int    // including the braces, in bytes
	Inner       string // between the braces, without trim markers and spaces
}

// Control reports whether the expression is control flow instead of a value. The text around it may
// then have any form.
func (e Expression) Control() bool {
	if strings.HasPrefix(e.Inner, "$") {
		return strings.Contains(e.Inner, "=")
	}
	return slices.Contains([]string{"if", "else", "end", "range", "with", "define", "template", "block",
		"break", "continue"}, e.word())
}

// word returns the first word of the expression if it is a name. The character after it need not be
// a space.
func (e Expression) word() string {
	end := strings.IndexFunc(e.Inner, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		return e.Inner
	}
	return e.Inner[:end]
}

// opens reports whether the expression starts a block.
func (e Expression) opens() bool {
	return slices.Contains([]string{"if", "range", "with", "define", "block"}, e.word())
}

func (e Expression) closes() bool { return e.Inner == "end" }

// Comment reports whether the expression has no output.
func (e Expression) Comment() bool { return strings.HasPrefix(e.Inner, "/*") }

// Expressions returns the template expressions of the text, in order. It reports expressions that
// are not closed, blocks without an end, and ends without a block; ok is then false.
func (t *Text) Expressions() (found []Expression, ok bool) {
	var open []Expression
	for at := 0; ; {
		next := strings.Index(t.Bytes[at:], "{{")
		if next < 0 {
			break
		}
		start := at + next
		length := expressionEnd(t.Bytes[start+2:])
		if length < 0 {
			t.Error(start, 2, "template-syntax", "an expression begins with {{ and never ends", "close it with }}")
			return found, false
		}
		at = start + 2 + length
		e := Expression{Offset: start, End: at, Inner: trimMarkers(t.Bytes[start+2 : at-2])}
		found = append(found, e)
		switch {
		case e.opens():
			open = append(open, e)
		case e.closes() && len(open) == 0:
			t.Error(start, at-start, "template-syntax", "{{ end }} closes nothing",
				"remove it, or open the block with {{ if … }}")
			return found, false
		case e.closes():
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		t.Error(last.Offset, last.End-last.Offset, "template-syntax", "a template block begins here and never ends",
			"close it with {{ end }}")
		return found, false
	}
	return found, true
}

// expressionEnd returns the length of the expression after {{, including its }}, or -1 if it is not
// closed. It ignores braces in the strings and comments of the template language.
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

// stringEnd returns the length of the quoted string at the start of s, or -1.
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

func trimMarkers(inner string) string {
	inner = strings.TrimPrefix(inner, "-")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "-"))
}

// Placeholder returns a text of the given length in bytes that can replace an expression inside a
// string or a plain word, so that all positions are preserved. HasPlaceholder recognizes it.
func Placeholder(length int) string {
	if length < len(placeholderRune) {
		return strings.Repeat("_", max(length, 0))
	}
	return placeholderRune + strings.Repeat("_", length-len(placeholderRune))
}
