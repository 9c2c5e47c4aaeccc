package table

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// reader parses the table line by line. The names that it returns share the
// memory of the whole text, which lives as long as the table.
type reader struct {
	rest string
	line int
	// fields is the memory for the fields of one type.
	fields []Field
}

var errShort = errors.New("too few words")

func (r *reader) table(v Visitor) (*Table, error) {
	t := &Table{}
	if r.next() != magic {
		return nil, errors.New("this is no schema table")
	}
	version, ok := strings.CutPrefix(r.next(), "kubernetes ")
	if !ok {
		return nil, errors.New("no version")
	}
	t.Kubernetes = version
	types, err := r.count("types ")
	if err != nil {
		return nil, err
	}
	v.Start(types)
	for i := range types {
		one, err := r.readType(types)
		if err != nil {
			return nil, err
		}
		if err := v.Type(i, &one); err != nil {
			return nil, err
		}
	}
	return t, r.kinds(t, types)
}

func (r *reader) kinds(t *Table, types int) error {
	kinds, err := r.count("kinds ")
	if err != nil {
		return err
	}
	t.Kinds = make([]Kind, kinds)
	for i := range t.Kinds {
		if t.Kinds[i], err = readKind(r.next(), types); err != nil {
			return err
		}
	}
	if r.rest != "" {
		return errors.New("more than the table")
	}
	return nil
}

func (r *reader) next() string {
	line, rest, _ := strings.Cut(r.rest, "\n")
	r.rest = rest
	r.line++
	return line
}

func (r *reader) count(word string) (int, error) {
	text, ok := strings.CutPrefix(r.next(), word)
	if !ok {
		return 0, fmt.Errorf("no %s", strings.TrimSpace(word))
	}
	return number(text, maxTypes)
}

// number parses a number below limit, without a sign or leading zeros.
func number(text string, limit int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n >= limit || text[0] < '0' || text[0] == '0' && text != "0" {
		return 0, fmt.Errorf("a number below %d was expected", limit)
	}
	return n, nil
}

func (r *reader) readType(types int) (Type, error) {
	line, value, _ := strings.Cut(r.next(), "\t")
	head, rest, _ := strings.Cut(line, " ")
	shape, name, _ := strings.Cut(head, ":")
	if len(shape) != 1 {
		return Type{}, errors.New("a shape of one letter was expected")
	}
	t := Type{Shape: shape[0], Name: name, Default: value}
	var err error
	switch t.Shape {
	case 'o', 'p':
		t.Fields, err = r.readFields(rest, types)
	case 'm', 'r':
		t.Elem, err = number(rest, types)
	case 'l':
		err = t.readList(rest, types)
	case 's', 'i', 'f', 'b', 'a':
		t.Format = rest
	default:
		err = errors.New("no shape that is known")
	}
	return t, err
}

func (t *Type) readList(rest string, types int) error {
	words := strings.Fields(rest)
	if len(words) < 2 || len(words[0]) != 1 {
		return errShort
	}
	t.List = words[0][0]
	t.Keys = words[2:len(words):len(words)]
	if len(t.Keys) == 0 {
		t.Keys = nil
	}
	var err error
	t.Elem, err = number(words[1], types)
	return err
}

func (r *reader) readFields(rest string, types int) ([]Field, error) {
	if rest == "" {
		return nil, nil
	}
	fields := r.fields[:0]
	for rest != "" {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		name, text, _ := strings.Cut(word, ":")
		n, err := number(text, types)
		if err != nil {
			return nil, err
		}
		if len(fields) > 0 && fields[len(fields)-1].Name >= name {
			return nil, errors.New("fields out of order")
		}
		fields = append(fields, Field{Name: name, Type: n})
	}
	r.fields = fields
	return fields, nil
}

func readKind(line string, types int) (Kind, error) {
	words := strings.Fields(line)
	if len(words) != 5 {
		return Kind{}, errShort
	}
	k := Kind{Group: words[0], Version: words[1], Kind: words[2], Namespaced: words[3] == "n"}
	if k.Group == "-" {
		k.Group = ""
	}
	var err error
	k.Type, err = number(words[4], types)
	return k, err
}
