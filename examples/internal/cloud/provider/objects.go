package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// get returns an object by its key, or nil.
func (t *transaction) get(key string) *stored { return t.objects[key] }

// ordered returns the objects of a type, or all for "", the oldest first.
func (s *store) ordered(typ string) (made []*stored) {
	for _, o := range s.objects {
		if typ == "" || o.typ() == typ {
			made = append(made, o)
		}
	}
	slices.SortFunc(made, func(a, b *stored) int { return cmp.Compare(a.number, b.number) })
	return made
}

// put creates or replaces an object.
func (t *transaction) put(key string, attributes object) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(toJSON(attributes)); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	t.add(record{Key: key, Object: bytes.TrimSpace(text.Bytes())})
	return nil
}

// remove removes an object, if it exists.
func (t *transaction) remove(key string) {
	if t.get(key) != nil {
		t.add(record{Key: key})
	}
}

// next returns the next value of a counter, from 0.
func (t *transaction) next(name string) int {
	number := t.counts[name]
	t.add(record{Count: name, Number: number + 1})
	return number
}

func (t *transaction) add(r record) {
	t.apply(r)
	t.added = append(t.added, r)
}

// freeKey returns "type/id", with a number appended if another object has that key: the accounts and
// clusters of several installs share this store.
func (t *transaction) freeKey(typ, id string) string {
	key := typ + "/" + id
	for n := 2; t.get(key) != nil; n++ {
		key = fmt.Sprintf("%s/%s~%d", typ, id, n)
	}
	return key
}

// byID returns the newest object of a type with an id, or nil.
func (t *transaction) byID(typ, id string) *stored {
	for _, o := range slices.Backward(t.ordered(typ)) {
		if o.attributes()["id"] == id || strings.TrimPrefix(o.key, typ+"/") == id {
			return o
		}
	}
	return nil
}

// locate returns the object that Terraform's state means, or nil: that of the key in the private
// data or, as Terraform drops the private data of objects that it replaces, that of the id. Of
// several with the id it prefers the one with all attributes of the state.
func (t *transaction) locate(typ, key string, state object) *stored {
	if key != "" {
		return t.get(key)
	}
	var found *stored
	for _, o := range t.ordered(typ) {
		if id := o.attributes()["id"]; id != state["id"] {
			continue
		}
		if found == nil || same(toJSON(state), o.attributes()) {
			found = o
		}
	}
	return found
}
