package syntax

import "strconv"

// Position is a place in a file. Line and Column count from 1, columns and Width in bytes; Width is 0 if it is not known. The File is
// part of it because a key can come from an included file.
type Position struct {
	File                string
	Line, Column, Width int
}

// Start is the beginning of a file, for what is wrong with all of it.
func Start(file string) Position { return Position{File: file, Line: 1, Column: 1} }

// Node is one value.
type Node struct {
	// Value is a string, int64, float64, bool, *Table or []*Node; anything else is a date or a time, of a type of go-toml or time.Time,
	// which no key of the format wants.
	Value any
	// Key is where its key is written; of an element of an array, the element itself.
	Key Position
	// At is where the value is written. A table of its own header is where its name stands in the header.
	At Position

	raw   string // a string as it is written, with its quotes
	edits []edit // what was replaced in it since
	made  origin
}

// origin is how a table or an array came to be, which decides what may still be added to it: sections Table, Inline Table and Array
// of Tables of TOML 1.0.
type origin uint8

const (
	whole    origin = iota // a value: nothing is added to it any more
	implied                // a table above one with a header
	headed                 // a table with a header of its own
	dotted                 // a table that a dotted key made
	repeated               // an array of [[tables]]
)

// Table is a table in any spelling.
type Table struct {
	// At is where its name is written; the start of the file for the table that is the file.
	At Position

	entries []entry
	index   map[string]int // of entries, once there are many
}

type entry struct {
	name string
	node *Node
}

// manyEntries is the length from which on looking through the entries is slower than a map.
const manyEntries = 12

// Get gives the value of a key, or nil.
func (t *Table) Get(name string) *Node {
	if t == nil {
		return nil
	}
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return t.entries[i].node
		}
		return nil
	}
	for i := range t.entries {
		if t.entries[i].name == name {
			return t.entries[i].node
		}
	}
	return nil
}

// Len is the number of keys.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.entries)
}

// Each gives all keys with their values in the order in which they were first written.
func (t *Table) Each(yield func(name string, n *Node) bool) {
	if t == nil {
		return
	}
	for i := range t.entries {
		if !yield(t.entries[i].name, t.entries[i].node) {
			return
		}
	}
}

// Size is the number of values below the table, tables and arrays among them.
func (t *Table) Size() int {
	size := 0
	for _, n := range t.Each {
		size += n.size()
	}
	return size
}

func (n *Node) size() int {
	size := 1
	switch value := n.Value.(type) {
	case *Table:
		size += value.Size()
	case []*Node:
		for _, item := range value {
			size += item.size()
		}
	}
	return size
}

// Names gives all keys in the order in which they were first written.
func (t *Table) Names() []string {
	names := make([]string, 0, t.Len())
	for name := range t.Each {
		names = append(names, name)
	}
	return names
}

// add appends a key that is not there yet.
func (t *Table) add(name string, n *Node) {
	t.entries = append(t.entries, entry{name, n})
	switch {
	case t.index != nil:
		t.index[name] = len(t.entries) - 1
	case len(t.entries) > manyEntries:
		t.index = make(map[string]int, 2*len(t.entries))
		for i := range t.entries {
			t.index[t.entries[i].name] = i
		}
	}
}

// set puts a value in the place of the one that a key has, or adds it.
func (t *Table) set(name string, n *Node) {
	for i := range t.entries {
		if t.entries[i].name == name {
			t.entries[i].node = n
			return
		}
	}
	t.add(name, n)
}

// Kind names what a value is, for sentences.
func (n *Node) Kind() string {
	switch n.Value.(type) {
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case bool:
		return "a bool"
	case *Table:
		return "a table"
	case []*Node:
		return "a list"
	}
	return "a date or time"
}

// Text gives a scalar as it is rendered later: a number or a bool may stand where a string is wanted.
func (n *Node) Text() (string, bool) {
	if n == nil {
		return "", false
	}
	switch v := n.Value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// Flag gives a bool, or the one that a string says.
func (n *Node) Flag() (value, ok bool) {
	if n == nil {
		return false, false
	}
	switch v := n.Value.(type) {
	case bool:
		return v, true
	case string:
		return v == "true", v == "true" || v == "false"
	}
	return false, false
}

// Number gives a whole number, or the one that a string says.
func (n *Node) Number() (int64, bool) {
	if n == nil {
		return 0, false
	}
	switch v := n.Value.(type) {
	case int64:
		return v, true
	case string:
		number, err := strconv.ParseInt(v, 10, 64)
		return number, err == nil
	}
	return 0, false
}

// Table gives a table, or nil.
func (n *Node) Table() *Table {
	if n == nil {
		return nil
	}
	t, _ := n.Value.(*Table)
	return t
}

// Items gives the elements of an array.
func (n *Node) Items() ([]*Node, bool) {
	if n == nil {
		return nil, false
	}
	items, ok := n.Value.([]*Node)
	return items, ok
}
