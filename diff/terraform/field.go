package terraform

import (
	"iter"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// fields reads the keys of an object with a known form. A missing or null key yields the zero
// value; a value of another type sets the error to errWrongType, which the caller checks once at
// its end.
type fields struct {
	object diff.Raw
	err    *error
}

func fieldsOf(v diff.Raw, err *error) fields {
	if !v.IsObject() && !v.IsNull() {
		*err = errWrongType
	}
	return fields{v, err}
}

func (f fields) get(key string) diff.Raw {
	v, _ := f.object.Get(key)
	return v
}

func (f fields) text(key string) string {
	s, err := textOf(f.get(key))
	if err != nil {
		*f.err = err
	}
	return s
}

func (f fields) flag(key string) bool {
	b, err := flagOf(f.get(key))
	if err != nil {
		*f.err = err
	}
	return b != nil && *b
}

func (f fields) child(key string) fields { return fieldsOf(f.get(key), f.err) }

func textOf(v diff.Raw) (string, error) {
	switch s := raw.Reveal(v).(type) {
	case nil:
		return "", nil
	case string:
		return s, nil
	}
	return "", errWrongType
}

func flagOf(v diff.Raw) (*bool, error) {
	switch b := raw.Reveal(v).(type) {
	case nil:
		return nil, nil
	case bool:
		return &b, nil
	}
	return nil, errWrongType
}

// each iterates over an object in the order of its sorted keys. Null is empty.
func each(v diff.Raw, err *error) iter.Seq2[string, diff.Raw] {
	return func(yield func(string, diff.Raw) bool) {
		if !v.IsObject() && !v.IsNull() {
			*err = errWrongType
		}
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if !yield(k, child) {
				return
			}
		}
	}
}

// items iterates over a list. Null is empty.
func items(v diff.Raw, err *error) iter.Seq[diff.Raw] {
	return func(yield func(diff.Raw) bool) {
		if !v.IsList() && !v.IsNull() {
			*err = errWrongType
		}
		for i := range v.Len() {
			if !yield(v.At(i)) {
				return
			}
		}
	}
}
