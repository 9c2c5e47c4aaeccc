package helm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// settings are the rendered settings of a release. They hold secrets.
type settings struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Driver    string `json:"driver"`
	// values are the merged values of the values files, the values setting and the install's override.
	values map[string]any
}

// namespaceForm is the form of a Kubernetes namespace name: RFC 1123, section 2.1.
var namespaceForm = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// renderLocation renders the location of a release: its namespace, and the storage driver of its record.
func renderLocation(spec api.HelmSpec, opened *values.Values) (settings, error) {
	made := settings{Release: spec.Release}
	namespace, err := opened.RenderReported("namespace", spec.Namespace)
	if err != nil {
		return settings{}, err
	}
	if made.Namespace = strings.TrimSpace(namespace); !namespaceForm.MatchString(made.Namespace) {
		return settings{},
			fmt.Errorf("namespace comes to %q, which is no name of a namespace: lower-case letters, digits and dashes, at "+
				"most 63; correct the component's namespace", made.Namespace)
	}
	driver, err := opened.RenderReported("storage_driver", spec.StorageDriver)
	if err != nil {
		return settings{}, err
	}
	switch made.Driver = strings.ToLower(strings.TrimSpace(driver)); made.Driver {
	case "":
		made.Driver = "configmap"
	case "configmap", "secret":
	default:
		return settings{}, fmt.Errorf("storage_driver comes to %q; use configmap or secret", made.Driver)
	}
	return made, nil
}

// renderSettings renders all of a component's settings.
func renderSettings(spec api.HelmSpec, opened *values.Values) (settings, error) {
	made, err := renderLocation(spec, opened)
	if err != nil {
		return settings{}, err
	}
	files := make([]string, len(spec.ValuesFiles))
	for i, text := range spec.ValuesFiles {
		if files[i], err = opened.Render(fmt.Sprintf("values_file[%d]", i), text); err != nil {
			return settings{}, err
		}
	}
	// In the order of the keys, so that the same settings give the same values even
	// if one key is below another.
	var sets []helmsdk.Set
	for _, key := range slices.Sorted(maps.Keys(spec.Values)) {
		value, err := scalar(key, spec.Values[key], spec.InputTypes, opened)
		if err != nil {
			return settings{}, err
		}
		sets = append(sets, helmsdk.Set{Key: key, Value: value})
	}
	if made.values, err = helmsdk.MergeValues(files, sets); err != nil || spec.Override == "" {
		return made, err
	}
	const name = "helm_values of the install"
	text, err := opened.Render(name, spec.Override)
	if err != nil {
		return settings{}, err
	}
	return made, helmsdk.OverrideValues(made.values, name, text)
}

// scalar returns one of the values as it is set: a string is a template, anything
// else is used as it is.
func scalar(key string, written json.RawMessage, inputTypes map[string]string, opened *values.Values) (any, error) {
	value, err := decode(written)
	if err != nil {
		return nil, fmt.Errorf("values.%s is no JSON; this is a bug in the control plane; report it", key)
	}
	switch text := value.(type) {
	case string:
		return renderValue(key, text, inputTypes, opened)
	case []any, map[string]any:
		return nil, fmt.Errorf("values.%s is a list or an object; write it into a values file", key)
	}
	return value, nil
}

// decode decodes JSON and keeps whole numbers as written.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return number(value), nil
}

// number converts a whole number to an int64 and any other to a float64; other values stay.
func number(value any) any {
	written, is := value.(json.Number)
	if !is {
		return value
	}
	if whole, err := strconv.ParseInt(written.String(), 10, 64); err == nil {
		return whole
	}
	other, err := written.Float64()
	if err != nil {
		return written.String() // out of range: kept as text
	}
	return other
}

// singleValue matches a text that is only one value: a chain of names below .nuon, or an index into one.
var singleValue = lazyregexp.New(
	`^\s*\{\{-?\s*((?:\.nuon(?:\.[A-Za-z_][A-Za-z0-9_]*)+)|(?:index\s+\.nuon(?:\.[A-Za-z_][A-Za-z0-9_]*)*(?:\s+(?:"[^"\\]*"|\d+))+))\s*-?\}\}\s*$`)

// renderValue returns the rendered value of a text. A text that is only one value keeps
// that value's type; an input, which is always a string, has its declared type.
func renderValue(key, text string, inputTypes map[string]string, opened *values.Values) (any, error) {
	name := "values." + key
	found := singleValue.FindStringSubmatch(text)
	if found == nil {
		return opened.Render(name, text)
	}
	encoded, err := opened.Render(name, "{{ toJson ("+found[1]+") }}")
	if err != nil {
		return nil, err
	}
	value, err := decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("%s does not come to a value; correct the component's config", name)
	}
	switch read := value.(type) {
	case []any, map[string]any:
		return opened.Render(name, text) // as text, which is JSON
	case string:
		return typedInput(name, read, inputTypes[inputOf(text)])
	}
	return value, nil
}

// inputOf returns the name of the input that a text reads, or "" if it reads something else.
func inputOf(text string) string {
	template, err := render.Parse("", text)
	if err != nil || len(template.Refs()) != 1 {
		return ""
	}
	path := render.Canonical(template.Refs()[0])
	if len(path) != 3 || !path.HasPrefix("inputs", "inputs") {
		return ""
	}
	return path[2]
}

// typedInput converts an input's text to its declared type.
func typedInput(name, text, declared string) (any, error) {
	switch declared {
	case "number":
		if value, err := decode([]byte(text)); err == nil {
			switch value.(type) {
			case int64, float64:
				return value, nil
			}
		}
		// Without the text: it may be a secret.
		return nil, fmt.Errorf("%s: the input is declared as a number and has another value; enter it again", name)
	case "bool":
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%s: the input is declared as a bool and is neither true nor false; enter it again", name)
	}
	return text, nil
}
