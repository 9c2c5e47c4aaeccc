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

// errNoResource reports a deferred change without a resource.
var errNoResource = fmt.Errorf("%w: a deferred change has no resource", ErrNotPlan)

// batchBytes is the amount of a section that one goroutine decodes at a time.
const batchBytes = 256 << 10

// elements reads a list of resource changes. The decoder only finds the end of each element; several
// goroutines build the values, and elements waits for them. The result has the order of the plan.
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
	_ = workers.Wait() // the batches hold the errors in the order of the plan
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

// split cuts the rest of a list into batches and starts each of them.
func (d *decoder) split(start func(*batch)) error {
	b := &batch{}
	for d.dec.PeekKind() != ']' {
		v, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		b.data = append(b.data, v...)
		b.ends = append(b.ends, len(b.data))
		b.offset = append(b.offset, d.dec.InputOffset()-int64(len(v)))
		if len(b.data) >= batchBytes {
			start(b)
			b = &batch{}
		}
	}
	start(b)
	_, err := d.dec.ReadToken()
	return err
}

// batch is a run of elements: their concatenated text, the end of each element in it, and the offset
// of each in the plan.
type batch struct {
	data   []byte
	ends   []int
	offset []int64
	out    elements
	err    error
}

func (b *batch) decode(deferred bool) {
	var r elementReader
	start := 0
	for i, end := range b.ends {
		if err := r.element(b.data[start:end], deferred, &b.out); err != nil {
			b.err = positioned{b.offset[i], err}
			return
		}
		start = end
	}
	b.data = nil
}

// part is a key of an object with the text of its value.
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

// elementReader builds values from text that has been validated. It is not safe for concurrent use.
type elementReader struct {
	dec jsontext.Decoder
}

// element adds one change to out. A change with no effect is only counted, after its sensitive
// values have been collected. A deferred change is always listed.
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

// stays reports whether the resource has an address that did not change.
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

// secrets collects the values that are sensitive by mark or by resource type. It does not build the
// values of the many changes without any.
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
