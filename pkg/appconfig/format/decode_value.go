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
func (d *decoder) value(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	switch k.Type {
	case String:
		d.text(n, k, v, at)
	case Bool:
		if flag, ok := n.Flag(); ok {
			settle(v).SetBool(flag)
		} else {
			d.wrong(n, at, "true or false", yesOrNo(n))
		}
	case Number:
		if number, ok := n.Number(); ok && int64(int(number)) == number {
			settle(v).SetInt(number)
		} else {
			d.wrong(n, at, "a whole number", "")
		}
	case Strings:
		d.texts(n, k, v, at)
	case Map, Flags, Merged, Typed:
		d.mapping(n, k, v, at)
	case Table:
		if t := n.Table(); t != nil {
			d.table(t, k.Keys, settle(v), at)
		} else {
			d.wrong(n, at, "a table", single(n, k.Name))
		}
	case Tables:
		d.tables(n, k, v, at)
	case Free:
		v.Set(reflect.ValueOf(Any(plain(n))))
	}
}

// yesOrNo is the hint for what other languages write for a bool.
func yesOrNo(n *syntax.Node) string {
	text, _ := n.Text()
	switch strings.ToLower(text) {
	case "yes", "on", "1", "true", "y":
		return "write true"
	case "no", "off", "0", "false", "n":
		return "write false"
	}
	return ""
}

// settle gives what a pointer points at, which it makes if it is not there yet.
func settle(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

func (d *decoder) wrong(n *syntax.Node, at *frame, want, hint string) {
	if !d.full() {
		d.errorf(RuleWrongType, n.At, hint, "%q must be %s, not %s", at.label(), want, n.Kind())
	}
}

// single is the hint for an array of one table where one table is wanted.
func single(n *syntax.Node, name string) string {
	if items, ok := n.Items(); ok && len(items) == 1 && items[0].Table() != nil {
		return "write [" + name + "] instead of [[" + name + "]]"
	}
	return ""
}

func (d *decoder) text(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	text, ok := n.Text()
	switch {
	case !ok:
		d.wrong(n, at, "a string", "")
		return
	case text == "" && k.Required:
		d.errorf(RuleMissingKey, n.At, "", "%q must not be empty", at.label())
		return
	}
	settle(v).SetString(d.allowed(n, k, text, at))
}

// allowed says when a text is not one that the key takes, and gives its current spelling.
func (d *decoder) allowed(n *syntax.Node, k *Key, text string, at *frame) string {
	if current, ok := k.OldValues[text]; ok {
		d.warnf(RuleOldName, n.At, "write "+strconv.Quote(current), "%q: %s is the older name of %s", at.label(), text, current)
		return current
	}
	if text == "" || d.full() || k.Template && strings.Contains(text, "{{") {
		return text
	}
	if k.Values != nil && !slices.Contains(k.Values, text) {
		d.errorf(RuleWrongValue, n.At, oneOf(text, k.Values), "%q cannot be %s", at.label(), diagnostic.Quote(text))
		return text
	}
	if k.Format != "" && !k.File {
		if problem, hint := CheckValue(k.Format, text); problem != "" {
			d.errorf(k.Format, n.At, hint, "%q %s", at.label(), problem)
		}
	}
	return text
}

func (d *decoder) texts(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	items, ok := n.Items()
	if !ok {
		hint := ""
		if text, ok := n.Value.(string); ok {
			hint = "write [" + diagnostic.Quote(text) + "]"
		}
		d.wrong(n, at, "a list of strings", hint)
		return
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		text, ok := item.Text()
		if !ok {
			d.wrong(item, &frame{up: at, item: i}, "a string", "")
		}
		list = append(list, text)
	}
	if len(list) == 0 && k.Required {
		d.errorf(RuleMissingKey, n.Key, "", "%q must not be empty", at.label())
	}
	if len(list) > 0 {
		v.Set(reflect.ValueOf(list))
	}
}

// mapping decodes a table of scalars, strings or bools, or several that are read as one.
func (d *decoder) mapping(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	want := "a table of strings"
	switch k.Type {
	case Flags:
		want = "a table of true and false"
	case Typed:
		want = "a table of strings, numbers, and true or false"
	}
	tables := []*syntax.Table{n.Table()}
	if tables[0] == nil {
		items, ok := n.Items()
		if !ok || k.Type != Merged {
			d.wrong(n, at, want, single(n, k.Name))
			return
		}
		tables = tables[:0]
		for i, item := range items {
			if item.Table() == nil {
				d.wrong(item, &frame{up: at, item: i}, want, "")
				continue
			}
			tables = append(tables, item.Table())
		}
	}
	for _, t := range tables {
		for name, item := range t.Each {
			d.element(item, v, name, &frame{up: at, name: name})
		}
	}
}

// element decodes one value of a table of scalars, strings or bools.
func (d *decoder) element(n *syntax.Node, v reflect.Value, name string, at *frame) {
	var value any
	switch v.Type().Elem().Kind() {
	case reflect.Interface:
		scalar, want := scalarOf(n)
		if want != "" {
			d.wrong(n, at, want, structured(n, at))
			return
		}
		value = scalar
	case reflect.Bool:
		flag, ok := n.Flag()
		if !ok {
			d.wrong(n, at, "true or false", yesOrNo(n))
			return
		}
		value = flag
	default:
		text, ok := n.Text()
		if !ok {
			d.wrong(n, at, "a string", structured(n, at))
			return
		}
		value = text
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(value))
}

// structured is the hint for what is no scalar where a table has only such.
func structured(n *syntax.Node, at *frame) string {
	t, list := n.Table(), n.Value
	_, isList := list.([]*syntax.Node)
	switch helm := at.up.name == "values"; { // the keys of those are paths
	case t.Len() > 0 && helm:
		return "write the key " + strconv.Quote(at.name+"."+t.Names()[0])
	case isList && helm:
		return "write a key for each item, beginning with " + strconv.Quote(at.name+"[0]") + ", or put it into a values_file"
	case helm && t == nil: // a number that is none
		return ""
	case helm:
		return "put it into a values_file"
	}
	return "put structured values into a file, or write them as JSON in a string"
}

func (d *decoder) tables(n *syntax.Node, k *Key, v reflect.Value, at *frame) {
	items, ok := n.Items()
	if !ok {
		hint := ""
		if n.Table() != nil {
			hint = "write [[" + k.Name + "]]"
		}
		d.wrong(n, at, "an array of tables", hint)
		return
	}
	if len(items) == 0 {
		if k.Required {
			d.errorf(RuleMissingKey, n.Key, "", "%q must not be empty", at.label())
		}
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		here := &frame{up: at, item: i}
		if t := item.Table(); t != nil {
			d.table(t, k.Keys, list.Index(i), here)
		} else {
			d.wrong(item, here, "a table", "")
		}
	}
	v.Set(list)
}

// plain gives a value of any shape such that it goes through JSON and back unchanged.
func plain(n *syntax.Node) any {
	switch value := n.Value.(type) {
	case *syntax.Table:
		table := map[string]any{}
		for name, item := range value.Each {
			table[name] = plain(item)
		}
		return table
	case []*syntax.Node:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = plain(item)
		}
		return list
	case string, bool:
		return value
	case int64:
		const exact = 1 << 53 // larger ones are not all numbers of JSON
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

// fill sets a default where a key is left out or empty.
func fill(v reflect.Value, k *Key, n *syntax.Node) {
	if n != nil {
		if text, ok := n.Value.(string); !ok || text != "" {
			return
		}
	}
	switch k.Type {
	case String:
		settle(v).SetString(k.Default)
	case Bool:
		settle(v).SetBool(k.Default == "true")
	case Number:
		if number, err := strconv.ParseInt(k.Default, 10, 0); err == nil {
			settle(v).SetInt(number)
		}
	}
}

// oneOf is the hint with what may stand instead of a value.
func oneOf(text string, values []string) string {
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
	if nearest, ok := nearestOf(text, values); ok {
		return nearest
	}
	return "one of " + strings.Join(quoted, ", ")
}

// Plain gives a whole table as maps, lists, strings, numbers and bools, such that it goes through JSON and back unchanged.
func Plain(t *syntax.Table) any { return plain(&syntax.Node{Value: t}) }
