package render

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

func fnAll(args []any) (any, error) {
	return !slices.ContainsFunc(args, isEmpty), nil
}

func fnAny(args []any) (any, error) {
	return slices.ContainsFunc(args, func(v any) bool { return !isEmpty(v) }), nil
}

// fnFail ends the rendering. The error does not contain the template's message, because the message
// may contain values.
func fnFail([]any) (any, error) {
	return nil, errors.New("the template says that these values are not right")
}

// goKind returns the kind of a value under Sprig's name, which is Go's.
func goKind(v any) string {
	switch v.(type) {
	case nil:
		return "invalid"
	case []any:
		return "slice"
	}
	return reflect.TypeOf(v).Kind().String()
}

func fnKindOf(args []any) (any, error)    { return goKind(args[0]), nil }
func fnKindIs(args []any) (any, error)    { return args[0] == goKind(args[1]), nil }
func fnDeepEqual(args []any) (any, error) { return reflect.DeepEqual(args[0], args[1]), nil }

func asDict(v any) (map[string]any, error) {
	if object, ok := v.(map[string]any); ok {
		return object, nil
	}
	return nil, errors.New("wants an object, not " + kindOf(v))
}

func asKey(v any) (string, error) {
	if key, ok := v.(string); ok {
		return key, nil
	}
	return "", errors.New("a key must be a string, not " + kindOf(v))
}

// fnGet returns "" if the key does not exist, like Sprig's.
func fnGet(args []any) (any, error) {
	object, err := asDict(args[0])
	if err != nil {
		return nil, err
	}
	key, err := asKey(args[1])
	if err != nil {
		return nil, err
	}
	if v, ok := object[key]; ok {
		return v, nil
	}
	return "", nil
}

// fnPluck returns the values that several objects have under one key.
func fnPluck(args []any) (any, error) {
	key, err := asKey(args[0])
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, arg := range args[1:] {
		object, err := asDict(arg)
		if err != nil {
			return nil, err
		}
		if v, ok := object[key]; ok {
			found = append(found, v)
		}
	}
	return found, nil
}

func fnPick(args []any) (any, error) {
	return filterKeys(args, func(keys map[string]bool, key string) bool { return keys[key] })
}

func fnOmit(args []any) (any, error) {
	return filterKeys(args, func(keys map[string]bool, key string) bool { return !keys[key] })
}

func filterKeys(args []any, keep func(keys map[string]bool, key string) bool) (any, error) {
	object, err := asDict(args[0])
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, arg := range args[1:] {
		key, err := asKey(arg)
		if err != nil {
			return nil, err
		}
		keys[key] = true
	}
	filtered := maps.Clone(object)
	maps.DeleteFunc(filtered, func(key string, _ any) bool { return !keep(keys, key) })
	return filtered, nil
}

// fnMerge returns a new object. For each key the first object that has it wins, and nested objects
// are merged recursively. Unlike Sprig's, it does not change its first argument: functions never
// change a value.
func fnMerge(args []any) (any, error) {
	objects := make([]map[string]any, len(args))
	for i, arg := range args {
		var err error
		if objects[i], err = asDict(arg); err != nil {
			return nil, err
		}
	}
	return mergeObjects(objects), nil
}

// mergeObjects merges objects. It visits each key of each object once, for any number of objects.
func mergeObjects(objects []map[string]any) map[string]any {
	all := map[string]any{}
	// inner contains the objects to merge recursively: keys that are an object in two or more
	// arguments.
	inner := map[string][]map[string]any{}
	for _, object := range objects {
		for key, v := range object {
			present, has := all[key]
			if !has {
				all[key] = v
				continue
			}
			first, both := present.(map[string]any)
			if second, ok := v.(map[string]any); both && ok {
				if inner[key] == nil {
					inner[key] = []map[string]any{first}
				}
				inner[key] = append(inner[key], second)
			}
		}
	}
	for key, objects := range inner {
		all[key] = mergeObjects(objects)
	}
	return all
}

// withListCopy calls f with a copy of a list.
func withListCopy(v any, f func(list []any) []any) (any, error) {
	list, err := asList(v)
	if err != nil {
		return nil, err
	}
	return f(slices.Clone(list)), nil
}

func fnAppend(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { return append(list, args[1]) })
}

func fnPrepend(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { return slices.Insert(list, 0, args[1]) })
}

func fnRest(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { return list[min(1, len(list)):] })
}

func fnInitial(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { return list[:max(0, len(list)-1)] })
}

func fnReverse(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { slices.Reverse(list); return list })
}

func fnCompact(args []any) (any, error) {
	return withListCopy(args[0], func(list []any) []any { return slices.DeleteFunc(list, isEmpty) })
}

// fnWithout removes the elements whose JSON equals that of one of the other arguments. Comparing
// each element with each argument would take too long.
func fnWithout(args []any) (any, error) {
	unwanted := map[string]bool{}
	for _, other := range args[1:] {
		key, err := encode(other, "")
		if err != nil {
			return nil, err
		}
		unwanted[key] = true
	}
	list, err := asList(args[0])
	if err != nil {
		return nil, err
	}
	remaining := make([]any, 0, len(list))
	for _, item := range list {
		key, err := encode(item, "")
		if err != nil {
			return nil, err
		}
		if !unwanted[key] {
			remaining = append(remaining, item)
		}
	}
	return remaining, nil
}

// fnSlice returns a part of a list, like Sprig's: slice list from to.
func fnSlice(args []any) (any, error) {
	list, err := asList(args[0])
	if err != nil {
		return nil, err
	}
	bounds := []int64{0, int64(len(list))}
	for i, arg := range args[1:] {
		if bounds[i], err = toInt(arg); err != nil {
			return nil, err
		}
	}
	if bounds[0] < 0 || bounds[0] > bounds[1] || bounds[1] > int64(len(list)) {
		return nil, errors.New("the list is shorter than that")
	}
	return slices.Clone(list[bounds[0]:bounds[1]]), nil
}
