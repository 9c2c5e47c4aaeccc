package kubernetes

import (
	"encoding/json"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// selections indexes the elements of lists by what selects them, so that many
// differences in a list do not each search all of it. It is for one value and
// one goroutine; the zero value is ready to use.
type selections struct {
	lists map[string]map[string]raw.Value
}

// minIndexed is the smallest number of elements of a list that is indexed.
const minIndexed = 16

// of returns the elements of the list at a path by their names, which make computes.
func (s *selections) of(list tree.Path, by []string, make func() map[string]raw.Value) map[string]raw.Value {
	key := list.Pointer(tree.Step.Plain) + "\x00" + strings.Join(by, ",")
	known, ok := s.lists[key]
	if !ok {
		if s.lists == nil {
			s.lists = map[string]map[string]raw.Value{}
		}
		known = make()
		s.lists[key] = known
	}
	return known
}

// find returns the value at a path of keys and selections, and its type.
func (s *selections) find(t *schema.Type, v raw.Value, p tree.Path) (raw.Value, *schema.Type, bool) {
	found := true
	for i, step := range p {
		next, ok := raw.Value{}, false
		switch {
		case step.IsIndex || step.Into() != "":
		case step.IsSelect:
			t = t.Elem()
			next, ok = s.selected(p[:i], t, v, *step)
		default:
			next, ok = v.Get(step.Key)
			ok = ok && !next.IsNull()
			t = t.Field(step.Key)
		}
		v, found = next, found && ok
	}
	return v, t, found
}

// writes reports whether a value has something at a path of keys, selections and indices. An index
// that a list does not have counts as well, because lists without names are replaced as a whole.
func (s *selections) writes(t *schema.Type, v raw.Value, p tree.Path) bool {
	for i, step := range p {
		ok := false
		switch {
		case step.Into() != "":
			return false
		case step.IsIndex && step.Index >= v.Len():
			return v.IsList()
		case step.IsIndex:
			v, t, ok = v.At(step.Index), t.Elem(), true
		case step.IsSelect:
			t = t.Elem()
			v, ok = s.selected(p[:i], t, v, *step)
		default:
			v, ok = v.Get(step.Key)
			ok = ok && !v.IsNull()
			t = t.Field(step.Key)
		}
		if !ok {
			return false
		}
	}
	return len(p) > 0
}

// selected returns the element of the list at a path that a step selects.
func (s *selections) selected(at tree.Path, elem *schema.Type, list raw.Value, step tree.Step) (raw.Value, bool) {
	name := func(e raw.Value) (string, bool) {
		if len(step.By()) > 0 {
			return keyName(e, elem, step.By())
		}
		return scalarText(e)
	}
	if list.Len() < minIndexed {
		for i := range list.Len() {
			if n, ok := name(list.At(i)); ok && n == step.Select {
				return list.At(i), true
			}
		}
		return raw.Value{}, false
	}
	element, ok := s.of(at, step.By(), func() map[string]raw.Value {
		out := make(map[string]raw.Value, list.Len())
		for i := range list.Len() {
			n, ok := name(list.At(i))
			if _, twice := out[n]; ok && !twice {
				out[n] = list.At(i)
			}
		}
		return out
	})[step.Select]
	return element, ok
}

// managed returns the fields that a field manager owns in the element that a
// step selects: "k:" and its keys as JSON, or "v:" and its value. At is the
// path of the list. A set without keys owns the list as a whole.
func (s *selections) managed(at tree.Path, fields raw.Value, step tree.Step) (owned raw.Value, ok bool) {
	all := s.of(at, step.By(), func() map[string]raw.Value {
		keys := fields.Keys()
		if len(keys) == 0 {
			return nil
		}
		out := make(map[string]raw.Value, len(keys))
		for _, k := range keys {
			name, ok := managedName(k, step.By())
			if _, twice := out[name]; ok && !twice {
				out[name], _ = fields.Get(k)
			}
		}
		return out
	})
	if all == nil {
		return fields, true
	}
	owned, ok = all[step.Select]
	return owned, ok
}

// managedName returns the name of an element in a manager's set, by keys or,
// without them, by its value.
func managedName(key string, by []string) (string, bool) {
	if plain, ok := strings.CutPrefix(key, "v:"); ok && len(by) == 0 {
		var text string
		err := json.Unmarshal([]byte(plain), &text)
		return text, err == nil
	}
	object, ok := strings.CutPrefix(key, "k:")
	if !ok || len(by) == 0 {
		return "", false
	}
	element, err := raw.Parse([]byte(object))
	if err != nil {
		return "", false
	}
	return keyName(element, nil, by)
}
