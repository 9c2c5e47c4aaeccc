package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// maxErrors is the number of errors after which reading stops.
	maxErrors = 20
	// maxNotes is the number of notes that are stored; the rest is counted.
	maxNotes = 50
)

// Read reads the objects of all sources of one side. The error joins up to 20
// errors, each "NAME:LINE:COLUMN: words; remedy"; with an error there is no Set.
func Read(sources []Source, o Options) (*Set, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	r := &reader{repeated: o.Repeated, at: map[ID]*Object{}, generated: map[ID]int{}}
	for _, s := range sources {
		if o.MaxBytes -= int64(len(s.Data)); o.MaxBytes < 0 {
			r.fail(text{source: s.Name, line: 1}.errorAt(place{},
				"the manifests are larger than may be read; raise the limit or compare fewer at once"))
			break
		}
		r.source(s)
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	if r.more > 0 {
		r.set.Notes = append(r.set.Notes, fmt.Sprintf("%d more notes like these are left out", r.more))
	}
	return &r.set, nil
}

// reader collects the objects of one side.
type reader struct {
	set  Set
	errs []error
	// repeated is Options.Repeated.
	repeated bool
	// more counts the notes that are not stored.
	more int
	// at are the objects by identity, and generated counts those whose names the cluster generates.
	at        map[ID]*Object
	generated map[ID]int
}

// fail stores an error, up to the limit.
func (r *reader) fail(err error) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, err)
	}
}

func (r *reader) source(s Source) {
	data := bytes.TrimPrefix(s.Data, []byte("\ufeff"))
	whole := text{data: data, source: s.Name, line: 1}
	if err := whole.checkBytes(); err != nil {
		r.fail(err)
		return
	}
	line, counted := 1, 0
	for _, d := range split(data) {
		if len(r.errs) >= maxErrors {
			return
		}
		start := d.start + withoutMarker(data[d.start:d.end])
		if start >= d.end {
			continue
		}
		line += bytes.Count(data[counted:start], []byte{'\n'})
		counted = start
		r.document(text{data: data[start:d.end], source: s.Name, line: line})
	}
}

// checkBytes rejects data that is not text, with its exact place.
func (t text) checkBytes() error {
	switch {
	case bytes.HasPrefix(t.data, []byte{0xfe, 0xff}), bytes.HasPrefix(t.data, []byte{0xff, 0xfe}):
		return t.errorAt(place{}, "the text is in UTF-16; save it in UTF-8")
	case bytes.IndexByte(t.data, 0) >= 0:
		return t.errorAt(placeAt(t.data, bytes.IndexByte(t.data, 0)), "a NUL byte; this is no text, or remove it")
	case !utf8.Valid(t.data):
		return t.errorAt(placeAt(t.data, firstInvalid(t.data)), "this is not UTF-8; save the text in UTF-8")
	}
	return nil
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// document reads one document of a stream, which is not empty.
func (r *reader) document(t text) {
	if t.data[0] == '{' || t.data[0] == '[' {
		if r.jsonDocuments(t) {
			return
		}
	}
	id, sure, oldWords := scan(t.data)
	if !sure && isList(id) && r.blockList(t) {
		return
	}
	if sure && !oldWords {
		r.add(t, id, identity{})
		return
	}
	r.parsed(t)
}

// isList reports whether an object is a list of objects: by its kind, and if it has no name.
func isList(id identity) bool { return strings.HasSuffix(id.kind, "List") && id.name == "" }

// parsed adds a document whose lines do not identify the object.
func (r *reader) parsed(t text) {
	v, notes, err := t.parseNoting()
	if err != nil {
		r.fail(err)
		return
	}
	if len(notes) > 0 {
		r.note(t.oldWordsNote(notes))
	}
	if v.IsNull() {
		return
	}
	if items, ok := v.Get("items"); ok {
		if r.holdsItems(t, v, items) {
			r.valueList(t, v, items)
		}
		return
	}
	r.value(t, v, identity{})
}

// holdsItems reports whether a document with items is a list of objects. Every client of Kubernetes
// treats it as one, regardless of its kind: kubectl and Helm create the items, and not the object
// itself.
func (r *reader) holdsItems(t text, v, items raw.Value) bool {
	id := identify(v)
	if !items.IsList() && !items.IsNull() {
		r.fail(t.errorAt(place{},
			"items is not a list, and kubectl and Helm read every object with items as a list; set it to a list of objects, "+
				"or remove it"))
		return false
	}
	if !isList(id) {
		r.note(t.errorAt(place{},
			fmt.Sprintf("%s has items, so kubectl and Helm make those and not the %s itself; remove items if that is meant",
				printable(id.kind+"/"+id.name), printable(id.kind))).Error())
	}
	return true
}

// value adds a parsed object.
func (r *reader) value(t text, v raw.Value, inherited identity) {
	if words := unfit(inherited.into(v)); words != "" {
		r.fail(t.errorAt(place{}, words))
		return
	}
	r.add(t, identify(v), inherited)
}

// unfit returns why a value is no Kubernetes object, or an empty string.
func unfit(v raw.Value) string {
	if !v.IsObject() {
		return "this document is not a mapping; write objects with apiVersion, kind and metadata"
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if words := unfitText(v, key, key); words != "" {
			return words
		}
		if raw.TextAt(v, key) == "" {
			return "the object has no " + key + "; add it, or leave the file out"
		}
	}
	metadata, ok := v.Get("metadata")
	if ok && !metadata.IsObject() && !metadata.IsNull() {
		return "metadata is not a mapping; set metadata.name"
	}
	for _, key := range []string{"name", "namespace", "generateName"} {
		if words := unfitText(metadata, key, "metadata."+key); words != "" {
			return words
		}
	}
	if raw.TextAt(metadata, "name") == "" && raw.TextAt(metadata, "generateName") == "" {
		return "the object has no name; add metadata.name"
	}
	return ""
}

func unfitText(v raw.Value, key, name string) string {
	field, ok := v.Get(key)
	if !ok || field.IsNull() {
		return ""
	}
	if _, text := raw.String(field); !text {
		return name + " is no text; put it into quotes"
	}
	return ""
}

// add adds an object to the set.
func (r *reader) add(t text, id identity, inherited identity) {
	if id.kind == "" && id.apiVersion == "" {
		id.kind, id.apiVersion = inherited.kind, inherited.apiVersion
	}
	o := &Object{Source: t.source, Line: t.line, text: t, inherited: inherited}
	var group string
	group, o.Version = id.group()
	o.ID = ID{Group: group, Kind: id.kind, Namespace: id.namespace, Name: id.name}
	o.prefix = id.generate
	if id.name == "" {
		o.GenerateName = true
		o.ID.Name = id.generate + "*"
		if r.generated[o.ID]++; r.generated[o.ID] > 1 {
			o.ID.Name = fmt.Sprintf("%s%d", o.ID.Name, r.generated[o.ID])
		}
	}
	first := r.at[o.ID]
	switch {
	case first == nil:
		r.at[o.ID] = o
		r.set.Objects = append(r.set.Objects, o)
	case first.Same(o):
		r.note(fmt.Sprintf("%s: %s is the same as at %s; one of the two is enough", o.Place(), printable(o.ID.Address()),
			first.Place()))
	case r.repeated:
		r.set.Objects = append(r.set.Objects, o)
	default:
		r.fail(o.RepeatedError(first))
	}
}

func (r *reader) note(words string) {
	if len(r.set.Notes) == maxNotes {
		r.more++
		return
	}
	r.set.Notes = append(r.set.Notes, words)
}
