package terraform

import (
	"bytes"
	"cmp"

	"github.com/nuon-toolkit/nuon/diff"
)

// This file reads the sensitive values of a plan's prior_state and planned_values: those of
// resources, data sources and outputs that have no change entry. Nothing else of these sections,
// the largest of a plan, is stored.

// values reads one of the two sections: its outputs and modules.
func (d *decoder) values() error {
	return d.object(func(key string) error {
		switch key {
		case "outputs":
			return d.object(func(string) error { return d.markedIn("value", "sensitive") })
		case "root_module":
			return d.valuesOfModule(0)
		}
		return d.dec.SkipValue()
	})
}

func (d *decoder) valuesOfModule(depth int) error {
	if depth > maxModules {
		return d.dec.SkipValue()
	}
	return d.object(func(key string) error {
		switch key {
		case "resources":
			return d.list(func() error { return d.markedIn("values", "sensitive_values") })
		case "child_modules":
			return d.list(func() error { return d.valuesOfModule(depth + 1) })
		}
		return d.dec.SkipValue()
	})
}

// markedIn reads an object with marks at one key for the value at another. It decodes only objects
// that have a mark or a type with secrets.
func (d *decoder) markedIn(value, marks string) error {
	text, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	_, after, ok := bytes.Cut(text, []byte(`"`+marks+`"`))
	byKind := mayHoldSecrets(text)
	if !byKind && (!ok || !bytes.Contains(after, []byte("true"))) {
		return nil
	}
	p, err := d.reader.split(text)
	if err != nil {
		return err
	}
	add := func(secret diff.Raw) { d.plan.marked = append(d.plan.marked, secret) }
	if byKind {
		kind := d.reader.text(p, "type", &err)
		v, wrong := d.reader.value(p.get(value))
		if err = cmp.Or(err, wrong); err != nil {
			return err
		}
		secretsOfKind(kind, v, add)
	}
	return d.reader.marked(p.get(value), p.get(marks), add)
}

// marked visits the parts of a value that are marked; both arguments are JSON text.
func (r *elementReader) marked(value, marks []byte, visit func(diff.Raw)) error {
	if !bytes.Contains(marks, []byte("true")) {
		return nil
	}
	m, err := r.value(marks)
	if err != nil {
		return err
	}
	v, err := r.value(value)
	if err != nil {
		return err
	}
	marked(v, mark{m}, visit)
	return nil
}
