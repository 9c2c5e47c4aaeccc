package rego

import (
	"fmt"
	"strings"
)

// frame is an open bracket or quote.
type frame struct {
	kind     byte // '(', '[' or '{' of code; '"' or '`' of a template string, whose text it is
	first    byte // the first byte of the current element
	elements int  // previous elements that do not start with a string; strings have distinct hashes
}

func (f frame) isText() bool { return f.kind == '"' || f.kind == '`' }

// nesting scans the text like the language's scanner, as far as brackets, strings and numbers are
// concerned.
type nesting struct {
	text      string
	at        int
	open      []frame
	templates int
	numbers   int // numbers that are slow to compare
	longest   int // length of the longest number
	compared  int // sum of the squares of the number of elements of each set or object
}

// checkDepth rejects texts that are too costly to parse. The parser recurses for each bracket,
// processes template strings several times, reads numbers exactly, and compares the elements of a
// set or object with each other if their hashes are equal, as are those of all numbers with the
// same integer part and of all lists with the same sum.
func (p *policy) checkDepth() {
	n := nesting{text: p.Bytes}
	for ; n.at < len(n.text); n.at++ {
		n.step()
		if what := n.exceeded(); what != "" {
			p.reportTooComplex(min(n.at, len(n.text)-1), 1, what)
			return
		}
	}
}

func (n *nesting) exceeded() string {
	switch {
	case len(n.open) > maxDepth:
		return fmt.Sprintf("brackets are nested more than %d deep", maxDepth)
	case n.templates > maxNesting:
		return fmt.Sprintf("template strings are nested more than %d deep", maxNesting)
	case n.longest > maxDigits:
		return fmt.Sprintf("a number has more than %d digits", maxDigits)
	case n.numbers > maxNumbers:
		return fmt.Sprintf("more than %d numbers have a fraction, an exponent or more than %d digits",
			maxNumbers, plainDigits)
	case n.compared > maxCompared:
		return "its sets and objects have too many elements"
	}
	return ""
}

// step consumes one byte, or a whole string, number or comment.
func (n *nesting) step() {
	if len(n.open) > 0 && n.open[len(n.open)-1].isText() {
		n.templateText(n.open[len(n.open)-1])
		return
	}
	c := n.text[n.at]
	n.begin(c)
	switch c {
	case '$':
		n.beginTemplate()
	case '"', '`':
		n.at += skipString(n.text[n.at:])
	case '#':
		if end := strings.IndexByte(n.text[n.at:], '\n'); end >= 0 {
			n.at += end
		} else {
			n.at = len(n.text)
		}
	case '(', '[', '{':
		n.open = append(n.open, frame{kind: c})
	case ')', ']', '}':
		n.close()
	case ',':
		n.comma()
	default:
		n.word()
	}
}

// begin records the first byte of an element.
func (n *nesting) begin(c byte) {
	if last := len(n.open) - 1; last >= 0 && n.open[last].first == 0 && strings.IndexByte(" \t\r\n", c) < 0 {
		n.open[last].first = c
	}
}

// comma ends an element of the open bracket. The nth element increases the square of n by about 2n.
func (n *nesting) comma() {
	if len(n.open) == 0 {
		return
	}
	bracket := &n.open[len(n.open)-1]
	if bracket.kind == '{' && bracket.first != '"' && bracket.first != '`' {
		bracket.elements++
		n.compared += 2 * bracket.elements
	}
	bracket.first = 0
}

// word consumes a number, or a name that may contain digits. A sign in an exponent ends one word
// and starts another.
func (n *nesting) word() {
	length := 0
	for n.at+length < len(n.text) && isNameByte(n.text[n.at+length]) {
		length++
	}
	word := n.text[n.at : n.at+length]
	if length == 0 || !isDigit(word[0]) && word[0] != '.' {
		n.at += max(0, length-1)
		return
	}
	n.longest = max(n.longest, length)
	if length > plainDigits || strings.ContainsAny(word, ".eE") {
		n.numbers++
	}
	n.at += length - 1
}

func isNameByte(c byte) bool {
	return c == '.' || c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (n *nesting) beginTemplate() {
	if n.at+1 == len(n.text) {
		return
	}
	switch n.text[n.at+1] {
	case '"':
		n.open = append(n.open, frame{kind: '"'})
	case '`':
		n.open = append(n.open, frame{kind: '`'})
	default:
		return
	}
	n.templates++
	n.at++
}

// templateText consumes one byte of a template string: its end, an escaped byte, or the start of an
// expression.
func (n *nesting) templateText(bracket frame) {
	switch c := n.text[n.at]; {
	case c == bracket.kind, c == '\n' && bracket.kind == '"':
		n.templates--
		n.close()
	case c == '\\':
		n.at++
	case c == '{':
		n.open = append(n.open, frame{kind: '{'})
	}
}

func (n *nesting) close() {
	if len(n.open) > 0 {
		n.open = n.open[:len(n.open)-1]
	}
}

// skipString returns how many bytes of a string follow its first quote. A string that is not closed
// on its line ends there.
func skipString(s string) int {
	quote := s[0]
	for at := 1; at < len(s); at++ {
		switch {
		case s[at] == quote:
			return at
		case quote == '"' && s[at] == '\\':
			at++
		case quote == '"' && s[at] == '\n':
			return at
		}
	}
	return len(s)
}
