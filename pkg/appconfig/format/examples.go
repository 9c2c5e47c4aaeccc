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

// ExampleFile is a whole file of the kind, as TOML. Together these files, and what they refer to, are one app.
func (k Kind) ExampleFile() string {
	text, err := exampleFiles.ReadFile("examples/" + k.Name + ".toml")
	if err != nil {
		return "" // the tests of this package see that there is one for each kind
	}
	return string(text)
}

// Snippet shows, as TOML, where the key stands: in the tables above it, with a value that it can have. It is empty for a key that is
// stray, gone or not in the kind.
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

// isTable says whether the key is written as a header with keys of its own below.
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

// snippet is the header of the key with what it cannot do without.
func (k Key) snippet() string {
	if k.Type == Table || k.Type == Tables {
		return k.header() + k.requiredLines()
	}
	return k.header() + k.entry() + "\n"
}

// entry is a line of a table whose keys are the vendor's. The example of such a key is written KEY=VALUE.
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

// requiredLines are the keys that a table cannot do without, or its first key.
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

// line is the key with a value that fits on its line.
func (k Key) line() string {
	value := strconv.Quote(k.value())
	switch k.Type {
	case Bool:
		value = strconv.FormatBool(k.Default != "true") // what is not so anyway
	case Number:
		value = "1"
	case Strings:
		value = "[" + value + "]"
	case AnyValue:
		value = "{}"
	}
	return k.Name + " = " + value + "\n"
}

// value is a text that can stand for the key: its example, its default or the first of its values.
func (k Key) value() string {
	for _, value := range slices.Concat([]string{k.Example, k.Default}, k.Values, k.Suggested) {
		if value != "" {
			return value
		}
	}
	return ""
}
