package tree

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// MaxDepth is how deep documents inside strings may nest; a deeper one is treated as text.
const MaxDepth = 100

// ErrTooDeep is the error for a document that nests deeper than its reader allows.
var ErrTooDeep = errors.New("it nests too deep")

// ReadJSON reads the next value of dec, at most depth levels deep, and preserves the spelling of
// its numbers. The errors are those of dec, which can quote the names of objects: do not show them.
func ReadJSON(dec *jsontext.Decoder, depth int) (raw.Value, error) {
	return ReadJSONNumbers(dec, depth, func(digits string) string { return digits })
}

// ReadJSONNumbers is like ReadJSON, and converts each number with the function number.
func ReadJSONNumbers(dec *jsontext.Decoder, depth int, number func(digits string) string) (raw.Value, error) {
	return jsonReader{dec, number}.value(depth)
}

// JSONText parses a text that is one JSON object or list. It returns not ok for
// anything else, and for a duplicate key, which readers may treat differently.
func JSONText(text string) (v raw.Value, ok bool) {
	d, ok := readJSONText(strings.TrimSpace(text))
	return d.value, ok
}

type jsonReader struct {
	*jsontext.Decoder
	number func(digits string) string
}

func (r jsonReader) value(depth int) (raw.Value, error) {
	t, err := r.ReadToken()
	if err != nil {
		return raw.Null(), err
	}
	switch t.Kind() {
	case 't', 'f':
		return raw.OfBool(t.Kind() == 't'), nil
	case '"':
		return raw.OfText(t.String()), nil
	case '0':
		return raw.OfNumber(r.number(t.String())), nil
	case '{', '[':
		if depth <= 0 {
			return raw.Null(), ErrTooDeep
		}
		if t.Kind() == '[' {
			return r.list(depth - 1)
		}
		return r.object(depth - 1)
	}
	return raw.Null(), nil
}

func (r jsonReader) object(depth int) (raw.Value, error) {
	var out []raw.Field
	for r.PeekKind() != '}' {
		name, err := r.ReadToken()
		if err != nil {
			return raw.Null(), err
		}
		// The text of a token is valid only until the next one is read.
		f := raw.Field{Key: name.String()}
		if f.Value, err = r.value(depth); err != nil {
			return raw.Null(), err
		}
		out = append(out, f)
	}
	if _, err := r.ReadToken(); err != nil {
		return raw.Null(), err
	}
	v, ok := raw.OfObject(out)
	if !ok {
		return raw.Null(), errRepeated
	}
	return v, nil
}

// errRepeated is the error for a repeated key. Decoders report one before, unless they allow it.
var errRepeated = errors.New("a key is in an object twice")

func (r jsonReader) list(depth int) (raw.Value, error) {
	var out []raw.Value
	for r.PeekKind() != ']' {
		v, err := r.value(depth)
		if err != nil {
			return raw.Null(), err
		}
		out = append(out, v)
	}
	_, err := r.ReadToken()
	return raw.OfList(out), err
}

// end returns an error if dec has more input.
func end(dec *jsontext.Decoder) error {
	_, err := dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return errors.New("there is more than one value")
	}
	return err
}
