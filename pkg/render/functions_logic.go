package render

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// kindOf returns the kind of a value for an error message, without the value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case string:
		return "a string"
	case int, int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "something else"
}

// isEmpty reports whether a value is empty in the sense of Sprig: null, false, 0, "", and a list or
// an object without elements.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func fnDefault(args []any) (any, error) {
	if isEmpty(args[1]) {
		return args[0], nil
	}
	return args[1], nil
}

func fnCoalesce(args []any) (any, error) {
	for _, arg := range args {
		if !isEmpty(arg) {
			return arg, nil
		}
	}
	return nil, nil
}

func fnEmpty(args []any) (any, error) { return isEmpty(args[0]), nil }
func fnNot(args []any) (any, error)   { return isEmpty(args[0]), nil }

func fnTernary(args []any) (any, error) {
	condition, ok := args[2].(bool)
	if !ok {
		return nil, errors.New("the third argument must be a bool, not " + kindOf(args[2]))
	}
	if condition {
		return args[0], nil
	}
	return args[1], nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// equal compares values by meaning: 1 and 1.0 are the same number.
func equal(a, b any) bool {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x == y
		}
	}
	if x, ok := asFloat(a); ok {
		y, ok := asFloat(b)
		return ok && x == y
	}
	return reflect.DeepEqual(a, b)
}

func fnEq(args []any) (any, error) {
	for _, other := range args[1:] {
		if equal(args[0], other) {
			return true, nil
		}
	}
	return false, nil
}

func fnNe(args []any) (any, error) { return !equal(args[0], args[1]), nil }

func comparison(holds func(int) bool) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if x, ok := args[0].(string); ok {
			if y, ok := args[1].(string); ok {
				return holds(strings.Compare(x, y)), nil
			}
		}
		x, xok := args[0].(int64)
		y, yok := args[1].(int64)
		if xok && yok {
			return holds(cmp.Compare(x, y)), nil
		}
		fx, xok := asFloat(args[0])
		fy, yok := asFloat(args[1])
		if xok && yok {
			return holds(cmp.Compare(fx, fy)), nil
		}
		return nil, errors.New("cannot compare " + kindOf(args[0]) + " with " + kindOf(args[1]) +
			"; inputs are strings, `int` makes a number of one")
	}
}

func fnDict(args []any) (any, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("wants pairs of a key and a value")
	}
	object := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, errors.New("a key must be a string, not " + kindOf(args[i]))
		}
		object[key] = args[i+1]
	}
	return object, nil
}

func fnList(args []any) (any, error) { return slices.Clone(args), nil }

// fnDig follows keys and returns the default if one is missing: dig "a" "b" "default" object.
func fnDig(args []any) (any, error) {
	current, fallback := args[len(args)-1], args[len(args)-2]
	for _, arg := range args[:len(args)-2] {
		key, ok := arg.(string)
		if !ok {
			return nil, errors.New("a key must be a string, not " + kindOf(arg))
		}
		object, ok := current.(map[string]any)
		if !ok && current != nil {
			return nil, errors.New("can only look into an object, not " + kindOf(current))
		}
		if current, ok = object[key]; !ok {
			return fallback, nil
		}
	}
	return current, nil
}

// fnIndex is stricter than text/template's: a missing key is an error, as in a chain of fields. dig
// returns a default instead.
func fnIndex(args []any) (any, error) {
	current := args[0]
	for _, arg := range args[1:] {
		switch from := current.(type) {
		case map[string]any:
			key, ok := arg.(string)
			if !ok {
				return nil, errors.New("the key of an object must be a string, not " + kindOf(arg))
			}
			if current, ok = from[key]; !ok {
				return nil, errors.New("there is no such key; `dig` gives a default instead")
			}
		case []any:
			i, ok := arg.(int64)
			if !ok {
				return nil, errors.New("the position in a list must be a whole number, not " + kindOf(arg))
			}
			if i < 0 || i >= int64(len(from)) {
				return nil, errors.New("the list is shorter than that")
			}
			current = from[i]
		default:
			return nil, errors.New("can only look into an object or a list, not " + kindOf(current))
		}
	}
	return current, nil
}

func fnHasKey(args []any) (any, error) {
	object, ok := args[0].(map[string]any)
	key, isString := args[1].(string)
	if !ok || !isString {
		return nil, errors.New("wants an object and a string, not " + kindOf(args[0]) + " and " + kindOf(args[1]))
	}
	_, ok = object[key]
	return ok, nil
}

// asList returns a list, and an empty one for null. It never returns nil, which would be printed as null.
func asList(v any) ([]any, error) {
	switch list := v.(type) {
	case nil:
		return []any{}, nil
	case []any:
		return list, nil
	}
	return nil, errors.New("wants a list, not " + kindOf(v))
}

func fnHas(args []any) (any, error) {
	list, err := asList(args[1])
	if err != nil {
		return nil, err
	}
	return slices.ContainsFunc(list, func(item any) bool { return equal(args[0], item) }), nil
}

// fnKeys returns sorted keys, unlike Sprig's, because the same values must result in the same text.
func fnKeys(args []any) (any, error) {
	keys := []any{}
	for _, arg := range args {
		object, ok := arg.(map[string]any)
		if !ok {
			return nil, errors.New("wants an object, not " + kindOf(arg))
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// fnValues returns the values in the order of their keys.
func fnValues(args []any) (any, error) {
	object, ok := args[0].(map[string]any)
	if !ok {
		return nil, errors.New("wants an object, not " + kindOf(args[0]))
	}
	values := make([]any, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		values = append(values, object[key])
	}
	return values, nil
}

func fnFirst(args []any) (any, error) {
	list, err := asList(args[0])
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

func fnLast(args []any) (any, error) {
	list, err := asList(args[0])
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[len(list)-1], nil
}

func fnConcat(args []any) (any, error) {
	all := []any{}
	for _, arg := range args {
		list, err := asList(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// fnUniq returns the list with only the first of equal elements.
func fnUniq(args []any) (any, error) {
	list, err := asList(args[0])
	if err != nil {
		return nil, err
	}
	unique := []any{}
	seen := map[string]bool{}
	for _, item := range list {
		key, err := encode(item, "")
		if err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			unique = append(unique, item)
		}
	}
	return unique, nil
}

func fnSortAlpha(args []any) (any, error) {
	texts, err := asTexts(args[0])
	if err != nil {
		return nil, err
	}
	slices.Sort(texts)
	sorted := make([]any, len(texts))
	for i, text := range texts {
		sorted[i] = text
	}
	return sorted, nil
}

func fnLen(args []any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return int64(0), nil
	case string:
		return int64(len(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, errors.New("wants a string, a list or an object, not " + kindOf(args[0]))
}
