package jsonschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// valueSchema returns the schema of a key's value.
func valueSchema(k format.Key) *Schema {
	switch {
	case k.Unsupported:
		return &Schema{Description: "No key of the format: " + k.Hint + ".", Deprecated: true, Taplo: hidden()}
	case k.Removed:
		s := rejected("No key of the format any more: " + k.Hint + ".")
		s.Deprecated, s.Taplo = true, hidden()
		return s
	}
	s := undocumentedSchema(k)
	s.Description = describe(k)
	s.Default, s.Examples = defaultOf(k), examples(k)
	return s
}

// undocumentedSchema returns the schema of a key's value, without its documentation.
func undocumentedSchema(k format.Key) *Schema {
	switch k.Type {
	case format.String:
		return textSchema(k)
	case format.Bool:
		return &Schema{AnyOf: []*Schema{{Type: "boolean"}, {Enum: []string{"true", "false"}}}}
	case format.Number:
		return &Schema{AnyOf: []*Schema{{Type: "integer"}, {Type: "string", Pattern: `^[+-]?[0-9]+$`}}}
	case format.Strings:
		return &Schema{Type: "array", Items: &Schema{Type: scalarTypes()}, MinItems: minItems(k)}
	case format.Map, format.TypedMap:
		return stringMap()
	case format.Flags:
		return &Schema{Type: "object", AdditionalProperties: undocumentedSchema(format.Key{Type: format.Bool})}
	case format.Table:
		return tableSchema(k.Keys, format.Kind{})
	case format.Tables:
		return &Schema{Type: "array", Items: tableSchema(k.Keys, format.Kind{}), MinItems: minItems(k)}
	case format.MergedMap:
		return &Schema{AnyOf: []*Schema{stringMap(), {Type: "array", Items: stringMap()}}}
	}
	return &Schema{}
}

func stringMap() *Schema {
	return &Schema{Type: "object", AdditionalProperties: &Schema{Type: scalarTypes()}}
}

// minItems returns the minimum number of elements of an array: a required one must not be empty.
func minItems(k format.Key) int {
	if k.Required {
		return 1
	}
	return 0
}

// textSchema returns the schema of a text key. A template is allowed for any value, because its value
// is not known yet.
func textSchema(k format.Key) *Schema {
	free := &Schema{Type: scalarTypes(), MinLength: minItems(k), Pattern: patterns[k.Format]}
	var forms []*Schema
	for _, values := range [][]string{k.Values, k.Suggested} {
		if values != nil {
			forms = append(forms, &Schema{Enum: values})
		}
	}
	if old := sorted(k.OldValues); old != nil {
		forms = append(forms, &Schema{Enum: old, Description: "Older spellings.", Deprecated: true, Taplo: hidden()})
	}
	switch {
	case forms == nil:
		return free
	case k.Values == nil:
		forms = append(forms, free)
	case k.Template:
		forms = append(forms, &Schema{Type: "string", Pattern: `\{\{`})
	}
	if len(forms) == 1 {
		return forms[0]
	}
	return &Schema{AnyOf: forms}
}

// patterns approximate the formats that a regular expression can describe; package appconfig checks
// them precisely.
var patterns = map[string]string{
	format.FormatDuration: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
	format.FormatCron:     `^\s*\S+(\s+\S+){4}\s*$`,
	format.FormatURL:      `^https?://|\{\{`,
}

func sorted(old map[string]string) []string { return slices.Sorted(maps.Keys(old)) }

// noEffect describes keys and kinds that have no effect yet.
const noEffect = "Has no effect yet."

// describe returns the documentation of a key, as an editor shows it.
func describe(k format.Key) string {
	all := []string{k.Description}
	if k.Template {
		all = append(all, "Rendered for each install.")
	}
	if k.File {
		all = append(all, "Can be a reference to the file that holds it, such as ./file.")
	}
	if k.NoEffectYet {
		all = append(all, noEffect)
	}
	return strings.Join(all, " ")
}

// defaultOf returns the default in the key's type.
func defaultOf(k format.Key) any {
	if k.Default == "" {
		return nil
	}
	return parseValue(k, k.Default)
}

func examples(k format.Key) []any {
	if k.Example == "" || k.Type != format.String {
		return nil
	}
	return []any{k.Example}
}

// parseValue converts a text to the key's type.
func parseValue(k format.Key, text string) any {
	switch k.Type {
	case format.Bool:
		return text == "true"
	case format.Number:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	return text
}
