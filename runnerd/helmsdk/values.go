package helmsdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// maxValues bounds the bytes of one values file.
const maxValues = 4 << 20

// Set is one value to be set by its path.
type Set struct {
	// Key has the syntax of helm --set: dots between keys, [0] for an element of a list, \. for a
	// dot in a key; a part between double quotes is literal: `annotations."example.com/owner"`.
	Key string
	// Value is a JSON scalar: nil deletes a default of the chart. It is set with its own type.
	Value any
}

// ReadValues parses one YAML or JSON mapping of values. Whole numbers become int64,
// as with helm --set, so that a million is not written 1e+06. name is for the error.
func ReadValues(name string, content []byte) (map[string]any, error) {
	if len(content) > maxValues {
		return nil, fmt.Errorf("%s: values have at most %d MiB; move large texts into the chart", name, maxValues>>20)
	}
	if err := guard(name, content); err != nil {
		return nil, err
	}
	plain, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, fmt.Errorf("%s is not YAML: %s; correct it", name, bounded(err))
	}
	if string(plain) == "null" {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("%s is not a mapping from keys to values; let it have lines like `replicas: 2`", name)
	}
	for key, value := range values {
		values[key] = typedNumbers(value)
	}
	return values, nil
}

// typedNumbers replaces numbers as text by int64 and float64.
func typedNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return whole
		}
		number, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return number
	case map[string]any:
		for key, element := range v {
			v[key] = typedNumbers(element)
		}
	case []any:
		for i, element := range v {
			v[i] = typedNumbers(element)
		}
	}
	return value
}

// MergeValues merges YAML files, of which later ones win, and then sets values in the
// order of the list. A null deletes a default of the chart.
func MergeValues(files []string, sets []Set) (map[string]any, error) {
	merged := map[string]any{}
	for i, text := range files {
		values, err := ReadValues(fmt.Sprintf("values file %d", i+1), []byte(text))
		if err != nil {
			return nil, err
		}
		merge(merged, values)
	}
	for _, s := range sets {
		if err := s.setIn(merged); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// OverrideValues merges a YAML text over values. name is for errors.
func OverrideValues(values map[string]any, name, text string) error {
	over, err := ReadValues(name, []byte(text))
	if err != nil {
		return err
	}
	merge(values, over)
	return nil
}

// merge merges values into others: mappings are merged, everything else is replaced.
func merge(into, values map[string]any) {
	for key, value := range values {
		if table, ok := value.(map[string]any); ok {
			if there, ok := into[key].(map[string]any); ok {
				merge(there, table)
				continue
			}
		}
		into[key] = value
	}
}

// setIn sets the value. The SDK's parser parses the key, and never sees the value:
// nothing in it is syntax.
func (s Set) setIn(values map[string]any) error {
	key, err := plainKey(s.Key)
	if err != nil {
		return err
	}
	taken := false
	err = strvals.ParseIntoFile(key+"=value", values, func([]rune) (any, error) {
		taken = true
		return s.Value, nil
	})
	if err != nil && err != io.EOF || !taken { //nolint:errorlint // the parser gives it bare
		why := "it names no place"
		if err != nil {
			why = bounded(err)
		}
		return fmt.Errorf(
			"the key %.200q of values cannot be set: %s; write it as helm --set has it, like image.tag or hosts[0].name",
			s.Key, why)
	}
	return nil
}

// plainKey converts quoted parts of a key to backslash escapes, as the SDK's parser
// needs, and rejects what would be more than a key.
func plainKey(key string) (string, error) {
	var made strings.Builder
	quoted, escaped, fresh := false, false, true
	for _, r := range key {
		if r == '.' && !quoted && !escaped && fresh {
			return "", fmt.Errorf("the key %.200q of values has an empty part; take one of the dots out", key)
		}
		fresh = r == '.' && !quoted && !escaped
		switch {
		case escaped:
			made.WriteRune('\\')
			made.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case quoted && strings.ContainsRune(`.,=[]{}`, r):
			made.WriteRune('\\')
			made.WriteRune(r)
		case r == ',' || r == '=':
			return "", fmt.Errorf(
				"the key %.200q of values has a %q; put that part between double quotes if it belongs to the key", key, string(r))
		default:
			made.WriteRune(r)
		}
	}
	if quoted || escaped {
		return "", fmt.Errorf("the key %.200q of values ends within quotes or after a backslash; close it", key)
	}
	if fresh {
		return "", fmt.Errorf("the key %.200q of values is empty or ends with a dot; name what is to be set", key)
	}
	return made.String(), nil
}
