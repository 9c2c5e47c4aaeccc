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
	// maxText bounds the bytes of a text. A typical file of an app has a few hundred bytes, or some
	// ten thousand with scripts in it.
	maxText = 1 << 20
	// maxKeys bounds the keys and headers of a text. The decoder compares each key of a table
	// with all previous ones, so their number bounds its time.
	maxKeys = 5000
	// maxNesting bounds the nesting of arrays and inline tables.
	maxNesting = 32
)

// Error is the reason why a text cannot be formatted, with its position.
type Error struct {
	Line, Column int // counted from 1; the column in bytes
	Message      string
}

// Error returns "line:column: message".
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Format formats TOML. Any error is an [Error]; the text is nil then. Its time and memory are
// linear in the length of the text.
func Format(text []byte) ([]byte, error) {
	if len(text) > maxText {
		return nil, &Error{1, 1, fmt.Sprintf("the text is larger than %d MiB", maxText>>20)}
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark)) // the parser rejects it
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
	if err := checkDecodes(text); err != nil {
		return nil, err
	}
	if len(lines) == 0 && len(text) > 0 {
		return []byte("\n"), nil // an empty section; a file of zero bytes would be ignored
	}
	var w writer
	w.document(lines)
	return []byte(w.out.String()), nil
}

// byteOrderMark is a prefix that some editors write.
const byteOrderMark = "\ufeff"

// checkSyntax returns the parser's error for a text that is not TOML. Its time is linear for any
// text.
func checkSyntax(text []byte) error {
	var parser unstable.Parser
	parser.Reset(text)
	for parser.NextExpression() { //nolint:revive // only the parser's error is needed
	}
	err := parser.Error()
	if err == nil {
		return nil
	}
	var parserErr *unstable.ParserError
	if !errors.As(err, &parserErr) {
		return &Error{1, 1, parserMessage(err.Error())}
	}
	offset := len(text)
	if len(parserErr.Highlight) > 0 {
		offset = int(parser.Range(parserErr.Highlight).Offset)
	}
	return errorAt(string(text), offset, parserMessage(parserErr.Message))
}

// checkDecodes returns the decoder's error for what the parser accepts, such as a duplicate key
// or a date that does not exist.
func checkDecodes(text []byte) error {
	var values map[string]any
	err := toml.Unmarshal(text, &values)
	if err == nil {
		return nil
	}
	formatErr := &Error{1, 1, parserMessage(err.Error())}
	var decodeErr *toml.DecodeError
	if errors.As(err, &decodeErr) {
		formatErr.Line, formatErr.Column = decodeErr.Position()
	}
	return formatErr
}

// parserMessage formats a message of the parser.
func parserMessage(message string) string {
	return "TOML syntax: " + strings.TrimPrefix(message, "toml: ")
}

// errorAt returns the error at an offset.
func errorAt(text string, offset int, message string) *Error {
	before := text[:min(offset, len(text))]
	return &Error{1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), message}
}
