package syntax

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// edit is one replacement in a text: at is its offset in the current text, now the length of the
// new part, was the length of the original part.
type edit struct {
	at, newLen, oldLen int
	grown              int // how many bytes longer than the original the text is up to the end of the edit
}

// Inside returns the position in the file of a position in the text of a string. line and column
// refer to the text and count from 1; column and width are in bytes. It accounts for escapes,
// joined lines and the replacements of Substitute. For many positions in one text, use Trace.
func (n *Node) Inside(line, column, width int) Position { return n.Trace().Inside(line, column, width) }

// Trace returns a Trace for the string, which takes linear time if the positions come in order.
// It is not safe for concurrent use.
func (n *Node) Trace() *Trace {
	t := &Trace{node: n}
	t.text, _ = n.Value.(string)
	t.rewind()
	return t
}

// Trace maps positions in the text of a string to positions in its file.
type Trace struct {
	node *Node
	text string

	line, start int // the current line of the text, and its offset

	decoded, read int // the same point as an offset in the original text, and as an offset in raw
	at, begun     int // the number of line breaks before read, and the offset after the last one
}

func (t *Trace) rewind() {
	quotes, newline := opening(t.node.raw)
	t.line, t.start, t.decoded, t.read = 1, 0, 0, 0
	t.at, t.begun = 0, 0
	t.skip(quotes + newline)
}

// skip moves forward in raw.
func (t *Trace) skip(bytes int) {
	passed := t.node.raw[t.read : t.read+bytes]
	if last := strings.LastIndexByte(passed, '\n'); last >= 0 {
		t.at += strings.Count(passed, "\n")
		t.begun = t.read + last + 1
	}
	t.read += bytes
}

// Inside is [Node.Inside].
func (t *Trace) Inside(line, column, width int) Position {
	n := t.node
	if n.raw == "" {
		return n.At
	}
	wanted := n.original(t.offset(line, column))
	if wanted < t.decoded {
		t.rewind()
		wanted = n.original(t.offset(line, column))
	}
	t.advance(wanted)
	at := Position{File: n.At.File, Line: n.At.Line + t.at, Column: t.read - t.begun + 1}
	if t.at == 0 {
		at.Column = n.At.Column + t.read
	}
	rest := n.raw[t.read:min(len(n.raw), t.read+max(width, 0))]
	at.Width = firstLine(rest)
	return at
}

// offset converts a line and a column of the text into an offset, limited to the length of the
// text.
func (t *Trace) offset(line, column int) int {
	if line < t.line {
		t.line, t.start = 1, 0
	}
	for t.line < line {
		end := strings.IndexByte(t.text[t.start:], '\n')
		if end < 0 {
			break
		}
		t.line++
		t.start += end + 1
	}
	return min(t.start+max(column, 1)-1, len(t.text))
}

// original converts an offset in the text into one in the original text, before Substitute.
func (n *Node) original(offset int) int {
	i := sort.Search(len(n.edits), func(i int) bool { return n.edits[i].at > offset }) - 1
	switch {
	case i < 0:
		return offset
	case offset < n.edits[i].at+n.edits[i].newLen: // inside a replacement: the start of the original part
		return n.edits[i].at - (n.edits[i].grown - n.edits[i].newLen + n.edits[i].oldLen)
	}
	return offset - n.edits[i].grown
}

// advance moves to the position in raw of an offset in the original text.
func (t *Trace) advance(offset int) {
	raw := t.node.raw
	quotes, _ := opening(raw)
	end := len(raw) - quotes
	literal := raw[0] == '\''
	if literal && !strings.Contains(raw, "\r\n") {
		step := max(min(offset-t.decoded, end-t.read), 0)
		t.skip(step)
		t.decoded += step
		return
	}
	for t.decoded <= offset && t.read < end {
		rawBytes, textBytes := characterSize(raw[t.read:end], literal)
		if textBytes > 0 && t.decoded+textBytes > offset {
			return
		}
		t.skip(rawBytes)
		t.decoded += textBytes
	}
}

// characterSize returns the number of bytes that the next character of a string takes in raw, and in the
// text. A literal string has no escapes.
func characterSize(raw string, literal bool) (rawBytes, textBytes int) {
	if strings.HasPrefix(raw, "\r\n") {
		return 2, 1
	}
	if raw[0] != '\\' || len(raw) < 2 || literal {
		_, size := utf8.DecodeRuneInString(raw)
		return size, size
	}
	digits := 0
	switch raw[1] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case ' ', '\t', '\r', '\n': // a joined line: it continues after the whitespace
		return 1 + len(raw[1:]) - len(strings.TrimLeft(raw[1:], " \t\r\n")), 0
	}
	if digits == 0 || len(raw) < 2+digits {
		return 2, 1
	}
	code, err := strconv.ParseUint(raw[2:2+digits], 16, 32)
	if err != nil {
		return 2, 1
	}
	return 2 + digits, max(utf8.RuneLen(rune(code)), 1) //nolint:gosec // TOML allows only valid runes
}
