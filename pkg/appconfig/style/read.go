package style

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// line is one line of a file, or of an array or inline table over several lines; a value may add
// more lines.
type line struct {
	kind        kind
	blankBefore bool   // there are blank lines before it
	key         string // of a header or pair, without blanks around dots; empty for an array element
	value       value  // of a pair or element
	comment     string // the comment line, or the comment after the header, pair or element; with its #
}

// kind is the kind of a line.
type kind int

const (
	commentLine kind = iota // a comment on its own line
	header                  // [key]
	array                   // [[key]]
	pair                    // key = value, or an element
)

// value is a scalar, an array or an inline table.
type value struct {
	text      string // a scalar as written
	open      byte   // '[' or '{'; 0 for a scalar
	opening   string // comment after the opening bracket
	lines     []line // the content of the brackets
	multiLine bool   // there are line ends directly inside the brackets
	width     int    // columns of the value on one line; -1 if it needs several lines
}

// reader parses a text that the TOML parser has accepted. It only checks what it depends on.
type reader struct {
	text string
	at   int
	keys int // number of keys and headers so far
}

// document reads the whole text.
func (r *reader) document() ([]line, error) {
	var lines []line
	for newlines := 0; ; {
		r.skipBlanks()
		switch {
		case r.at == len(r.text):
			return lines, nil
		case r.skipNewline():
			newlines++
			continue
		}
		next, err := r.line()
		if err != nil {
			return nil, err
		}
		r.skipBlanks()
		if next.kind != commentLine && r.peek() == '#' {
			next.comment = r.comment()
		}
		if r.at < len(r.text) && !r.skipNewline() {
			return nil, r.unexpected("the end of the line")
		}
		next.blankBefore = newlines > 0 && len(lines) > 0
		newlines, lines = 0, append(lines, next)
	}
}

// line reads a comment, header or pair.
func (r *reader) line() (l line, err error) {
	switch {
	case r.peek() == '#':
		return line{kind: commentLine, comment: r.comment()}, nil
	case r.skipWord("[["):
		l.kind = array
		l.key, err = r.key("]]")
	case r.skipWord("["):
		l.kind = header
		l.key, err = r.key("]")
	default:
		return r.pair(0)
	}
	return l, err
}

// pair reads key = value.
func (r *reader) pair(depth int) (line, error) {
	key, err := r.key("=")
	if err != nil {
		return line{}, err
	}
	r.skipBlanks()
	v, err := r.value(depth)
	return line{kind: pair, key: key, value: v}, err
}

// key reads a key, dotted or not, and the token that ends it.
func (r *reader) key(end string) (string, error) {
	var key strings.Builder
	r.keys++
	for {
		r.skipBlanks()
		from := r.at
		if quote := r.peek(); quote == '"' || quote == '\'' {
			if !r.skipString() {
				return "", r.unexpected("the end of the key")
			}
		} else {
			r.skipUntil(" \t\r\n.=]#,{}[\"'")
		}
		if r.at == from {
			return "", r.unexpected("a key")
		}
		key.WriteString(r.text[from:r.at])
		r.skipBlanks()
		switch {
		case r.skipWord("."):
			key.WriteByte('.')
			r.keys++
		case r.skipWord(end):
			return key.String(), nil
		default:
			return "", r.unexpected(end)
		}
	}
}

// value reads a value after an = or in an array.
func (r *reader) value(depth int) (value, error) {
	from := r.at
	switch r.peek() {
	case '[', '{':
		return r.brackets(depth + 1)
	case '"', '\'':
		if !r.skipString() {
			return value{}, r.unexpected("the end of the string")
		}
	default:
		r.skipUntil(" \t\r\n#,]}")
		if r.at-from == len("2006-01-02") && r.text[from+4] == '-' && r.at+1 < len(r.text) && r.peek() == ' ' &&
			isDigit(r.text[r.at+1]) {
			r.at++ // a date with its time after a blank
			r.skipUntil(" \t\r\n#,]}")
		}
	}
	if r.at == from {
		return value{}, r.unexpected("a value")
	}
	v := value{text: r.text[from:r.at], width: -1}
	if !strings.Contains(v.text, "\n") {
		v.width = utf8.RuneCountInString(v.text)
	}
	return v, nil
}

// brackets reads an array or an inline table.
func (r *reader) brackets(depth int) (value, error) {
	if depth > maxNesting {
		return value{}, errorAt(r.text, r.at,
			fmt.Sprintf("arrays and inline tables are nested more than %d levels deep", maxNesting))
	}
	v := value{open: r.peek()}
	r.at++
	for newlines := 0; ; {
		r.skipBlanks()
		switch {
		case r.skipNewline():
			newlines, v.multiLine = newlines+1, true
		case r.skipWord(","):
			newlines = 0 // a comment after it belongs to the previous element
		case r.peek() == v.close():
			r.at++
			v.width = v.flatWidth()
			return v, nil
		case r.peek() == '#':
			v.addComment(r.comment(), newlines)
			newlines = 0
		default:
			next, err := r.element(v.open, depth)
			if err != nil {
				return value{}, err
			}
			next.blankBefore = newlines > 1 && len(v.lines) > 0
			newlines, v.lines = 0, append(v.lines, next)
		}
	}
}

// element reads one element of an array or inline table.
func (r *reader) element(open byte, depth int) (line, error) {
	if open == '{' {
		return r.pair(depth)
	}
	v, err := r.value(depth)
	return line{kind: pair, value: v}, err
}

// close returns the closing bracket.
func (v *value) close() byte { return v.open + 2 } // in ASCII each closing bracket is 2 after the opening one

// addComment adds a comment that is newlines below the previous token.
func (v *value) addComment(text string, newlines int) {
	last := len(v.lines) - 1
	switch {
	case newlines == 0 && last < 0 && v.opening == "":
		v.opening = text
	case newlines == 0 && last >= 0 && v.lines[last].kind == pair && v.lines[last].comment == "":
		v.lines[last].comment = text
	default:
		v.lines = append(v.lines, line{kind: commentLine, comment: text, blankBefore: newlines > 1 && last >= 0})
	}
}

// flatWidth returns the width on one line of brackets that have been read.
func (v *value) flatWidth() int {
	if v.opening != "" {
		return -1
	}
	width := len("[]") + max(0, len(v.lines)-1)*len(", ")
	if v.open == '{' && len(v.lines) > 0 {
		width += len("  ")
	}
	for _, l := range v.lines {
		if l.comment != "" || l.value.width < 0 {
			return -1
		}
		width += l.value.width
		if l.key != "" {
			width += utf8.RuneCountInString(l.key) + len(" = ")
		}
	}
	return width
}
