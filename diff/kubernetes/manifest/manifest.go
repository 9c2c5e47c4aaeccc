package manifest

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Source is one file, or a stream.
type Source struct {
	// Name is the name in errors: a path, or "-".
	Name string
	// Data is not copied and must never change: objects, values and reports share its bytes.
	Data []byte
}

// ID identifies an object across two manifests. The version of its API is not part of it.
type ID struct {
	// Group is empty for the core API. Namespace is empty if the manifest names none.
	// Name ends in "*" if the cluster generates the rest of it (Object.GenerateName);
	// the second such object with the same prefix ends in "*2", and so on.
	Group, Kind, Namespace, Name string
}

// ResourceKind returns KIND[.GROUP], for example Deployment.apps.
func (i ID) ResourceKind() string {
	if i.Group == "" {
		return i.Kind
	}
	return i.Kind + "." + i.Group
}

// Address returns [NAMESPACE/]KIND[.GROUP]/NAME, for example shop/Deployment.apps/web.
func (i ID) Address() string {
	address := i.ResourceKind() + "/" + i.Name
	if i.Namespace != "" {
		address = i.Namespace + "/" + address
	}
	return address
}

// Options limits what is read. The zero value is ready to use.
type Options struct {
	// MaxBytes bounds the sources together; 0 means DefaultMaxBytes.
	MaxBytes int64
	// Repeated keeps objects that have the ID of an earlier one and differ from it, for a caller
	// that can tell them apart. Without it, they are errors.
	Repeated bool
}

// DefaultMaxBytes is the largest total size of all sources of one side: 256 MiB.
const DefaultMaxBytes = 256 << 20

// Set holds the objects of one side of a comparison.
type Set struct {
	// Objects are in the order of the input; those of a list take the position of the list.
	Objects []*Object
	// Notes are sentences about the input, each with its place.
	Notes []string
}

// Object is one object of a manifest, not yet parsed. Several goroutines can read it.
type Object struct {
	ID ID
	// Version is the version part of apiVersion, for example v1beta1.
	Version string
	// Source is the name of the source of the object, and Line where its
	// document starts in it, counted from 1.
	Source string
	Line   int
	// GenerateName means that the cluster generates the end of the name.
	GenerateName bool

	text text
	// prefix is metadata.generateName of an object that has no name.
	prefix string
	// inherited is what an element of a typed list inherits from the list,
	// which defines apiVersion and kind for all.
	inherited identity
	// repeated is the place of a repeated key in a mapping, set when it is found.
	repeated atomic.Pointer[place]
}

// Same reports whether two objects are equal by their bytes. Comments before
// them and blank lines after them do not count.
func (o *Object) Same(p *Object) bool {
	if o.text.form != p.text.form || o.inherited != p.inherited {
		return false
	}
	if bytes.Equal(o.text.data, p.text.data) {
		return true
	}
	a, b := withoutBlankEnd(o.text.data), withoutBlankEnd(p.text.data)
	return bytes.Equal(a, b) && !keepsBlankEnd(a)
}

// withoutBlankEnd keeps one of the newlines at the end. A text without any is
// different: a block scalar then has no newline at its end either.
func withoutBlankEnd(data []byte) []byte {
	end := len(bytes.TrimRight(data, "\n"))
	return data[:min(end+1, len(data))]
}

// keepsBlankEnd reports whether the text may have a block scalar that
// includes the blank lines at the end (|+ or >+).
func keepsBlankEnd(data []byte) bool {
	for rest := data; ; {
		i := bytes.IndexByte(rest, '+')
		if i < 0 {
			return false
		}
		if i > 0 && strings.IndexByte("|>123456789", rest[i-1]) >= 0 {
			return true
		}
		rest = rest[i+1:]
	}
}

// Value parses and returns the whole object. It does not store the result. It returns an
// error if the document is no valid YAML, or is a different object than its lines indicate.
func (o *Object) Value() (raw.Value, error) {
	v, err := o.text.parseWith(func(c *converter) {
		c.repeated = func(at place) { o.repeated.Store(&at) }
	})
	if err != nil {
		return raw.Value{}, err
	}
	return o.checked(v)
}

// Note returns a note from parsing the object; empty if there is none.
func (o *Object) Note() string {
	if at := o.repeated.Load(); at != nil {
		return o.text.errorAt(*at,
			"this key is in the mapping already, and the last one counts, as it does for kubectl and Helm; remove one "+
				"of the two").Error()
	}
	return ""
}

// Size returns the size of the object's text in bytes.
func (o *Object) Size() int { return len(o.text.data) }

// NamesOutside reports whether the text of the object may contain a name other than as a key below
// the given keys, the innermost first. It checks only the lines: false is certain, true is not.
func (o *Object) NamesOutside(name string, below ...string) bool {
	data, at := o.text.data, 0
	if escapes(data) {
		return true
	}
	for {
		i := bytes.Index(data[at:], []byte(name))
		if i < 0 {
			return false
		}
		at += i
		end := at + len(name)
		longer := at > 0 && isSimple(data[at-1]) || end < len(data) && isSimple(data[end])
		if !longer && !keyBelow(data, at, below) {
			return true
		}
		at = end
	}
}

// escapes reports whether a text may spell a printable character with a backslash, or continue a
// word in the next line.
func escapes(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 || i+1 == len(data) {
			return false
		}
		if strings.IndexByte("xuU/\r\n", data[i+1]) >= 0 {
			return true
		}
		data = data[i+1:]
	}
}

// keyBelow reports whether an offset is the start of a key in block style,
// and its parent lines are those of the given keys.
func keyBelow(data []byte, at int, keys []string) bool {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	before := data[start:at]
	quote := bytes.TrimLeft(before, " ")
	if len(quote) > 1 || len(quote) == 1 && quote[0] != '"' && quote[0] != '\'' {
		return false
	}
	indent := len(before) - len(quote)
	for start > 0 && len(keys) > 0 {
		end := start - 1
		start = bytes.LastIndexByte(data[:end], '\n') + 1
		line := bytes.TrimRight(data[start:end], " \r")
		text := bytes.TrimLeft(line, " ")
		if len(text) == 0 || text[0] == '#' || len(line)-len(text) >= indent {
			continue
		}
		if string(text) != keys[0]+":" {
			return false
		}
		indent, keys = len(line)-len(text), keys[1:]
	}
	return len(keys) == 0
}

// checked completes a parsed object and checks that its identity is as expected.
func (o *Object) checked(v raw.Value) (raw.Value, error) {
	v = o.inherited.into(v)
	found := identify(v)
	group, version := found.group()
	if group == o.ID.Group && version == o.Version && found.kind == o.ID.Kind && found.namespace == o.ID.Namespace &&
		found.generate == o.prefix && (found.name == o.ID.Name || found.name == "" && o.GenerateName) {
		return v, nil
	}
	return raw.Value{},
		o.text.errorAt(place{}, "the lines of this document look like another object than they are to a YAML parser; "+
			"write apiVersion, kind and metadata as plain block mappings, each key once")
}

// CustomResources returns the objects that define custom resources.
func (s *Set) CustomResources() []*Object {
	var out []*Object
	for _, o := range s.Objects {
		if o.ID.Kind == "CustomResourceDefinition" && o.ID.Group == "apiextensions.k8s.io" {
			out = append(out, o)
		}
	}
	return out
}

// RepeatedError returns the error for an object that is in a side already, and differs.
func (o *Object) RepeatedError(first *Object) error {
	return o.text.errorAt(place{}, fmt.Sprintf("%s is already at %s, and differs; remove one of the two",
		printable(o.ID.Address()), first.Place()))
}

// Place returns where the object is: SOURCE:LINE.
func (o *Object) Place() string { return fmt.Sprintf("%s:%d", printable(o.Source), o.Line) }
