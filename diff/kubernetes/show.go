package kubernetes

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/align"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

const (
	// maxCompact is the largest size in bytes of JSON of a value of only one
	// side that is shown on one line; a larger one is shown part by part.
	maxCompact = 160
	// maxDocuments is how many levels of documents inside documents are parsed.
	maxDocuments = 3
	// maxInner is the largest number of differences of a multi-line document
	// that are listed; beyond it a line diff is easier to read.
	maxInner = 100
)

// shower converts differences to those that a person should see.
type shower struct {
	names *names
	// only is the single rule that folds, for an object that is added or
	// removed as a whole: its labels are no noise then.
	only string
	// secret: the object is a Secret, whose data must never be shown.
	secret bool
	// knows reports whether a text holds a secret that is known from
	// elsewhere; nil means that there is none.
	knows func(text string) bool
	out   []difference
}

// show adds the visible form of a difference.
func (s *shower) show(d difference) {
	d.fold = foldOf(&d)
	if s.only != "" && d.fold != s.only {
		d.fold = ""
	}
	d.sensitive = d.sensitive || s.secret && secretPlace(&d)
	switch {
	case d.order != nil:
		if d.sensitive = d.sensitive || s.names.holds(nil, false, d.holds, d.before); !d.sensitive {
			s.redactSides(&d)
		}
		s.out = append(s.out, d)
	case d.sensitive || d.fold != "":
		s.leaf(d)
	case d.hasBefore && d.hasAfter:
		s.changed(d)
	default:
		s.alone(d)
	}
}

// leaf adds a difference as it is. A value that holds a secret anywhere is treated as a secret.
func (s *shower) leaf(d difference) {
	for _, v := range d.values() {
		d.sensitive = d.sensitive || s.names.holds(d.typ, d.builtin, d.holds, v) || s.names.encoded(v)
	}
	switch {
	case d.sensitive || d.fold == foldDescription:
	case d.typ.Format() == schema.Bytes:
		d.cutBefore, d.cutAfter = s.sized(d.before), s.sized(d.after)
	default:
		s.redactSides(&d)
	}
	s.out = append(s.out, d)
}

// sized replaces base64 of binary data with its size and its hash. It returns
// any other value, and a secret, unmodified.
func (s *shower) sized(v raw.Value) raw.Value {
	text, ok := raw.String(v)
	data, isBase64 := decode(text)
	if !ok || !isBase64 || utf8.Valid(data) || s.knows != nil && s.knows(text) {
		return v
	}
	sum := sha256.Sum256(data)
	return raw.Of(fmt.Sprintf("%s, sha256:%x", diff.Plural(len(data), "byte", "bytes"), sum[:8]))
}

// changed adds a value that both sides have: the differences of the documents
// inside two strings, or the value itself.
func (s *shower) changed(d difference) {
	before, wasText := raw.String(d.before)
	after, isText := raw.String(d.after)
	if wasText && isText && documents(d.path) < maxDocuments {
		if b, a, format, ok := tree.Embedded(before, after); ok && s.inner(d, b, a, format) {
			return
		}
	}
	s.leaf(d)
}

// inner adds the differences of two documents, unless a line diff of their texts is better.
func (s *shower) inner(d difference, before, after raw.Value, format string) bool {
	at := d
	at.path, at.typ, at.builtin, at.holds = d.path.Into(format), nil, false, none
	at.before, at.after = before, after
	if format == tree.FormatBase64 {
		s.changed(at)
		return true
	}
	w := &walker{document: true, names: s.names, path: at.path}
	w.walk(node{before: before, after: after, hasBefore: true, hasAfter: true, atomic: d.atomic})
	if len(w.out) == 0 {
		return false
	}
	secret := s.names.holds(nil, false, none, before) || s.names.holds(nil, false, none, after)
	if !secret && len(w.out) > changedLines(d.before, d.after, maxInner) {
		return false
	}
	for _, found := range w.out {
		found.regenerated, found.owner = d.regenerated, d.owner
		s.show(found)
	}
	return true
}

// documents counts the documents that a path enters.
func documents(p tree.Path) int {
	n := 0
	for _, s := range p {
		if s.Into() != "" {
			n++
		}
	}
	return n
}

// changedLines returns how many lines a line diff of two strings would mark,
// or most if one of them has a single line.
func changedLines(before, after raw.Value, most int) int {
	was, _ := raw.Text(before)
	is, _ := raw.Text(after)
	if !strings.Contains(strings.TrimSpace(was), "\n") || !strings.Contains(strings.TrimSpace(is), "\n") {
		return most
	}
	n := 0
	for _, span := range align.Sequences(strings.Split(was, "\n"), strings.Split(is, "\n")) {
		if !span.Same {
			n += span.AEnd - span.A + span.BEnd - span.B
		}
	}
	return min(n, most)
}

// alone adds a value that only one side has: as one difference if it is
// short, otherwise part by part.
func (s *shower) alone(d difference) {
	v := d.values()[0]
	switch {
	case s.schema(d, v):
	case v.IsObject() && len(v.Fields()) > 0 && s.opens(d, v):
		start := len(s.out)
		s.keys(d, v)
		if s.only == "" && d.isElement() && !slices.ContainsFunc(s.out[start:], unfolded) {
			s.out = s.out[:start]
			s.text(d, v)
		}
	case v.IsList() && v.Len() > 0 && s.opens(d, v):
		s.elements(d, v)
	default:
		s.text(d, v)
	}
}

// isElement reports whether the place of d is an element of a list. The element counts as a change
// even if all its fields are defaults, such as a container without an image.
func (d *difference) isElement() bool {
	if len(d.path) == 0 {
		return false
	}
	last := d.path[len(d.path)-1]
	return last.IsIndex || last.IsSelect
}

func unfolded(d difference) bool { return d.fold == "" }

// opens reports whether a value is shown part by part.
func (s *shower) opens(d difference, v raw.Value) bool {
	if len(d.path) >= maxDepth {
		return false
	}
	if len(d.path) == 0 || s.secret && len(d.path) == 1 {
		return true
	}
	last := d.path[len(d.path)-1].Key
	if last == "labels" || last == "annotations" || last == "metadata" {
		return true
	}
	if d.builtin && mixed(v) {
		return true
	}
	budget := maxCompact
	return !compact(v, &budget) || s.names.holds(d.typ, d.builtin, d.holds, v) || s.knows != nil &&
		!raw.Leaves(v, func(text string, _ bool) bool { return !s.knows(text) })
}

// compact reports whether a value has one line and fits the budget, in bytes of JSON.
func compact(v raw.Value, budget *int) bool {
	switch {
	case v.IsObject():
		for _, f := range v.Fields() {
			if *budget -= len(f.Key) + 4; *budget < 0 || !compact(f.Value, budget) {
				return false
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if *budget--; *budget < 0 || !compact(v.At(i), budget) {
				return false
			}
		}
	default:
		text, _ := raw.Text(v)
		*budget -= len(text) + 2
		return *budget >= 0 && !strings.Contains(text, "\n")
	}
	return *budget >= 0
}

// part returns a difference inside one that only one side has.
func (d *difference) part(p tree.Path, v raw.Value) difference {
	out := *d
	out.path, out.parent = p, raw.Value{}
	if d.hasBefore {
		out.before = v
	} else {
		out.after = v
	}
	return out
}

// field is like part for the value at a key of an object, which may be a secret by its name.
func (d *difference) field(names *names, object raw.Value, key string, value raw.Value) difference {
	out := d.part(d.path.Field(key), value)
	out.holds = d.holds.at(d.builtin, object, key, value)
	out.sensitive = d.sensitive || names.secretIn(d.typ, d.builtin, d.holds, object, key, value)
	return out
}

// keys adds the fields of an object. It leaves out those that its address or
// its place in a list already shows.
func (s *shower) keys(d difference, v raw.Value) {
	for _, f := range v.Fields() {
		k, child := f.Key, f.Value
		p := d.path.Field(k)
		if child.IsNull() && documents(d.path) == 0 {
			var kept bool
			if child, kept = storedNull(d.typ, d.builtin, k); !kept {
				continue
			}
		}
		if d.implied(p) {
			continue
		}
		out := d.field(s.names, v, k, child)
		out.typ, out.was, out.parent = d.typ.Field(k), d.was.Field(k), v
		out.builtin = d.builtin || len(d.path) == 0 && k == "metadata"
		s.show(out)
	}
}

// implied reports whether the place of d already shows the field at p.
func (d *difference) implied(p tree.Path) bool {
	if len(d.path) == 0 {
		return p[0].Key == "apiVersion" || p[0].Key == "kind"
	}
	last, key := d.path[len(d.path)-1], p[len(p)-1].Key
	if len(d.path) == 1 && last.Key == "metadata" {
		return key == "name" || key == "namespace"
	}
	for _, by := range last.By() {
		if key == by {
			return true
		}
	}
	return false
}

// elements adds the elements of a list.
func (s *shower) elements(d difference, v raw.Value) {
	none := raw.Of([]any{})
	how := pairingOf(node{typ: d.typ, before: none, after: v, builtin: d.builtin})
	lone := s.lone(&d)
	for i := range v.Len() {
		p := append(slices.Clone(d.path), &tree.Step{Index: i, IsIndex: true, Lone: lone})
		if how.after != nil {
			p = d.path.Select(how.after[i], how.by, lone)
		}
		out := d.part(p, v.At(i))
		out.typ, out.was, out.place, out.sensitive = d.typ.Elem(), d.was.Elem(), i, d.sensitive || optionValue(v, i)
		s.show(out)
	}
}

// lone returns the side that has the elements of an added or removed list. It
// returns Both inside an object or an element that is itself added or removed
// as a whole, for which that is already shown.
func (s *shower) lone(d *difference) tree.Side {
	if _, side := d.path.Element(); side != tree.Both || s.only != "" {
		return tree.Both
	}
	if d.hasBefore {
		return tree.OnlyBefore
	}
	return tree.OnlyAfter
}

// text adds a plain value. A document in it is parsed only to find its
// secrets: a new one is easier to read as it is written.
func (s *shower) text(d difference, v raw.Value) {
	text, ok := raw.String(v)
	if !ok || documents(d.path) >= maxDocuments || !secret.Mentions(text) {
		s.leaf(d)
		return
	}
	_, inner, format, ok := tree.Embedded("", text)
	if !ok || !inner.IsObject() && !inner.IsList() || !s.names.holds(nil, false, none, inner) {
		s.leaf(d)
		return
	}
	out := d.part(d.path.Into(format), inner)
	out.typ, out.builtin, out.holds = nil, false, none
	s.show(out)
}
