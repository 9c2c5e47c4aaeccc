// Package table holds the form in which the types of the Kubernetes API lie in the binary.
//
// It owns the form alone: the generator writes it, package schema reads it and gives it a meaning.
//
// The form is text, deflated. Lines end with \n, what stands in a line is parted by spaces; none of the names can hold one.
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
// The first word of a type is its shape and, for a definition of the published documents, its name. What follows depends on the shape:
// o and p fields (p keeps unknown ones), m the values' type, l the kind of list (a, s, m or -), the elements' type and the keys, r the type
// that is meant; s, i, f, b and a may name a format, or omitempty.
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

// OmitEmpty stands in the place of a plain scalar's format when its zero value is written by leaving it out: "", 0 and false are then the
// same as nothing.
const OmitEmpty = "omitempty"

// What a damaged or hostile table may claim, far above what Kubernetes has.
const (
	maxTypes = 100_000
	maxBytes = 16 << 20
)

// Table is everything that is known of the API's types.
type Table struct {
	// Kubernetes is the release whose published documents the table is made of: v1.36.3.
	Kubernetes string
	Types      []Type
	Kinds      []Kind
}

// Type is one type. Which fields hold something depends on its Shape.
type Type struct {
	// Shape is o (object), p (object that keeps unknown fields), m (map), l (list), s (string), i (integer), f (number), b (boolean),
	// a (anything) or r (the type Elem again, with another default).
	Shape byte
	// Name is the last three parts of a definition's name: core.v1.PodSpec. Empty for a type without one.
	Name   string
	Fields []Field // sorted by name
	// Elem is the type of the elements of l, of the values of m, or the type that r means.
	Elem int
	// List is a (atomic), s (set), m (map) or - (not said).
	List   byte
	Keys   []string
	Format string
	// Default is the default as JSON; empty when there is none.
	Default string
}

// Field is a field of an object and the number of its type.
type Field struct {
	Name string
	Type int
}

// Kind is what the server serves, and the number of its type.
type Kind struct {
	Group, Version, Kind string
	Namespaced           bool
	Type                 int
}

// Write writes the table. Equal tables give equal bytes.
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

// Read reads what Write wrote.
func Read(data []byte) (*Table, error) {
	z := flate.NewReader(bytes.NewReader(data))
	text, err := io.ReadAll(io.LimitReader(z, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("inflate the schema table: %w", err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the schema table is larger than %d bytes: generate it anew", maxBytes)
	}
	r := reader{rest: string(text)}
	t, err := r.table()
	if err != nil {
		return nil, fmt.Errorf("schema table, line %d: %w: generate it anew", r.line, err)
	}
	return t, nil
}
