package syntax

import "strings"

// Overlay merges another table into this one: keys of the other win, and tables that both have are
// merged recursively. The other table does not change, but its values are shared.
func (t *Table) Overlay(other *Table) {
	for name, theirs := range other.Each {
		ours := t.Get(name)
		if ours.Table() != nil && theirs.Table() != nil {
			merged := ours.Table().Clone()
			merged.Overlay(theirs.Table())
			n := *ours
			n.Value = merged
			t.set(name, &n)
			continue
		}
		t.set(name, theirs)
	}
}

// Extend appends the elements of an array in another table to the array with the same name in
// this one.
func (t *Table) Extend(other *Table, name string) {
	theirs, ok := other.Get(name).Items()
	if !ok {
		return
	}
	ours, ok := t.Get(name).Items()
	if !ok {
		if t.Get(name) == nil {
			t.add(name, other.Get(name))
		}
		return
	}
	n := *t.Get(name)
	n.Value = append(append([]*Node(nil), ours...), theirs...)
	t.set(name, &n)
}

// Without returns the table without a key.
func (t *Table) Without(name string) *Table {
	result := &Table{At: t.At}
	for other, n := range t.Each {
		if other != name {
			result.add(other, n)
		}
	}
	return result
}

// Only returns a table with those of the named keys that exist.
func (t *Table) Only(names ...string) *Table {
	result := &Table{At: t.At}
	for _, name := range names {
		if n := t.Get(name); n != nil {
			result.add(name, n)
		}
	}
	return result
}

// Substitute replaces {{.KEY}} in all strings below the table with vars[KEY]. It ignores other
// expressions, and does not substitute in the inserted values. If the texts together would be
// longer than limit bytes, it returns the position and false.
func (t *Table) Substitute(vars map[string]string, limit int) (Position, bool) {
	return t.substitute(vars, &limit)
}

func (t *Table) substitute(vars map[string]string, remaining *int) (Position, bool) {
	for _, n := range t.Each {
		if at, ok := n.substitute(vars, remaining); !ok {
			return at, false
		}
	}
	return Position{}, true
}

func (n *Node) substitute(vars map[string]string, remaining *int) (Position, bool) {
	switch value := n.Value.(type) {
	case *Table:
		return value.substitute(vars, remaining)
	case []*Node:
		for _, item := range value {
			if at, ok := item.substitute(vars, remaining); !ok {
				return at, false
			}
		}
	case string:
		text, edits, ok := substituteVars(value, vars, *remaining)
		if *remaining -= len(text); !ok || *remaining < 0 {
			return n.At, false
		}
		n.Value, n.edits = text, edits
	}
	return Position{}, true
}

// substituteVars returns a text with {{.KEY}} replaced by the values.
func substituteVars(text string, vars map[string]string, limit int) (string, []edit, bool) {
	var b strings.Builder
	var edits []edit
	rest := text
	for {
		start := strings.Index(rest, "{{")
		if start < 0 {
			break
		}
		end := strings.Index(rest[start:], "}}")
		if end < 0 {
			break
		}
		end += start + len("}}")
		value, known := vars[strings.TrimPrefix(strings.TrimSpace(rest[start+2:end-2]), ".")]
		if !known || !strings.HasPrefix(strings.TrimSpace(rest[start+2:end-2]), ".") {
			b.WriteString(rest[:start+2])
			rest = rest[start+2:]
			continue
		}
		b.WriteString(rest[:start])
		grown := len(value) - (end - start)
		if edits != nil {
			grown += edits[len(edits)-1].grown
		}
		edits = append(edits, edit{b.Len(), len(value), end - start, grown})
		b.WriteString(value)
		rest = rest[end:]
		if b.Len() > limit {
			return "", nil, false
		}
	}
	if edits == nil {
		return text, nil, true
	}
	b.WriteString(rest)
	return b.String(), edits, true
}

// Rename renames a key. If the new name already exists, the old key is dropped.
func (t *Table) Rename(old, name string) {
	taken := t.Get(name) != nil
	entries := t.entries
	t.entries, t.index = make([]entry, 0, len(entries)), nil
	for _, e := range entries {
		if e.name == old {
			if taken {
				continue
			}
			e.name = name
		}
		t.add(e.name, e.node)
	}
}

// Clone returns a shallow copy: another table with the same values.
func (t *Table) Clone() *Table {
	clone := &Table{At: t.At, entries: make([]entry, 0, len(t.entries))}
	for name, n := range t.Each {
		clone.add(name, n)
	}
	return clone
}

// With returns the table with one more key.
func (t *Table) With(name string, n *Node) *Table {
	result := t.Clone()
	result.set(name, n)
	return result
}
