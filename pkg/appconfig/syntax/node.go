package syntax

import "strconv"

// Position is a position in a file. Line and Column count from 1, columns and Width in bytes;
// Width is 0 if it is unknown. File is part of it because a key can come from an included file.
type Position struct {
	File                string
	Line, Column, Width int
}

// Start returns the start of a file, for errors about the whole file.
func Start(file string) Position { return Position{File: file, Line: 1, Column: 1} }

// Node is one value.
type Node struct {
	// Value is a string, int64, float64, bool, *Table or []*Node; any other type is a date or a
	// time, of a type of go-toml or time.Time, which no key of the format accepts.
	Value any
	// Key is the position of the key; for an array element, that of the element itself.
	Key Position
	// At is the position of the value; for a table with its own header, that of its name in the
	// header.
	At Position

	raw    string // a string as written, with its quotes
	edits  []edit // later replacements in it
	origin origin
}

// origin is how a table or an array was declared, which decides what may be added to it: sections
// Table, Inline Table and Array of Tables of TOML 1.0.
type origin uint8

const (
	originValue   origin = iota // a value: nothing may be added
	originImplied               // a table above one with a header
	originHeader                // a table with its own header
	originDotted                // a table declared by a dotted key
	originArray                 // an array of [[tables]]
)

// Table is a table in any spelling.
type Table struct {
	// At is the position of its name; for the table of the whole file, the start of the file.
	At Position

	entries []entry
	index   map[string]int // into entries, once there are many
}

type entry struct {
	name string
	node *Node
}

// indexThreshold is the length above which a map is faster than a search of the entries.
const indexThreshold = 12

// Get returns the value of a key, or nil.
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

// Len returns the number of keys.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.entries)
}

// Each iterates over all keys and values, in the order in which the keys first occur.
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

// Size returns the number of values below the table, including tables and arrays.
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

// Names returns all keys, in the order in which they first occur.
func (t *Table) Names() []string {
	names := make([]string, 0, t.Len())
	for name := range t.Each {
		names = append(names, name)
	}
	return names
}

// add appends a key that does not exist yet.
func (t *Table) add(name string, n *Node) {
	t.entries = append(t.entries, entry{name, n})
	switch {
	case t.index != nil:
		t.index[name] = len(t.entries) - 1
	case len(t.entries) > indexThreshold:
		t.index = make(map[string]int, 2*len(t.entries))
		for i := range t.entries {
			t.index[t.entries[i].name] = i
		}
	}
}

// set replaces the value of a key, or adds it.
func (t *Table) set(name string, n *Node) {
	for i := range t.entries {
		if t.entries[i].name == name {
			t.entries[i].node = n
			return
		}
	}
	t.add(name, n)
}

// Kind returns the kind of the value, for messages.
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

// Text returns a scalar as rendered text: a number or a bool is allowed where a string is expected.
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

// Flag returns a bool, or the bool in a string.
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

// Number returns an integer, or the integer in a string.
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

// Table returns a table, or nil.
func (n *Node) Table() *Table {
	if n == nil {
		return nil
	}
	t, _ := n.Value.(*Table)
	return t
}

// Items returns the elements of an array.
func (n *Node) Items() ([]*Node, bool) {
	if n == nil {
		return nil, false
	}
	items, ok := n.Value.([]*Node)
	return items, ok
}
