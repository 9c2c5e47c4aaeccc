package style

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// peek returns the next byte; 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// skipWord skips a word if it is next.
func (r *reader) skipWord(word string) bool {
	if !strings.HasPrefix(r.text[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

// skipBlanks skips spaces and tabs.
func (r *reader) skipBlanks() {
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
}

// skipNewline skips the end of a line if it is next.
func (r *reader) skipNewline() bool { return r.skipWord("\n") || r.skipWord("\r\n") }

// skipUntil skips everything before one of these bytes.
func (r *reader) skipUntil(stops string) {
	if n := strings.IndexAny(r.text[r.at:], stops); n >= 0 {
		r.at += n
		return
	}
	r.at = len(r.text)
}

// comment reads a comment, without the end of its line.
func (r *reader) comment() string {
	from := r.at
	r.skipUntil("\n")
	return spaceComment(strings.TrimRight(r.text[from:r.at], " \t\r"))
}

// spaceComment inserts a space between # and a text. It does not change rulers, and directives such as #!
// and
// #:schema.
func spaceComment(comment string) string {
	if first, _ := utf8.DecodeRuneInString(comment[1:]); unicode.IsLetter(first) || unicode.IsDigit(first) ||
		strings.ContainsRune(`"'[{(`, first) {
		return "# " + comment[1:]
	}
	return comment
}

// skipString skips a string of any kind; it returns false if the string does not end.
func (r *reader) skipString() bool {
	quote := r.text[r.at : r.at+1]
	if triple := strings.Repeat(quote, 3); r.skipWord(triple) {
		return r.skipClosingQuotes(triple)
	}
	r.at++
	return r.skipClosingQuotes(quote)
}

// skipClosingQuotes skips the rest of a string and its closing quotes. A text may end with up to two quotes
// before the three that close it.
func (r *reader) skipClosingQuotes(quotes string) bool {
	escapes := quotes[0] == '"'
	for r.at < len(r.text) {
		switch {
		case escapes && r.peek() == '\\':
			r.at = min(r.at+2, len(r.text))
		case r.skipWord(quotes):
			for extra := 0; len(quotes) == 3 && extra < 2 && r.peek() == quotes[0]; extra++ {
				r.at++
			}
			return true
		default:
			r.at++
		}
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// unexpected returns the error for a text that this reader does not accept although the parser did.
func (r *reader) unexpected(wanted string) error {
	return errorAt(r.text, r.at, fmt.Sprintf("%s was expected here", wanted))
}
