package format

import (
	"cmp"
	"embed"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

//go:embed examples
var exampleFiles embed.FS

// ExampleFile returns a complete file of the kind, as TOML. Together these files, and the files
// that they refer to, are one app.
func (k Kind) ExampleFile() string {
	text, err := exampleFiles.ReadFile("examples/" + k.Name + ".toml")
	if err != nil {
		return "" // a test checks that each kind has one
	}
	return string(text)
}

// Snippet returns TOML that shows the position of a key, below its tables and with an example
// value. It returns an empty string for a key that is unsupported, removed or not in the kind.
func (k Kind) Snippet(path string) string {
	keys, arrays, table := k.Keys(), "", ""
	names := strings.Split(path, ".")
	for i, name := range names {
		key, ok := find(keys, name)
		switch {
		case !ok || key.Unsupported || key.Removed:
			return ""
		case i == len(names)-1 && key.isTable():
			return arrays + key.snippet()
		case i == len(names)-1:
			return arrays + table + key.line()
		case key.Type == Tables:
			arrays, table = arrays+key.header(), ""
		default:
			table = key.header()
		}
		keys = key.Keys
	}
	return ""
}

func find(keys []Key, name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// isTable reports whether the key is written as a header with keys below it.
func (k Key) isTable() bool {
	switch k.Type {
	case Map, MergedMap, Flags, TypedMap, Table, Tables:
		return true
	}
	return false
}

func (k Key) header() string {
	if k.Type == Tables {
		return "[[" + k.Path + "]]\n"
	}
	return "[" + k.Path + "]\n"
}

// snippet returns the header of the key with its required content.
func (k Key) snippet() string {
	if k.Type == Table || k.Type == Tables {
		return k.header() + k.requiredLines()
	}
	return k.header() + k.entry() + "\n"
}

// entry returns a line of a table whose keys the vendor chooses. The example of such a key has the
// form KEY=VALUE.
func (k Key) entry() string {
	name, value, _ := strings.Cut(cmp.Or(k.Example, "NAME=value"), "=")
	if !syntax.IsBareKey(name) {
		name = strconv.Quote(name)
	}
	if k.Type != Flags {
		value = strconv.Quote(value)
	}
	return name + " = " + value
}

// requiredLines returns the required keys of a table, or its first key if none is required.
func (k Key) requiredLines() string {
	var lines, tables strings.Builder
	for _, child := range k.Keys {
		switch {
		case !child.Required:
		case child.isTable():
			tables.WriteString("\n" + child.snippet())
		default:
			lines.WriteString(child.line())
		}
	}
	switch first := k.Keys[0]; {
	case lines.Len()+tables.Len() > 0:
		return lines.String() + tables.String()
	case first.isTable():
		return "\n" + first.snippet()
	default:
		return first.line()
	}
}

// line returns the key with a value on one line.
func (k Key) line() string {
	value := strconv.Quote(k.value())
	switch k.Type {
	case Bool:
		value = strconv.FormatBool(k.Default != "true") // not the default
	case Number:
		value = "1"
	case Strings:
		value = "[" + value + "]"
	case AnyValue:
		value = "{}"
	}
	return k.Name + " = " + value + "\n"
}

// value returns an example value of the key: its example, its default or the first of its values.
func (k Key) value() string {
	for _, value := range slices.Concat([]string{k.Example, k.Default}, k.Values, k.Suggested) {
		if value != "" {
			return value
		}
	}
	return ""
}
