package format

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// value decodes one value into the field of its key.
func (d *decoder) value(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	switch k.Type {
	case String:
		d.text(n, k, v, fr)
	case Bool:
		if flag, ok := n.Flag(); ok {
			allocate(v).SetBool(flag)
		} else {
			d.reportType(n, fr, "true or false", boolHint(n))
		}
	case Number:
		if number, ok := n.Number(); ok && int64(int(number)) == number {
			allocate(v).SetInt(number)
		} else {
			d.reportType(n, fr, "a whole number", "")
		}
	case Strings:
		d.texts(n, k, v, fr)
	case Map, Flags, MergedMap, TypedMap:
		d.mapping(n, k, v, fr)
	case Table:
		if t := n.Table(); t != nil {
			d.table(t, k.Keys, allocate(v), fr)
		} else {
			d.reportType(n, fr, "a table", singleHint(n, k.Name))
		}
	case Tables:
		d.tables(n, k, v, fr)
	case AnyValue:
		v.Set(reflect.ValueOf(Any(plainValue(n))))
	}
}

// boolHint returns the hint for a bool in the spelling of another language.
func boolHint(n *syntax.Node) string {
	text, _ := n.Text()
	switch strings.ToLower(text) {
	case "yes", "on", "1", "true", "y":
		return "write true"
	case "no", "off", "0", "false", "n":
		return "write false"
	}
	return ""
}

// allocate returns what a pointer points to, and allocates it if the pointer is nil.
func allocate(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

func (d *decoder) reportType(n *syntax.Node, fr *frame, want, hint string) {
	if !d.full() && !d.guessed[n] {
		d.errorf(RuleWrongType, n.At, hint, "%q must be %s, not %s", fr.label(), want, n.Kind())
	}
}

// singleHint returns the hint for an array of one table where a single table is expected.
func singleHint(n *syntax.Node, name string) string {
	if items, ok := n.Items(); ok && len(items) == 1 && items[0].Table() != nil {
		return "write [" + name + "] instead of [[" + name + "]]"
	}
	return ""
}

func (d *decoder) text(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	text, ok := n.Text()
	switch {
	case !ok:
		d.reportType(n, fr, "a string", "")
		return
	case text == "" && k.Required:
		d.errorf(RuleMissingKey, n.At, "", "%q must not be empty", fr.label())
		return
	}
	allocate(v).SetString(d.checkAllowed(n, k, text, fr))
}

// checkAllowed reports a text that is not allowed for the key, and returns its current spelling.
func (d *decoder) checkAllowed(n *syntax.Node, k *Key, text string, fr *frame) string {
	if current, ok := k.OldValues[text]; ok {
		d.warnf(RuleOldName, n.At, "write "+strconv.Quote(current), "%q: %s is the older name of %s",
			fr.label(), text, current)
		return current
	}
	if text == "" || d.full() || k.Template && strings.Contains(text, "{{") {
		return text
	}
	if k.Values != nil && !slices.Contains(k.Values, text) {
		d.errorf(RuleWrongValue, n.At, oneOfHint(text, k.Values), "%q cannot be %s", fr.label(), diagnostic.Quote(text))
		return text
	}
	if k.Format != "" && !k.File {
		if problem, hint := CheckValue(k.Format, text); problem != "" {
			d.errorf(k.Format, n.At, hint, "%q %s", fr.label(), problem)
		}
	}
	return text
}

func (d *decoder) texts(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	items, ok := n.Items()
	if !ok {
		hint := ""
		if text, ok := n.Value.(string); ok {
			hint = "write [" + diagnostic.Quote(text) + "]"
		}
		d.reportType(n, fr, "a list of strings", hint)
		return
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		text, ok := item.Text()
		if !ok {
			d.reportType(item, &frame{parent: fr, index: i}, "a string", "")
		}
		list = append(list, text)
	}
	if len(list) == 0 && k.Required {
		d.errorf(RuleMissingKey, n.Key, "", "%q must not be empty", fr.label())
	}
	if len(list) > 0 {
		v.Set(reflect.ValueOf(list))
	}
}

// mapping decodes a table of scalars, strings or bools, or several tables that are merged.
func (d *decoder) mapping(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	want := "a table of strings"
	switch k.Type {
	case Flags:
		want = "a table of true and false"
	case TypedMap:
		want = "a table of strings, numbers, and true or false"
	}
	tables := []*syntax.Table{n.Table()}
	if tables[0] == nil {
		items, ok := n.Items()
		if !ok || k.Type != MergedMap {
			d.reportType(n, fr, want, singleHint(n, k.Name))
			return
		}
		tables = tables[:0]
		for i, item := range items {
			if item.Table() == nil {
				d.reportType(item, &frame{parent: fr, index: i}, want, "")
				continue
			}
			tables = append(tables, item.Table())
		}
	}
	for _, t := range tables {
		for name, item := range t.Each {
			d.element(item, v, name, &frame{parent: fr, name: name})
		}
	}
}

// element decodes one value of a table of scalars, strings or bools.
func (d *decoder) element(n *syntax.Node, v reflect.Value, name string, fr *frame) {
	var value any
	switch v.Type().Elem().Kind() {
	case reflect.Interface:
		scalar, want := scalarOf(n)
		if want != "" {
			d.reportType(n, fr, want, structuredHint(n, fr))
			return
		}
		value = scalar
	case reflect.Bool:
		flag, ok := n.Flag()
		if !ok {
			d.reportType(n, fr, "true or false", boolHint(n))
			return
		}
		value = flag
	default:
		text, ok := n.Text()
		if !ok {
			d.reportType(n, fr, "a string", structuredHint(n, fr))
			return
		}
		value = text
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(value))
}

// structuredHint returns the hint for a value that is not a scalar, in a table of scalars.
func structuredHint(n *syntax.Node, fr *frame) string {
	t, list := n.Table(), n.Value
	_, isList := list.([]*syntax.Node)
	switch helm := fr.parent.name == "values"; { // the keys of Helm values are paths
	case t.Len() > 0 && helm:
		return "write the key " + strconv.Quote(fr.name+"."+t.Names()[0])
	case isList && helm:
		return "write a key for each item, beginning with " + strconv.Quote(fr.name+"[0]") + ", or put it into a values_file"
	case helm && t == nil: // NaN or infinite
		return ""
	case helm:
		return "put it into a values_file"
	case t == nil && !isList: // a date or a time
		return "put it in quotes"
	}
	return "put structured values into a file, or write them as JSON in a string"
}

func (d *decoder) tables(n *syntax.Node, k *Key, v reflect.Value, fr *frame) {
	items, ok := n.Items()
	if !ok {
		hint := ""
		if n.Table() != nil {
			hint = "write [[" + k.Name + "]]"
		}
		d.reportType(n, fr, "an array of tables", hint)
		return
	}
	if len(items) == 0 {
		if k.Required {
			d.errorf(RuleMissingKey, n.Key, "", "%q must not be empty", fr.label())
		}
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		elementFrame := &frame{parent: fr, index: i}
		if t := item.Table(); t != nil {
			d.table(t, k.Keys, list.Index(i), elementFrame)
		} else {
			d.reportType(item, elementFrame, "a table", "")
		}
	}
	v.Set(list)
}

// plainValue returns a value of any shape in types that JSON encodes and decodes without change.
func plainValue(n *syntax.Node) any {
	switch value := n.Value.(type) {
	case *syntax.Table:
		table := map[string]any{}
		for name, item := range value.Each {
			table[name] = plainValue(item)
		}
		return table
	case []*syntax.Node:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = plainValue(item)
		}
		return list
	case string, bool:
		return value
	case int64:
		const exact = 1 << 53 // JSON cannot represent all larger integers
		if -exact <= value && value <= exact {
			return float64(value)
		}
		return strconv.FormatInt(value, 10)
	case encoding.TextMarshaler: // a date or a time
		if text, err := value.MarshalText(); err == nil {
			return string(text)
		}
	}
	text, _ := n.Text()
	return text
}

// setDefault sets the default of a key that is missing or empty.
func setDefault(v reflect.Value, k *Key, n *syntax.Node) {
	if n != nil {
		if text, ok := n.Value.(string); !ok || text != "" {
			return
		}
	}
	switch k.Type {
	case String:
		allocate(v).SetString(k.Default)
	case Bool:
		allocate(v).SetBool(k.Default == "true")
	case Number:
		if number, err := strconv.ParseInt(k.Default, 10, 0); err == nil {
			allocate(v).SetInt(number)
		}
	}
}

// oneOfHint returns the hint with the allowed values.
func oneOfHint(text string, values []string) string {
	var quoted []string
	for _, value := range values {
		if strings.EqualFold(text, value) {
			return "did you mean " + strconv.Quote(value) + "?"
		}
		if value != "" {
			quoted = append(quoted, strconv.Quote(value))
		}
	}
	if len(quoted) <= 2 {
		return "write " + strings.Join(quoted, " or ")
	}
	if nearest, ok := nearestHint(text, values); ok {
		return nearest
	}
	return "one of " + strings.Join(quoted, ", ")
}

// Plain returns a table as maps, lists, strings, numbers and bools, which JSON encodes and decodes
// without change.
func Plain(t *syntax.Table) any { return plainValue(&syntax.Node{Value: t}) }
