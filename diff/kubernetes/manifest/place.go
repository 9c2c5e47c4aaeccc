package manifest

import (
	"bytes"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

// text is a stretch of a source from which one value is parsed.
type text struct {
	data []byte
	form form
	// source, line and column are where the first byte of data stands; line and column count from 1.
	source       string
	line, column int
}

// form is how a text is written.
type form uint8

const (
	yamlForm form = iota
	// elementForm is one element of a YAML list, with the dash before it.
	elementForm
	jsonForm
)

// place is a position inside a text, counted from 1. The zero place is where the text begins.
type place struct{ line, column int }

// placeAt is the place of a byte of data; columns count characters.
func placeAt(data []byte, offset int) place {
	offset = min(max(offset, 0), len(data))
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return place{line: bytes.Count(data[:start], []byte{'\n'}) + 1, column: len([]rune(string(data[start:offset]))) + 1}
}

// problem is an error at a place of a source. Its words never quote a value of the source.
type problem struct {
	source       string
	line, column int
	words        string
}

func (p *problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", printable(p.source), p.line, p.column, p.words)
}

// errorAt is an error at a place inside the text. Words end with what to do.
func (t text) errorAt(at place, words string) error {
	p := &problem{source: t.source, line: t.line, column: max(t.column, 1), words: words}
	switch {
	case at.line > 1:
		p.line, p.column = t.line+at.line-1, max(at.column, 1)
	case at.column > 0:
		p.column += at.column - 1
	}
	return p
}

// printable keeps the name of a source or an object from doing something to a terminal.
func printable(name string) string { return diff.Neutral(name) }
