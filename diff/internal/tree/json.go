package tree

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// MaxDepth is how deep documents inside strings may nest; a deeper one is taken for text.
const MaxDepth = 100

var errTooDeep = errors.New("it nests too deep")

// ReadJSON reads the next value of dec, at most depth levels deep, with its numbers as they are written. The errors are those of dec,
// which can quote the names of objects: whoever shows one says it in words of their own.
func ReadJSON(dec *jsontext.Decoder, depth int) (raw.Value, error) {
	v, err := readJSON(dec, depth)
	return raw.Of(v), err
}

func readJSON(dec *jsontext.Decoder, depth int) (any, error) {
	t, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case '{', '[':
		if depth <= 0 {
			return nil, errTooDeep
		}
		if t.Kind() == '[' {
			return readList(dec, depth-1)
		}
		return readObject(dec, depth-1)
	}
	return nil, nil
}

func readObject(dec *jsontext.Decoder, depth int) (any, error) {
	out := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		// The text of a token lives only until the next one is read.
		key := name.String()
		if out[key], err = readJSON(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return out, err
}

func readList(dec *jsontext.Decoder, depth int) (any, error) {
	out := []any{}
	for dec.PeekKind() != ']' {
		v, err := readJSON(dec, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := dec.ReadToken()
	return out, err
}

// end is an error when dec has more than it has given.
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
