// Package table defines the format in which the binary stores the types of the Kubernetes API.
//
// It owns only the format: the generator writes it, package schema reads it and interprets it.
//
// The format is text, compressed with deflate. Lines end with \n, and the items of a line are
// separated by spaces, which no name can contain.
//
//	nuon kubernetes schema 1
//	kubernetes v1.36.3
//	types 3
//	o:core.v1.Secret data:1 type:2           a type with fields and the numbers of their types
//	m 2                                      a map and the type of its values
//	s bytes                                  a scalar
//	r 2<TAB>"Opaque"                         the type 2 again, with a default (JSON)
//	kinds 1
//	- v1 Secret n 0                          group (- is the core), version, kind, n or c (namespaced or cluster), type
//
// The first word of a type is its shape and, for a definition of the published documents, its
// name. The rest depends on the shape: o and p list fields (p keeps unknown ones), m the values'
// type, l the kind of list (a, s, m or -), the elements' type and the keys, r the type that it
// refers to; s, i, f, b and a may have a format, or omitempty.
package table

import (
	"bufio"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const magic = "nuon kubernetes schema 1"

// OmitEmpty replaces the format of a plain scalar whose zero value is omitted when it is encoded:
// "", 0 and false then equal an absent value.
const OmitEmpty = "omitempty"

// Limits for a damaged or hostile table, far above what Kubernetes has.
const (
	maxTypes = 100_000
	maxBytes = 16 << 20
)

// usualRatio is how many times as large as the compressed table its text is.
const usualRatio = 5

// Table holds the types and kinds of the API.
type Table struct {
	// Kubernetes is the release from whose published documents the table is built: v1.36.3.
	Kubernetes string
	Types      []Type // Read passes them to its Visitor instead
	Kinds      []Kind
}

// Type is one type. Its Shape decides which fields are set.
type Type struct {
	// Shape is o (object), p (object that keeps unknown fields), m (map), l (list), s (string),
	// i (integer), f (number), b (boolean), a (anything) or r (the type Elem again, with another
	// default).
	Shape byte
	// Name is the last three parts of a definition's name: core.v1.PodSpec.
	// Empty for a type without one.
	Name   string
	Fields []Field // sorted by name
	// Elem is the type of the elements of l, of the values of m, or the type that r refers to.
	Elem int
	// List is a (atomic), s (set), m (map) or - (not declared).
	List   byte
	Keys   []string
	Format string
	// Default is the default as JSON; empty if there is none.
	Default string
}

// Field is a field of an object and the number of its type.
type Field struct {
	Name string
	Type int
}

// Kind is a kind that the server serves, with the number of its type.
type Kind struct {
	Group, Version, Kind string
	Namespaced           bool
	Type                 int
}

// Write writes the table. Equal tables yield equal bytes.
func Write(w io.Writer, t *Table) error {
	z, err := flate.NewWriter(w, flate.BestCompression)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(z)
	fmt.Fprintf(b, "%s\nkubernetes %s\ntypes %d\n", magic, t.Kubernetes, len(t.Types))
	for _, typ := range t.Types {
		fmt.Fprintln(b, typ.line())
	}
	fmt.Fprintf(b, "kinds %d\n", len(t.Kinds))
	for _, k := range t.Kinds {
		scope := "c"
		if k.Namespaced {
			scope = "n"
		}
		fmt.Fprintln(b, orDash(k.Group), k.Version, k.Kind, scope, k.Type)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return z.Close()
}

func (t Type) line() string {
	words := []string{string(t.Shape)}
	if t.Name != "" {
		words[0] += ":" + t.Name
	}
	switch t.Shape {
	case 'o', 'p':
		for _, f := range t.Fields {
			words = append(words, f.Name+":"+strconv.Itoa(f.Type))
		}
	case 'm', 'r':
		words = append(words, strconv.Itoa(t.Elem))
	case 'l':
		words = append(append(words, string(t.List), strconv.Itoa(t.Elem)), t.Keys...)
	default:
		if t.Format != "" {
			words = append(words, t.Format)
		}
	}
	line := strings.Join(words, " ")
	if t.Default != "" {
		line += "\t" + t.Default
	}
	return line
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Visitor gets the types of a table while it is read.
type Visitor interface {
	// Start is called once, with the number of types.
	Start(types int)
	// Type is called for each type in order. Fields is valid until the next call.
	Type(number int, t *Type) error
}

// Read parses a table that Write wrote. It passes the types on and returns the rest.
func Read(data []byte, v Visitor) (*Table, error) {
	z := flate.NewReader(bytes.NewReader(data))
	var text strings.Builder
	text.Grow(usualRatio * len(data))
	if _, err := io.Copy(&text, io.LimitReader(z, maxBytes+1)); err != nil {
		return nil, fmt.Errorf("inflate the schema table: %w", err)
	}
	if text.Len() > maxBytes {
		return nil, fmt.Errorf("the schema table is larger than %d bytes: generate it again", maxBytes)
	}
	r := reader{rest: text.String()}
	t, err := r.table(v)
	if err != nil {
		return nil, fmt.Errorf("schema table, line %d: %w: generate it again", r.line, err)
	}
	return t, nil
}
