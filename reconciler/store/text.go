package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// NotFoundAs returns replacement if err is ErrNotFound, and otherwise err.
func NotFoundAs(err, replacement error) error {
	if errors.Is(err, ErrNotFound) {
		return replacement
	}
	return err
}

// CleanText replaces NUL, which Postgres cannot store in a text, by U+FFFD.
func CleanText(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// CleanJSON returns equivalent JSON that Postgres can store: it stores no NUL and no half of a
// surrogate pair, which both become U+FFFD. CleanJSON returns an error for what is not one JSON value
// and for a number that is out of range.
func CleanJSON(raw []byte) ([]byte, error) {
	value, err := decodeOne(raw)
	if err != nil {
		return nil, err
	}
	if value, err = storable(value, func(text string) (string, error) { return CleanText(text), nil }); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// DecodeJSON decodes one JSON value, with numbers as json.Number. It returns an error for what is not
// one JSON value and for what Postgres cannot store: NUL in a text, and a number that is out of range.
func DecodeJSON(raw []byte) (any, error) {
	value, err := decodeOne(raw)
	if err != nil {
		return nil, err
	}
	return storable(value, func(text string) (string, error) {
		if strings.ContainsRune(text, 0) {
			return "", errors.New("a text contains a NUL character")
		}
		return text, nil
	})
}

func decodeOne(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // no digit of a number may be lost
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// longestNumber bounds a number in an error, in bytes.
const longestNumber = 64

// storable returns a decoded value with every text and key replaced by what text returns for it, and
// an error for a number that Postgres cannot store.
func storable(value any, text func(string) (string, error)) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return text(v)
	case json.Number:
		// The database would expand a larger number digit by digit.
		if _, err := strconv.ParseFloat(v.String(), 64); errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("the number %.*s is too large", longestNumber, v.String())
		}
	case []any:
		for i := range v {
			if v[i], err = storable(v[i], text); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		made := make(map[string]any, len(v))
		for key, inner := range v {
			if key, err = text(key); err != nil {
				return nil, err
			}
			if made[key], err = storable(inner, text); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	return value, nil
}
