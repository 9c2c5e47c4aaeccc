package style

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	// maxText is how many bytes a text may have; a file of an app has a few hundred, or some ten thousand with scripts in it.
	maxText = 1 << 20
	// maxKeys is how many keys and headers a text may have. The decoder compares each key of a table with all before it, so their
	// number is what bounds its time.
	maxKeys = 5000
	// maxNesting is how deep arrays and inline tables may lie in each other.
	maxNesting = 32
)

// Error is a text that cannot be formatted, and where that is seen.
type Error struct {
	Line, Column int // from 1; the column in bytes
	Message      string
}

// Error gives "line:column: message".
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Format lays out TOML. Any error is an [Error]; then there is no text. Its time grows with the length of the text, and its memory,
// too.
func Format(text []byte) ([]byte, error) {
	if len(text) > maxText {
		return nil, &Error{1, 1, fmt.Sprintf("the text is larger than %d MiB", maxText>>20)}
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark)) // the parser refuses it
	if err := checkSyntax(text); err != nil {
		return nil, err
	}
	read := &reader{text: string(text)}
	lines, err := read.document()
	if err != nil {
		return nil, err
	}
	if read.keys > maxKeys {
		return nil, &Error{1, 1, fmt.Sprintf("there are more than %d keys and tables; split the file", maxKeys)}
	}
	if err := checkMeaning(text); err != nil {
		return nil, err
	}
	if len(lines) == 0 && len(text) > 0 {
		return []byte("\n"), nil // an empty section, which an empty file need not be
	}
	var w writer
	w.document(lines)
	return []byte(w.out.String()), nil
}

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\ufeff"

// checkSyntax has the parser find what is no TOML. Its time is linear, whatever the text.
func checkSyntax(text []byte) error {
	var parser unstable.Parser
	parser.Reset(text)
	for parser.NextExpression() { //nolint:revive // the parser is only asked for its error
	}
	err := parser.Error()
	if err == nil {
		return nil
	}
	var at *unstable.ParserError
	if !errors.As(err, &at) {
		return &Error{1, 1, syntax(err.Error())}
	}
	offset := len(text)
	if len(at.Highlight) > 0 {
		offset = int(parser.Range(at.Highlight).Offset)
	}
	return errorAt(string(text), offset, syntax(at.Message))
}

// checkMeaning has the decoder find what only it refuses, such as a key that is there twice or a date that no calendar has.
func checkMeaning(text []byte) error {
	var values map[string]any
	err := toml.Unmarshal(text, &values)
	if err == nil {
		return nil
	}
	wrong := &Error{1, 1, syntax(err.Error())}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		wrong.Line, wrong.Column = at.Position()
	}
	return wrong
}

// syntax words what the parser says.
func syntax(message string) string { return "TOML syntax: " + strings.TrimPrefix(message, "toml: ") }

// errorAt says what is wrong at an offset.
func errorAt(text string, offset int, message string) *Error {
	before := text[:min(offset, len(text))]
	return &Error{1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), message}
}
