package manifest

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// parseJSON parses a JSON text.
func (t text) parseJSON() (raw.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(t.data))
	v, err := tree.ReadJSONNumbers(dec, maxDepth-1, jsonNumber)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	return raw.Value{}, t.jsonError(dec, err)
}

// jsonNumber normalizes a number like those of YAML: integers keep their digits, 1.0 and 1e0 are 1.
func jsonNumber(s string) string {
	if n, ok := number(s); ok {
		return string(n)
	}
	return s
}

// jsonError returns an error with the place where JSON is broken. The
// library's own text may quote the document.
func (t text) jsonError(dec *jsontext.Decoder, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, tree.ErrTooDeep):
		return t.errorAt(placeAt(t.data, int(dec.InputOffset())), "nested more than 500 levels deep; flatten it")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return t.errorAt(placeAt(t.data, int(syntax.ByteOffset)), "this key is in the object already; remove one of the two")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return t.errorAt(placeAt(t.data, len(t.data)), "the JSON ends too early; pass the complete value")
	case errors.As(err, &syntax):
		return t.errorAt(placeAt(t.data, int(syntax.ByteOffset)), "this is not valid JSON; check this place")
	}
	return t.errorAt(placeAt(t.data, int(dec.InputOffset())),
		"more text after the JSON value; put another value on a new line")
}
