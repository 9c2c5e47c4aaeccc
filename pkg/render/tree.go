package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// Tree is the JSON object below `.nuon`: map[string]any of JSON values. It contains values under
// their canonical paths only; templates also see the aliases.
type Tree map[string]any

// Get returns the value at a path or an alias. The second result is false if the key does not
// exist; for a key with the value null, Get returns nil, true.
func (t Tree) Get(p Path) (any, bool) {
	var current any = map[string]any(t)
	for _, key := range Canonical(p) {
		object, ok := asObject(current)
		if !ok {
			return nil, false
		}
		if current, ok = object[key]; !ok {
			return nil, false
		}
	}
	return current, true
}

// Set stores a value at a path or an alias and creates the objects above it. It replaces a parent
// that is not an object. With the empty path it does nothing, because the root is always an object.
// t must not be nil.
func (t Tree) Set(p Path, v any) {
	p = Canonical(p)
	if len(p) == 0 {
		return
	}
	object := map[string]any(t)
	for _, key := range p[:len(p)-1] {
		next, ok := asObject(object[key])
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	object[p[len(p)-1]] = v
}

func asObject(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, v != nil
	case Tree:
		return v, v != nil
	}
	return nil, false
}

// maxDepth bounds the nesting of a value. Terraform outputs have a handful of levels; the bound
// limits the recursion over hostile values.
const maxDepth = 100

var (
	errTooDeep = fmt.Errorf("a value is nested more than %d levels deep", maxDepth)
	errNotJSON = errors.New("a value is not a JSON value")
)

// normalize copies a value into the few types that templates use: nil, bool, int64, float64, string,
// []any and map[string]any. None of them has methods, so a template cannot call any.
func normalize(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v, nil
	case json.Number:
		return normalizeNumber(v)
	case Tree:
		return normalize(map[string]any(v), depth)
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.String:
		return rv.String(), nil
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if rv.Uint() > math.MaxInt64 {
			return float64(rv.Uint()), nil
		}
		return int64(rv.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return normalizeFloat(rv.Float())
	case reflect.Slice, reflect.Array:
		list := make([]any, rv.Len())
		for i := range list {
			item, err := normalize(rv.Index(i).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case reflect.Map:
		if rv.Type().Key().Kind() != reflect.String {
			return nil, errNotJSON
		}
		object := make(map[string]any, rv.Len())
		for entries := rv.MapRange(); entries.Next(); {
			item, err := normalize(entries.Value().Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			object[entries.Key().String()] = item
		}
		return object, nil
	}
	return nil, errNotJSON
}

func normalizeNumber(n json.Number) (any, error) {
	if integer, err := n.Int64(); err == nil {
		return integer, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, errNotJSON
	}
	return normalizeFloat(f)
}

// normalizeFloat converts whole numbers to integers: JSON has one kind of number, so 3.0 from
// encoding/json prints as 3.
func normalizeFloat(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errNotJSON
	}
	const exact = 1 << 53
	if f == math.Trunc(f) && math.Abs(f) <= exact {
		return int64(f), nil
	}
	return f, nil
}

// visible returns the values that a template with these refs may read, with the aliases of section
// 3.2 in place.
func (t Tree) visible(refs []Path) (map[string]any, error) {
	values := Tree{}
	for _, ref := range refs {
		if _, ok := values.Get(ref); ok {
			continue // a shorter ref included it already, because refs are sorted
		}
		value, ok := t.Get(ref)
		if !ok {
			t.addParents(values, ref)
			continue
		}
		value, err := normalize(value, 0)
		if err != nil {
			return nil, fmt.Errorf(".nuon.%s: %w", ref, err)
		}
		values.Set(ref, value)
	}
	return values.withAliases(), nil
}

// addParents creates the existing objects above a missing value, so that a template can test for a key
// that may be missing and an error can report where the path ends. A parent that is not an object
// is replaced by an empty value, because the template does not read it.
func (t Tree) addParents(values Tree, ref Path) {
	for n := len(ref) - 1; n > 0; n-- {
		above, ok := t.Get(ref[:n])
		if !ok {
			continue
		}
		if _, ok := values.Get(ref[:n]); ok {
			return
		}
		var hint any = ""
		if _, object := asObject(above); object {
			hint = map[string]any{}
		} else if above == nil {
			hint = nil
		}
		values.Set(ref[:n], hint)
		return
	}
}

func (t Tree) withAliases() map[string]any {
	root := make(map[string]any, len(t)+3)
	for key, value := range t {
		root[key] = value
	}
	install := map[string]any{}
	if own, ok := asObject(root["install"]); ok {
		for key, value := range own {
			install[key] = value
		}
	}
	for _, key := range []string{"id", "name"} {
		if value, ok := install[key]; ok {
			root[key] = value
		}
	}
	if inputs, ok := t.Get(Path{"inputs", "inputs"}); ok {
		install["inputs"] = inputs
	}
	if sandbox, ok := t["sandbox"]; ok {
		install["sandbox"] = sandbox
	}
	root["install"] = install
	return map[string]any{"nuon": root}
}
