package manifest

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// fill returns two values with what was left out of them. It returns false if the left-out text
// cannot be parsed.
func (p *pairing) fill(before, after raw.Value) (b, a raw.Value, ok bool) {
	blocks, ok := p.marks.parse()
	if !ok {
		return b, a, false
	}
	f := filler{blocks: map[string]raw.Value{}}
	for n, block := range blocks {
		f.blocks[p.marks.names[n]] = block
	}
	b, _ = f.value(before)
	a, _ = f.value(after)
	return b, a, !f.failed
}

// parse parses the text of each mark, a mapping.
func (m *marks) parse() (values []raw.Value, ok bool) {
	for _, e := range m.examples {
		uncut := *e.side
		uncut.cuts = nil
		v, ok := uncut.value(children{e.first, e.side.blocks[e.last].next}, 1)
		if !ok || !v.IsObject() {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// filler replaces marks with the blocks that were left out.
type filler struct {
	blocks map[string]raw.Value
	failed bool
}

// value returns a value in which the marks are replaced, and whether it had any.
func (f *filler) value(v raw.Value) (out raw.Value, marked bool) {
	if v.IsObject() {
		return f.object(v)
	}
	var list []raw.Value
	for i := range v.Len() {
		e, marked := f.value(v.At(i))
		if marked && list == nil {
			list = make([]raw.Value, v.Len())
			for j := range i {
				list[j] = v.At(j)
			}
		}
		if list != nil {
			list[i] = e
		}
	}
	if list == nil {
		return v, false
	}
	return raw.OfList(list), true
}

func (f *filler) object(v raw.Value) (out raw.Value, marked bool) {
	var filled []raw.Field
	for i, e := range v.Fields() {
		entries := []raw.Field{e}
		replaced := false
		if mark, ok := raw.String(e.Value); ok && strings.HasPrefix(mark, leftOutMark) {
			entries, replaced = f.entries(e.Key, mark), true
		} else {
			entries[0].Value, replaced = f.value(e.Value)
		}
		if replaced && !marked {
			filled, marked = append(filled, v.Fields()[:i]...), true
		}
		if marked {
			filled = append(filled, entries...)
		}
	}
	if !marked {
		return v, false
	}
	out, ok := raw.OfObject(filled)
	f.failed = f.failed || !ok
	return out, true
}

// entries returns what a mark at a key replaces: a run of entries, or the value of that key.
func (f *filler) entries(key, mark string) []raw.Field {
	block, found := f.blocks[mark]
	if found && key == mark {
		return block.Fields()
	}
	value, found := block.Get(key)
	f.failed = f.failed || !found
	return []raw.Field{{Key: key, Value: value}}
}
