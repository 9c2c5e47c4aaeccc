package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// parseJSON makes the value of a JSON text.
func (t text) parseJSON() (raw.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(t.data))
	v, err := jsonValue(dec, 1)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return raw.Of(v), nil
		}
	}
	return raw.Value{}, t.jsonError(dec, err)
}

var errTooDeep = errors.New("nested more than 500 levels deep; flatten it")

// jsonValue reads one value.
func jsonValue(dec *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return jsonObject(dec, depth)
	case '[':
		return jsonList(dec, depth)
	case '"':
		return token.String(), nil
	case '0':
		return jsonNumber(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func jsonObject(dec *jsontext.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if m[name], err = jsonValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return m, err
}

func jsonList(dec *jsontext.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.PeekKind() != ']' {
		v, err := jsonValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.ReadToken()
	return list, err
}

// jsonNumber writes a number as YAML's are written: integers keep their digits, 1.0 and 1e0 are 1.
func jsonNumber(s string) any {
	if n, ok := number(s); ok {
		return n
	}
	return json.Number(s)
}

// jsonError says where JSON is broken. The library's own words may quote the text.
func (t text) jsonError(dec *jsontext.Decoder, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errTooDeep):
		return t.errorAt(placeAt(t.data, int(dec.InputOffset())), errTooDeep.Error())
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return t.errorAt(placeAt(t.data, int(syntax.ByteOffset)), "this key is in the object already; remove one of the two")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return t.errorAt(placeAt(t.data, len(t.data)), "the JSON ends too early; give the whole of it")
	case errors.As(err, &syntax):
		return t.errorAt(placeAt(t.data, int(syntax.ByteOffset)), "this is no valid JSON; check what stands here")
	}
	return t.errorAt(placeAt(t.data, int(dec.InputOffset())), "more text after the JSON value; put a value of its own on a new line")
}
