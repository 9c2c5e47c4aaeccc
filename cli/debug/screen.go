package debug

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// screen passes the output of a program in a pod on to a terminal, without what could act on more than the screen:
// titles, clipboards, links, printers, reports of the terminal's state beyond the cursor, and sequences that it does
// not know. The pod may be hostile. It is a writer for one goroutine.
type screen struct {
	to io.Writer

	state    screenState
	sequence []byte // of an escape sequence so far
	partial  []byte // start of a character
	dirty    bool   // a sequence has changed a mode or a color
}

type screenState int

const (
	inText screenState = iota
	afterEscape
	inCSI
	inCharset
	inString // such as a title: it ends with BEL or ST
	inStringEscape
)

const escape, bell = 0x1b, 0x07

// maxSequence bounds a sequence of parameters, in bytes.
const maxSequence = 64

// controls are the control characters that only move the cursor or ring.
const controls = "\a\b\t\n\v\f\r"

// Finals of control sequences that act on the screen alone; of those in privateFinals also with a leading ?.
const (
	screenFinals  = "@ABCDEFGHIJKLMPSTXZ`abcdefghlmnrsu"
	privateFinals = "hlmnJK"
	// escapeFinals are the short sequences: cursor, keypad, lines, tabs.
	escapeFinals = "78=>MDEH"
)

// Write passes on text.
func (s *screen) Write(text []byte) (int, error) {
	var out bytes.Buffer
	out.Write(s.partial)
	for _, b := range text {
		s.step(&out, b)
	}
	printable, rest := printableRunes(out.Bytes())
	s.partial = rest
	if len(printable) == 0 {
		return len(text), nil
	}
	_, err := s.to.Write(printable)
	return len(text), err
}

// printableRunes returns text without control characters of eight bits, and what may be the start of a character.
func printableRunes(text []byte) (clean, rest []byte) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			return clean, bytes.Clone(text)
		case r == utf8.RuneError && size == 1:
			clean = append(clean, "\ufffd"...)
		case r >= 0x80 && r < 0xa0:
		default:
			clean = append(clean, text[:size]...)
		}
		text = text[size:]
	}
	return clean, nil
}

// step takes one byte.
func (s *screen) step(out *bytes.Buffer, b byte) {
	switch s.state {
	case inText:
		s.text(out, b)
	case afterEscape:
		s.afterEscape(out, b)
	case inCharset:
		s.state = inText
		if b == 'B' || b == '0' {
			s.pass(out, b)
		}
	case inCSI:
		s.csi(out, b)
	case inString:
		switch b {
		case bell, 0x18, 0x1a: // the end, or a cancel
			s.state = inText
		case escape:
			s.state = inStringEscape
		}
	case inStringEscape:
		s.state = inText
		if b != '\\' { // another sequence ends the string
			s.state = afterEscape
			s.afterEscape(out, b)
		}
	}
}

func (s *screen) text(out *bytes.Buffer, b byte) {
	switch {
	case b == escape:
		s.state, s.sequence = afterEscape, append(s.sequence[:0], b)
	case b >= ' ' && b != 0x7f || strings.IndexByte(controls, b) >= 0:
		out.WriteByte(b)
	}
}

func (s *screen) afterEscape(out *bytes.Buffer, b byte) {
	s.state = inText
	switch {
	case b == '[':
		s.state, s.sequence = inCSI, append(s.sequence[:0], escape, b)
	case b == '(' || b == ')':
		s.state, s.sequence = inCharset, append(s.sequence[:0], escape, b)
	case strings.IndexByte("]PX^_", b) >= 0:
		s.state = inString
	case b == escape:
		s.state = afterEscape
	case strings.IndexByte(escapeFinals, b) >= 0:
		s.sequence = append(s.sequence[:0], escape)
		s.pass(out, b)
	}
}

// csi takes a byte of a control sequence.
func (s *screen) csi(out *bytes.Buffer, b byte) {
	switch {
	case b == escape:
		s.state = afterEscape
	case b < ' ' || b > '~':
		s.state = inText
	case b < '@': // parameters and intermediates
		if len(s.sequence) < maxSequence {
			s.sequence = append(s.sequence, b)
		} else {
			s.sequence[2] = '!' // too long: it is dropped at its end
		}
	default:
		s.state = inText
		if s.isHarmless(b) {
			s.pass(out, b)
		}
	}
}

// isHarmless reports whether the control sequence so far acts on the screen alone with this final byte.
func (s *screen) isHarmless(final byte) bool {
	parameters := string(s.sequence[2:])
	if parameters, found := strings.CutSuffix(parameters, " "); found && final == 'q' { // shape of the cursor
		return strings.Trim(parameters, "0123456789") == ""
	}
	finals := screenFinals
	if private, found := strings.CutPrefix(parameters, "?"); found {
		parameters, finals = private, privateFinals
	}
	return strings.IndexByte(finals, final) >= 0 && strings.Trim(parameters, "0123456789;:") == ""
}

// pass passes on the sequence with its last byte.
func (s *screen) pass(out *bytes.Buffer, last byte) {
	s.dirty = true
	out.Write(append(s.sequence, last))
}

// reset takes back the modes that a program may have left: another screen, a hidden cursor, reports of the mouse and of
// pasting, keys of applications, colors.
func (s *screen) reset() {
	if s.dirty {
		_, _ = io.WriteString(s.to, "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l"+
			"\x1b[?1l\x1b>\x1b(B\x1b[m\r\n")
	}
}
