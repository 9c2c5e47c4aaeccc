package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
// surrogate pair, which both become U+FFFD. CleanJSON returns an error for what is not JSON and for
// a number that is out of range.
func CleanJSON(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // no digit of a number may be lost
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("that is not JSON: %w", err)
	}
	value, err := cleanValue(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// longestNumber bounds a number in an error, in bytes.
const longestNumber = 64

func cleanValue(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return CleanText(v), nil
	case json.Number:
		// The database would expand a larger number digit by digit.
		if _, err := strconv.ParseFloat(v.String(), 64); errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("the number %.*s is too large", longestNumber, v.String())
		}
	case []any:
		for i := range v {
			if v[i], err = cleanValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, inner := range v {
			if clean[CleanText(key)], err = cleanValue(inner); err != nil {
				return nil, err
			}
		}
		return clean, nil
	}
	return value, nil
}
