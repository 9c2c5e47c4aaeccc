package syntax

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// edit is one replacement in a text: from an offset of the text as it is now, so many bytes stand for so many that were written.
type edit struct {
	at, now, was int
	grown        int // how many bytes longer the text is after it than what was written
}

// Inside gives where a place in the text of a string is written. line and column are those in the text, both from 1, column and width
// in bytes. It sees through escapes, joined lines and what Substitute has put in. For many places in one text, use Trace.
func (n *Node) Inside(line, column, width int) Position { return n.Trace().Inside(line, column, width) }

// Trace gives what finds places in the text of a string one after another, in time that is linear if they come in order. It is for one
// goroutine.
func (n *Node) Trace() *Trace {
	t := &Trace{node: n}
	t.text, _ = n.Value.(string)
	t.rewind()
	return t
}

// Trace finds out where places in the text of a string are written.
type Trace struct {
	node *Node
	text string

	line, start int // a line of the text, and its offset

	made, read int // an offset in the text as it was written, and in what is written for it
	at, begun  int // how many line breaks are before read, and the offset after the last of them
}

func (t *Trace) rewind() {
	quotes, newline := opening(t.node.raw)
	t.line, t.start, t.made, t.read = 1, 0, 0, 0
	t.at, t.begun = 0, 0
	t.skip(quotes + newline)
}

// skip goes on in what is written.
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
	if wanted < t.made {
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

// offset turns a line and a column of the text into an offset, which is in the text in any case.
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

// original turns an offset in the text into one in the text as it was written, before Substitute.
func (n *Node) original(offset int) int {
	i := sort.Search(len(n.edits), func(i int) bool { return n.edits[i].at > offset }) - 1
	switch {
	case i < 0:
		return offset
	case offset < n.edits[i].at+n.edits[i].now: // within what was put in: where it was put
		return n.edits[i].at - (n.edits[i].grown - n.edits[i].now + n.edits[i].was)
	}
	return offset - n.edits[i].grown
}

// advance goes on to what is written for an offset in the text.
func (t *Trace) advance(offset int) {
	raw := t.node.raw
	quotes, _ := opening(raw)
	end := len(raw) - quotes
	literal := raw[0] == '\''
	if literal && !strings.Contains(raw, "\r\n") {
		step := max(min(offset-t.made, end-t.read), 0)
		t.skip(step)
		t.made += step
		return
	}
	for t.made <= offset && t.read < end {
		wrote, gives := unit(raw[t.read:end], literal)
		if gives > 0 && t.made+gives > offset {
			return
		}
		t.skip(wrote)
		t.made += gives
	}
}

// unit says how many bytes the next character of a string takes where it is written, and how many in the text. Only a literal one has no
// escapes.
func unit(raw string, literal bool) (wrote, gives int) {
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
	case ' ', '\t', '\r', '\n': // a line that goes on after the next characters
		return 1 + len(raw[1:]) - len(strings.TrimLeft(raw[1:], " \t\r\n")), 0
	}
	if digits == 0 || len(raw) < 2+digits {
		return 2, 1
	}
	code, err := strconv.ParseUint(raw[2:2+digits], 16, 32)
	if err != nil {
		return 2, 1
	}
	return 2 + digits, max(utf8.RuneLen(rune(code)), 1) //nolint:gosec // TOML allows no more than the runes there are
}
