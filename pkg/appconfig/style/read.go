package style

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// line is what one line of a file begins with, or one of an array or inline table that is written over several.
type line struct {
	kind    kind
	gap     bool   // blank lines stood before it
	key     string // of a header or a pair, without blanks around its dots; empty for the element of an array
	value   value  // of a pair or element
	comment string // the comment itself, or the one behind the header, pair or element; with its #
}

// kind is what a line is.
type kind int

const (
	remark kind = iota // a comment of its own
	header             // [key]
	array              // [[key]]
	pair               // key = value, or an element
)

// value is a scalar, an array or an inline table.
type value struct {
	text    string // of a scalar, as it is written
	open    byte   // '[' or '{'; 0 for a scalar
	opening string // comment behind the opening bracket
	lines   []line // what is inside the brackets
	spread  bool   // lines end directly inside the brackets
	width   int    // columns of the value on one line; -1 if it cannot be on one
}

// reader takes a text apart that the TOML parser has accepted. It is strict about what it needs to know, and no more.
type reader struct {
	text string
	at   int
	keys int // how many keys and headers there were
}

// document reads all of it.
func (r *reader) document() ([]line, error) {
	var lines []line
	for newlines := 0; ; {
		r.blanks()
		switch {
		case r.at == len(r.text):
			return lines, nil
		case r.newline():
			newlines++
			continue
		}
		next, err := r.line()
		if err != nil {
			return nil, err
		}
		r.blanks()
		if next.kind != remark && r.peek() == '#' {
			next.comment = r.comment()
		}
		if r.at < len(r.text) && !r.newline() {
			return nil, r.unexpected("the end of the line")
		}
		next.gap = newlines > 0 && len(lines) > 0
		newlines, lines = 0, append(lines, next)
	}
}

// line reads a comment, header or pair.
func (r *reader) line() (l line, err error) {
	switch {
	case r.peek() == '#':
		return line{kind: remark, comment: r.comment()}, nil
	case r.take("[["):
		l.kind = array
		l.key, err = r.key("]]")
	case r.take("["):
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
	r.blanks()
	v, err := r.value(depth)
	return line{kind: pair, key: key, value: v}, err
}

// key reads a key, dotted or not, and what ends it.
func (r *reader) key(end string) (string, error) {
	var key strings.Builder
	r.keys++
	for {
		r.blanks()
		from := r.at
		if quote := r.peek(); quote == '"' || quote == '\'' {
			if !r.quoted() {
				return "", r.unexpected("the end of the key")
			}
		} else {
			r.until(" \t\r\n.=]#,{}[\"'")
		}
		if r.at == from {
			return "", r.unexpected("a key")
		}
		key.WriteString(r.text[from:r.at])
		r.blanks()
		switch {
		case r.take("."):
			key.WriteByte('.')
			r.keys++
		case r.take(end):
			return key.String(), nil
		default:
			return "", r.unexpected(end)
		}
	}
}

// value reads what stands behind the = or in an array.
func (r *reader) value(depth int) (value, error) {
	from := r.at
	switch r.peek() {
	case '[', '{':
		return r.brackets(depth + 1)
	case '"', '\'':
		if !r.quoted() {
			return value{}, r.unexpected("the end of the string")
		}
	default:
		r.until(" \t\r\n#,]}")
		if r.at-from == len("2006-01-02") && r.text[from+4] == '-' && r.at+1 < len(r.text) && r.peek() == ' ' && isDigit(r.text[r.at+1]) {
			r.at++ // a date with its time behind a blank
			r.until(" \t\r\n#,]}")
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
		return value{}, errorAt(r.text, r.at, fmt.Sprintf("arrays and inline tables are nested more than %d levels deep", maxNesting))
	}
	v := value{open: r.peek()}
	r.at++
	for newlines := 0; ; {
		r.blanks()
		switch {
		case r.newline():
			newlines, v.spread = newlines+1, true
		case r.take(","):
			newlines = 0 // what stands behind it belongs to what is before it
		case r.peek() == v.close():
			r.at++
			v.width = v.measure()
			return v, nil
		case r.peek() == '#':
			v.remark(r.comment(), newlines)
			newlines = 0
		default:
			next, err := r.element(v.open, depth)
			if err != nil {
				return value{}, err
			}
			next.gap = newlines > 1 && len(v.lines) > 0
			newlines, v.lines = 0, append(v.lines, next)
		}
	}
}

// element reads what an array or inline table consists of.
func (r *reader) element(open byte, depth int) (line, error) {
	if open == '{' {
		return r.pair(depth)
	}
	v, err := r.value(depth)
	return line{kind: pair, value: v}, err
}

// close is the bracket that ends it.
func (v *value) close() byte { return v.open + 2 } // so it is in ASCII

// remark adds a comment that stands newlines below what is before it.
func (v *value) remark(text string, newlines int) {
	last := len(v.lines) - 1
	switch {
	case newlines == 0 && last < 0 && v.opening == "":
		v.opening = text
	case newlines == 0 && last >= 0 && v.lines[last].kind == pair && v.lines[last].comment == "":
		v.lines[last].comment = text
	default:
		v.lines = append(v.lines, line{kind: remark, comment: text, gap: newlines > 1 && last >= 0})
	}
}

// measure gives the width of brackets that have been read.
func (v *value) measure() int {
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
