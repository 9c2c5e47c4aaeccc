package kubernetes

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// threeWay compares the live object with the desired one like an apply: a field
// that only the cluster has is removed if it was applied last, and stays otherwise.
type threeWay struct {
	typ *schema.Type
	// last is the object applied last; null for one that others created.
	last raw.Value
	// wanted is the object to be applied.
	wanted raw.Value
	names  *names
	out    []difference
	// counted are the numbers of fields that the API server writes or
	// defaults, by rule. Every object has them, so they are not listed.
	counted map[string]int
	// lasts and wants are the elements of lists of last and wanted.
	lasts, wants selections
}

// changes returns the differences that an apply makes, and, folded, those that it leaves.
func (t *threeWay) changes(found []difference) []difference {
	for _, d := range found {
		if !d.hasBefore || d.hasAfter || d.atomic || t.unset(d.path) {
			// The desired object may set a default, or a field of the server:
			// an apply changes nothing there.
			if fold := foldOf(&d); fold == foldServer || fold == foldDefault {
				t.counted[fold]++
			} else {
				t.out = append(t.out, d)
			}
			continue
		}
		last, typ, ok := t.lasts.find(t.typ, t.last, d.path)
		d.typ, d.was = typ, typ
		t.gone(d, last, ok)
	}
	return t.out
}

// unset reports whether the desired object has a null at a path. An apply then removes the field,
// regardless of who set it.
func (t *threeWay) unset(p tree.Path) bool {
	if len(p) == 0 || p[len(p)-1].Key == "" {
		return false
	}
	parent, _, ok := t.wants.find(t.typ, t.wanted, p[:len(p)-1])
	_, written := parent.Get(p[len(p)-1].Key)
	return ok && written
}

// gone splits a value that only the cluster has into what was applied last and what others own.
func (t *threeWay) gone(d difference, last raw.Value, applied bool) {
	switch {
	case !applied:
		t.theirs(d)
	case d.before.IsObject() && last.IsObject() && len(d.before.Keys()) > 0:
		start := len(t.out)
		for _, k := range d.before.Keys() {
			v, _ := d.before.Get(k)
			if v.IsNull() {
				continue
			}
			part := d.field(t.names, d.before, k, v)
			part.typ, part.was, part.parent = d.typ.Field(k), d.was.Field(k), d.before
			was, ok := last.Get(k)
			t.gone(part, was, ok && !was.IsNull())
		}
		t.whole(start, d)
	case d.before.IsList() && last.IsList():
		t.elementsGone(d, last)
	default:
		t.out = append(t.out, d)
	}
}

// elementsGone does the same for the elements of a list that an apply merges.
func (t *threeWay) elementsGone(d difference, last raw.Value) {
	how := pairingOf(node{typ: d.typ, before: last, after: d.before, builtin: d.builtin})
	if !how.merged {
		t.out = append(t.out, d)
		return
	}
	start := len(t.out)
	for _, pair := range pairsByName(how.before, how.after) {
		if pair.After < 0 {
			continue
		}
		part := d.part(d.path.Selected(how.after[pair.After], how.by), d.before.At(pair.After))
		part.typ, part.was, part.place = d.typ.Elem(), d.was.Elem(), pair.After
		t.gone(part, last.At(pair.Before), pair.Before >= 0)
	}
	t.whole(start, d)
}

// whole joins the parts since start again if all of them are removed.
func (t *threeWay) whole(start int, d difference) {
	for _, part := range t.out[start:] {
		if part.fold != "" {
			return
		}
	}
	t.out = append(t.out[:start], d)
}

// theirs adds a difference that an apply leaves.
func (t *threeWay) theirs(d difference) {
	if d.fold = foldOf(&d); d.fold == "" && (d.typ.Assigned() || d.path[0].Key == "status") {
		d.fold = foldServer
	}
	if d.fold == foldServer || d.fold == foldDefault {
		t.counted[d.fold]++
		return
	}
	if n := len(d.path); n > 1 && d.path[n-2].Key == "metadata" && d.before.IsObject() {
		// Each label and annotation has its own owner.
		for _, k := range d.before.Keys() {
			v, _ := d.before.Get(k)
			t.theirs(d.field(t.names, d.before, k, v))
		}
		return
	}
	d.fold = foldOthers
	t.out = append(t.out, d)
}

// drifted returns the differences between the object applied last and the
// live one, in the fields that were applied.
func drifted(found []difference) []difference {
	var out []difference
	for _, d := range found {
		if d.fold = foldOf(&d); d.fold == "" && (d.hasBefore || d.atomic) {
			out = append(out, d)
		}
	}
	return out
}
