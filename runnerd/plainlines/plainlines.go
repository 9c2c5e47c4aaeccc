// Package plainlines splits the output of programs and containers into lines that are safe to print.
//
// It removes what a terminal would act on. It masks nothing: callers put the job's redactor before it and log each line
// through the job's log, which masks it once more. Handlers of jobs use it.
package plainlines

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// sequence matches what a terminal takes as a command: colors, positions, titles, clipboards.
var sequence = lazyregexp.New(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]`)

// printable returns a line without sequences that terminals act on, and with U+FFFD for each other character that does
// not print. Tabs stay.
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

// Writer is a writer that passes on each line. It is for one goroutine at a time.
type Writer struct {
	// Line receives a line without its end.
	Line func(line string)

	partial []byte
}

// Write takes the next part of the text.
func (w *Writer) Write(text []byte) (int, error) {
	w.partial = append(w.partial, text...)
	for {
		end := bytes.IndexByte(w.partial, '\n')
		switch {
		case end >= 0 && end < maxLine:
			w.Line(printable(w.partial[:end]))
			w.partial = w.partial[end+1:]
		case len(w.partial) > maxLine:
			w.Line(printable(w.partial[:maxLine]))
			w.partial = w.partial[maxLine:]
		default:
			return len(text), nil
		}
	}
}

// Close passes on a last line without an end.
func (w *Writer) Close() error {
	if len(w.partial) > 0 {
		w.Line(printable(w.partial))
		w.partial = nil
	}
	return nil
}
