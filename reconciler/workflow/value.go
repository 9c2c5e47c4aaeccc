package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// decodeValue reads JSON that a runner sent, and rejects what a jsonb column would:
// NUL in texts, and numbers beyond a double.
func decodeValue(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if d.More() {
		return nil, errors.New("it is more than one JSON value")
	}
	return v, storable(v)
}

func storable(v any) error {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return errors.New("it holds a NUL character, which cannot be kept")
		}
	case json.Number:
		if _, err := strconv.ParseFloat(v.String(), 64); err != nil {
			return fmt.Errorf("the number %.40s is too large", v.String())
		}
	case []any:
		for _, item := range v {
			if err := storable(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if err := errors.Join(storable(key), storable(item)); err != nil {
				return err
			}
		}
	}
	return nil
}
