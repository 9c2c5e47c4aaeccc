package sample

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
)

// Leads checks the pointers of a field against the two compared values, decoded
// from JSON: on each side that has a value, the pointer for that side must lead
// to it, the pointer of an element to an element, and a move to elements of
// both lists. It implements docs/diff.md independently of the engine.
func Leads(before, after any, f *diff.FieldChange) error {
	beforePointer := f.Pointer
	if f.BeforePointer != "" {
		beforePointer = f.BeforePointer
	}
	for _, side := range []struct {
		name, pointer string
		root          any
		shown         diff.ShownValue
	}{{"before", beforePointer, before, f.Before}, {"after", f.Pointer, after, f.After}} {
		if side.shown.Absent || side.shown.Unknown {
			continue
		}
		found, ok := resolve(side.root, side.pointer)
		if !ok {
			return fmt.Errorf("%s: %s leads nowhere", side.name, side.pointer)
		}
		if err := states(side.shown, found, f); err != nil {
			return fmt.Errorf("%s: %s: %w", side.name, side.pointer, err)
		}
	}
	return leadsToElement(before, after, f)
}

func leadsToElement(before, after any, f *diff.FieldChange) error {
	e := f.Element
	if e == nil {
		return nil
	}
	root := after
	if e.Change == diff.ElementRemoved {
		root = before
	}
	list, _, _ := cutLast(e.Pointer)
	parent, ok := resolve(root, list)
	if _, isList := parent.([]any); !ok || !isList {
		return fmt.Errorf("the element %s is in no list", e.Pointer)
	}
	if _, ok := resolve(root, e.Pointer); !ok {
		return fmt.Errorf("the element %s is not there", e.Pointer)
	}
	if f.Pointer != e.Pointer && !strings.HasPrefix(f.Pointer, e.Pointer+"/") || !strings.HasPrefix(f.Path, e.Path) {
		return fmt.Errorf("%s and %s are not in the element %s, %s", f.Path, f.Pointer, e.Path, e.Pointer)
	}
	if f.Before.Absent == f.After.Absent || f.After.Absent != (e.Change == diff.ElementRemoved) {
		return fmt.Errorf("%s is %s, but the sides say otherwise: %+v → %+v", e.Pointer, e.Change, f.Before, f.After)
	}
	return nil
}

// states checks what a side shows against the value that was found.
func states(s diff.ShownValue, found any, f *diff.FieldChange) error {
	list, isList := found.([]any)
	if f.Reordered {
		for _, m := range f.Moved {
			if !isList || m.From < 0 || m.To < 0 {
				return fmt.Errorf("%+v of %d elements", m, len(list))
			}
		}
		return nil
	}
	if s.Masked || s.Sum != "" {
		return nil
	}
	if s.Type == diff.TypeString {
		if found == nil && s.Text == "" {
			return nil // the API reads null this way in a map of strings
		}
		if text, ok := found.(string); !ok || strings.ToValidUTF8(text, "\uFFFD") != s.Text {
			return fmt.Errorf("it is %.80q, not %.80q", found, s.Text)
		}
		return nil
	}
	if o, ok := found.(map[string]any); ok && strings.Contains(f.Path, " (schema) ") {
		found = maps.Clone(o)
		delete(found.(map[string]any), "description") // shown as a separate field
	}
	said, err := decode(s.Text)
	if err != nil {
		return err
	}
	if d := cmp.Diff(plain(found), plain(said)); d != "" {
		return fmt.Errorf("something else is there (-there +stated):\n%s", d)
	}
	return nil
}

func decode(text string) (v any, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// plain returns a value as decoded from JSON, with numbers compared by value.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case json.Number:
		n, _ := v.Float64()
		return n
	case int:
		return float64(v)
	case int64:
		return float64(v)
	}
	return v
}

func cutLast(pointer string) (list, last string, ok bool) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", "", false
	}
	return pointer[:i], pointer[i+1:], true
}

// resolve returns the value that a pointer leads to.
func resolve(v any, pointer string) (any, bool) {
	list, last, ok := cutLast(pointer)
	if !ok {
		return v, pointer == ""
	}
	parent, ok := resolve(v, list)
	if !ok {
		return nil, false
	}
	step := strings.NewReplacer("~1", "/", "~0", "~").Replace(last)
	switch parent := parent.(type) {
	case map[string]any:
		child, ok := parent[step]
		return child, ok
	case []any:
		return element(parent, last)
	case string:
		return document(parent, step)
	}
	return nil, false
}

func document(text, step string) (any, bool) {
	switch step {
	case "@json":
		v, err := decode(text)
		return v, err == nil
	case "@base64":
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		return string(data), err == nil
	case "@yaml":
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, false
		}
		v, err := decode(string(data))
		return v, err == nil
	}
	return nil, false
}

// element returns the only element of a list that a step selects.
func element(list []any, step string) (any, bool) {
	if i, err := strconv.Atoi(step); err == nil {
		if i < 0 || i >= len(list) {
			return nil, false
		}
		return list[i], true
	}
	if value, ok := strings.CutPrefix(step, "="); ok {
		value = unescape.Replace(value)
		return only(list, func(e any) bool { return scalar(e) == value })
	}
	if found, ok := selected(list, step, false); ok {
		return found, true
	}
	return selected(list, step, true)
}

// unescape decodes the escapes of a pointer, including those in a selection.
var unescape = strings.NewReplacer("~1", "/", "~0", "~", "~2", ",", "~3", "=")

// selected returns the only element with the given keys. With defaults, an
// element may omit a key, which then has its default.
func selected(list []any, step string, defaults bool) (any, bool) {
	return only(list, func(e any) bool {
		o, _ := e.(map[string]any)
		for part := range strings.SplitSeq(step, ",") {
			key, value, ok := strings.Cut(part, "=")
			there := o[unescape.Replace(key)]
			if !ok || o == nil || there == nil && !defaults || there != nil && scalar(there) != unescape.Replace(value) {
				return false
			}
		}
		return true
	})
}

func only(list []any, is func(any) bool) (found any, ok bool) {
	for _, e := range list {
		if is(e) {
			if ok {
				return nil, false
			}
			found, ok = e, true
		}
	}
	return found, ok
}

func scalar(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return fmt.Sprint(v)
}
