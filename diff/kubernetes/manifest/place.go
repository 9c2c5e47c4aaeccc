package manifest

import (
	"bytes"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

// text is a part of a source from which one value is parsed.
type text struct {
	data []byte
	form form
	// source, line and column are the place of the first byte of data; line
	// and column count from 1.
	source       string
	line, column int
}

// form is the syntax of a text.
type form uint8

const (
	yamlForm form = iota
	// elementForm is one element of a YAML list, including its dash.
	elementForm
	jsonForm
)

// place is a position inside a text, counted from 1. The zero place is the start of the text.
type place struct{ line, column int }

// placeAt returns the place of a byte of data; columns count characters.
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

// errorAt returns an error at a place inside the text. Words end with the remedy.
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

// printable escapes control characters in the name of a source or an object.
func printable(name string) string { return diff.EscapeText(name) }
