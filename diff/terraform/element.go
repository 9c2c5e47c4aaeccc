package terraform

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// errNoResource is a deferred change of nothing.
var errNoResource = fmt.Errorf("%w: a deferred change has no resource", ErrNotPlan)

// batchBytes is how much of a section one goroutine decodes at a time.
const batchBytes = 256 << 10

// elements reads a list of resource changes. The decoder only finds where each one ends; several goroutines, for which it waits, make
// values of them. The result is in the order of the plan, whichever of them is done first.
func (d *decoder) elements(key string, out *elements, deferred bool) error {
	t, err := d.dec.ReadToken()
	if err != nil || t.Kind() == 'n' {
		return err
	}
	if t.Kind() != '[' {
		return fmt.Errorf("%w: %s is not a list", ErrNotPlan, key)
	}
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	var batches []*batch
	start := func(b *batch) {
		batches = append(batches, b)
		workers.Go(func() error { b.decode(deferred); return nil })
	}
	err = d.split(start)
	_ = workers.Wait() // what goes wrong is in the batches, the first one first
	for _, b := range batches {
		if b.err != nil {
			return b.err
		}
		out.list = append(out.list, b.out.list...)
		out.secrets = append(out.secrets, b.out.secrets...)
		out.unchanged += b.out.unchanged
	}
	return err
}

// split cuts the rest of a list into batches.
func (d *decoder) split(start func(*batch)) error {
	b := &batch{}
	for d.dec.PeekKind() != ']' {
		v, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		b.data = append(b.data, v...)
		b.ends = append(b.ends, len(b.data))
		b.at = append(b.at, d.dec.InputOffset()-int64(len(v)))
		if len(b.data) >= batchBytes {
			start(b)
			b = &batch{}
		}
	}
	start(b)
	_, err := d.dec.ReadToken()
	return err
}

// batch is a run of elements: their text, one after the other, where each ends, and where in the plan it begins.
type batch struct {
	data []byte
	ends []int
	at   []int64
	out  elements
	err  error
}

func (b *batch) decode(deferred bool) {
	var r elementReader
	start := 0
	for i, end := range b.ends {
		if err := r.element(b.data[start:end], deferred, &b.out); err != nil {
			b.err = positioned{b.at[i], err}
			return
		}
		start = end
	}
	b.data = nil
}

// part is the text of the value of a key.
type part struct {
	name string
	text []byte
}

type parts []part

func (p parts) get(name string) []byte {
	for _, e := range p {
		if e.name == name {
			return e.text
		}
	}
	return nil
}

// elementReader makes values of text that has been checked. It is for one goroutine.
type elementReader struct {
	dec jsontext.Decoder
}

// element adds one change to out. One that changes nothing is only counted, after what it marks as sensitive has been learned. What is
// deferred is always listed.
func (r *elementReader) element(text []byte, deferred bool, out *elements) (err error) {
	top, err := r.split(text)
	if err != nil {
		return err
	}
	var head resource
	if deferred {
		head.reason = r.text(top, "reason", &err)
		inner := top.get("resource_change")
		if absent(inner) {
			return errNoResource
		}
		if top, err = r.split(inner); err != nil {
			return err
		}
	}
	r.head(top, &head, &err)
	change := top.get("change")
	head.hasChange = !absent(change)
	if err != nil || !head.hasChange {
		out.list = append(out.list, head)
		return err
	}
	within, err := r.split(change)
	if err != nil {
		return err
	}
	if !deferred && head.stays() && absent(within.get("importing")) && string(within.get("actions")) == `["no-op"]` {
		out.unchanged++
		return r.secrets(head.kind, within, out)
	}
	head.generated = r.text(within, "generated_config", &err) != ""
	if err == nil {
		head.change, err = r.change(change)
	}
	if err != nil {
		return err
	}
	out.list = append(out.list, head)
	return nil
}

// stays says that the resource has an address, and the same one as before.
func (r *resource) stays() bool {
	return r.address != "" && (r.previousAddress == "" || r.previousAddress == r.address)
}

func (r *elementReader) head(p parts, out *resource, err *error) {
	out.address, out.previousAddress = r.text(p, "address", err), r.text(p, "previous_address", err)
	out.moduleAddress, out.deposed = r.text(p, "module_address", err), r.text(p, "deposed", err)
	out.mode, out.kind, out.name = r.text(p, "mode", err), r.text(p, "type", err), r.text(p, "name", err)
	out.actionReason = r.text(p, "action_reason", err)
}

func absent(text []byte) bool { return text == nil || string(text) == "null" }

// split cuts an object into its parts. Null has none.
func (r *elementReader) split(text []byte) (parts, error) {
	r.reset(text)
	if t, err := r.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errWrongType
	}
	var out parts
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		p := part{name: name.String()}
		v, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(r.dec.InputOffset())
		p.text = text[end-len(v) : end : end]
		out = append(out, p)
	}
	return out, nil
}

func (r *elementReader) reset(text []byte) {
	r.dec.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
}

func (r *elementReader) value(text []byte) (diff.Raw, error) {
	if text == nil {
		return diff.Raw{}, nil
	}
	r.reset(text)
	return tree.ReadJSON(&r.dec, maxJSONDepth)
}

func (r *elementReader) text(p parts, name string, err *error) string {
	v, wrong := r.value(p.get(name))
	var s string
	if wrong == nil {
		s, wrong = textOf(v)
	}
	if wrong != nil {
		*err = wrong
	}
	return s
}

func (r *elementReader) change(text []byte) (change, error) {
	v, err := r.value(text)
	if err != nil {
		return change{}, err
	}
	c := changeOf(v, &err)
	return c, err
}

// secrets adds what a change marks as sensitive, or its type does, without building the values of the many that have nothing of it.
func (r *elementReader) secrets(kind string, p parts, out *elements) error {
	add := func(secret diff.Raw) { out.secrets = append(out.secrets, secret) }
	if secretAttributesOf(kind) != nil {
		v, err := r.value(p.get("after"))
		if err != nil {
			return err
		}
		secretsOfKind(kind, v, add)
	}
	for _, side := range []string{"before", "after"} {
		marks := p.get(side + "_sensitive")
		if side == "after" && bytes.Equal(p.get("before"), p.get("after")) &&
			bytes.Equal(p.get("before_sensitive"), marks) {
			continue
		}
		if err := r.marked(p.get(side), marks, add); err != nil {
			return err
		}
	}
	return nil
}
