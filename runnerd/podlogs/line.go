package podlogs

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// sequence matches what a terminal takes as a command: colors, positions, titles, clipboards.
var sequence = lazyregexp.New(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]`)

// printable returns a line of a container without sequences that terminals act on, and with U+FFFD for each other
// character that does not print. Tabs stay.
func printable(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = sequence.Compiled().ReplaceAll(line, nil)
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, string(line))
}

// maxLine is the size of the longest line in bytes; a longer one continues in the next.
const maxLine = 4 << 10

// lines splits a container's log, of which every known secret is masked, and logs each line.
type lines struct {
	log     func(line string)
	partial []byte
}

// Write takes the next part of the log.
func (l *lines) Write(text []byte) (int, error) {
	l.partial = append(l.partial, text...)
	for {
		end := bytes.IndexByte(l.partial, '\n')
		switch {
		case end >= 0 && end < maxLine:
			l.log(printable(l.partial[:end]))
			l.partial = l.partial[end+1:]
		case len(l.partial) > maxLine:
			l.log(printable(l.partial[:maxLine]))
			l.partial = l.partial[maxLine:]
		default:
			return len(text), nil
		}
	}
}

// close logs a last line without a newline.
func (l *lines) close() {
	if len(l.partial) > 0 {
		l.log(printable(l.partial))
		l.partial = nil
	}
}
