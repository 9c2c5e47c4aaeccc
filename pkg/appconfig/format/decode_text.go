package format

import (
	"iter"
	"reflect"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Text is one string of a file: the value of a key, or an element of it.
type Text struct {
	Path  string // such as steps[0].env_vars.REGION, for Table.Find
	Key   *Key   // that of the table, for an element of a table of strings
	Node  *syntax.Node
	Value string

	field reflect.Value // the field with the string, if it is in a field
}

// Set changes the string in the decoded struct. Elements of lists and tables cannot be changed.
func (t *Text) Set(text string) {
	if t.field.IsValid() {
		t.field.SetString(text)
	}
}

// Texts iterates over all strings of a file whose keys accept selects, in the order of the keys.
// from is a pointer to a struct that Decode has filled from the table.
func Texts(t *syntax.Table, keys []Key, from any, accept func(*Key) bool) iter.Seq[Text] {
	return func(yield func(Text) bool) {
		w := &walker{accept: accept, yield: yield}
		w.table(t, keys, reflect.ValueOf(from).Elem(), nil)
	}
}

type walker struct {
	accept func(*Key) bool
	yield  func(Text) bool
}

// table iterates over the keys of a table. Like all methods of walker it returns false if the
// iteration has ended.
func (w *walker) table(t *syntax.Table, keys []Key, v reflect.Value, parent *frame) bool {
	for i := range keys {
		k := &keys[i]
		n := t.Get(k.Name)
		if n == nil || len(k.Keys) == 0 && !w.accept(k) {
			continue
		}
		if !w.value(n, k, v.FieldByIndex(k.Index), &frame{parent: parent, name: k.Name}) {
			return false
		}
	}
	return true
}

func (w *walker) value(n *syntax.Node, k *Key, v reflect.Value, fr *frame) bool {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch k.Type {
	case String:
		return w.yield(Text{fr.path(), k, n, v.String(), v})
	case Table:
		return n.Table() == nil || w.table(n.Table(), k.Keys, v, fr)
	case Map, MergedMap:
		return w.mapping(n, k, fr)
	case TypedMap:
		return w.scalars(n, k, fr)
	case Strings, Tables:
		return w.list(n, k, v, fr)
	}
	return true
}

func (w *walker) list(n *syntax.Node, k *Key, v reflect.Value, fr *frame) bool {
	items, _ := n.Items()
	for i, item := range items {
		elementFrame := &frame{parent: fr, index: i}
		if i >= v.Len() {
			return true // the value has the wrong shape
		}
		if k.Type == Tables {
			if t := item.Table(); t != nil && !w.table(t, k.Keys, v.Index(i), elementFrame) {
				return false
			}
			continue
		}
		if text, ok := item.Text(); ok && !w.yield(Text{elementFrame.path(), k, item, text, reflect.Value{}}) {
			return false
		}
	}
	return true
}

func (w *walker) mapping(n *syntax.Node, k *Key, fr *frame) bool {
	if items, ok := n.Items(); ok {
		for i, item := range items {
			if !w.mapping(item, k, &frame{parent: fr, index: i}) {
				return false
			}
		}
		return true
	}
	for name, item := range n.Table().Each {
		text, ok := item.Text()
		if ok && !w.yield(Text{(&frame{parent: fr, name: name}).path(), k, item, text, reflect.Value{}}) {
			return false
		}
	}
	return true
}

// scalars iterates over the strings of a table of scalars.
func (w *walker) scalars(n *syntax.Node, k *Key, fr *frame) bool {
	for name, item := range n.Table().Each {
		text, ok := item.Value.(string)
		if ok && !w.yield(Text{(&frame{parent: fr, name: name}).path(), k, item, text, reflect.Value{}}) {
			return false
		}
	}
	return true
}

// SortSets sorts everything below a struct whose order is irrelevant: sets of strings, from which
// it also removes duplicates, and tables with a sort key. Positions in the file cannot be found by
// index afterwards.
func SortSets(keys []Key, in any) { sortTable(keys, reflect.ValueOf(in).Elem()) }

func sortTable(keys []Key, v reflect.Value) {
	for i := range keys {
		k := &keys[i]
		if len(k.Keys) == 0 && !k.Unordered {
			continue
		}
		field := v.FieldByIndex(k.Index)
		if field.Kind() == reflect.Pointer {
			if field.IsNil() {
				continue
			}
			field = field.Elem()
		}
		switch k.Type {
		case Table:
			sortTable(k.Keys, field)
		case Strings:
			list, _ := field.Interface().([]string)
			slices.Sort(list)
			field.Set(reflect.ValueOf(slices.Compact(list)))
		case Tables:
			for i := range field.Len() {
				sortTable(k.Keys, field.Index(i))
			}
			sortTables(k, field)
		}
	}
}

func sortTables(k *Key, list reflect.Value) {
	sortKey := slices.IndexFunc(k.Keys, func(key Key) bool { return key.Name == k.SortedBy })
	if sortKey < 0 {
		return
	}
	index := k.Keys[sortKey].Index
	all := make([]reflect.Value, list.Len())
	for i := range all {
		all[i] = reflect.New(list.Type().Elem()).Elem()
		all[i].Set(list.Index(i))
	}
	slices.SortStableFunc(all, func(a, b reflect.Value) int {
		x, y := a.FieldByIndex(index).String(), b.FieldByIndex(index).String()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for i, table := range all {
		list.Index(i).Set(table)
	}
}

func nearestHint(text string, values []string) (string, bool) {
	hint := diagnostic.DidYouMean(text, values)
	return hint, hint != ""
}
