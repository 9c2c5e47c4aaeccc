package format

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// scalarOf returns a scalar with its type; a date or a time becomes a string. For another value it
// returns a description of the expected ones.
func scalarOf(n *syntax.Node) (value any, want string) {
	switch value := n.Value.(type) {
	case string, bool, int64:
		return value, ""
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, "a finite number"
		}
		return value, ""
	case encoding.TextMarshaler: // a date or a time
		if text, err := value.MarshalText(); err == nil {
			return string(text), ""
		}
	}
	return nil, "a string, a number, or true or false"
}

// Encoded returns each value as JSON, by key.
func (s Scalars) Encoded() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(s))
	for key, value := range s {
		all[key] = encoded(value)
	}
	return all
}

// encoded returns one scalar as JSON. A float64 without a fraction gets one, so that it is decoded
// as a float64.
func encoded(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage("null") // strings, bools and finite numbers always encode
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if _, float := value.(float64); float && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text
}

// MarshalJSON writes the table with its keys sorted.
func (s Scalars) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	out := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, encoded(key)...), ':'), encoded(s[key])...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads a table, also in the older form without types.
func (s *Scalars) UnmarshalJSON(data []byte) error {
	var read map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return err
	}
	for key, value := range read {
		switch value := value.(type) {
		case string, bool:
		case json.Number:
			number, err := numberOf(value)
			if err != nil {
				return fmt.Errorf("read the number %q: %w", key, err)
			}
			read[key] = number
		default:
			return fmt.Errorf("%q is no scalar", key)
		}
	}
	*s = read
	return nil
}

func numberOf(n json.Number) (any, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n.Int64()
	}
	return n.Float64()
}
