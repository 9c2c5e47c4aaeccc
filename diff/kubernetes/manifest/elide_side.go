package manifest

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// side is one of two compared texts, with what is left out of it.
type side struct {
	data   []byte
	whole  string // data as a string: the names of entries are parts of it
	blocks []block
	// marks are shared by both sides; least is the smallest number of bytes that a cut must save.
	marks *marks
	least int32
	// cuts are the parts that are left out, by the first block of each.
	cuts map[int32]cut
	// scratch holds the entries of the mappings that are being compared.
	scratch []entry
	// oldWords is set when a value is a boolean only in YAML 1.1.
	oldWords bool
}

// cut is a run of adjacent blocks, and the mark that replaces them.
type cut struct{ last, mark int32 }

// marks numbers the parts that are left out: the same text at the same column has the same mark.
type marks struct {
	seed    maphash.Seed
	numbers map[like]int32
	// names are the marks: the keys and the values that replace what is left out. They are the same for
	// every pair, and there may be more than the numbers of this one.
	names []string
	// examples are the places where the text of each mark can be found.
	examples []example
	// cuts and scratch are those of both sides.
	cuts    [2]map[int32]cut
	scratch [2][]entry
}

// spareMarks holds the marks of texts that have been read.
var spareMarks sync.Pool

func newMarks() *marks {
	if m, ok := spareMarks.Get().(*marks); ok {
		return m
	}
	return &marks{seed: maphash.MakeSeed(), numbers: map[like]int32{}, cuts: [2]map[int32]cut{{}, {}}}
}

// maxSpareCuts is how many cuts marks may have that are used again: clearing large maps for each small
// text would take longer than making small ones.
const maxSpareCuts = 1 << 13

// release makes the memory of marks available for the next texts.
func (m *marks) release() {
	if len(m.cuts[0])+len(m.cuts[1]) > maxSpareCuts {
		return
	}
	clear(m.numbers)
	clear(m.examples)
	m.examples = m.examples[:0]
	for _, cuts := range m.cuts {
		clear(cuts)
	}
	spareMarks.Put(m)
}

// example is a run of blocks of one side.
type example struct {
	side        *side
	first, last int32
}

// like identifies a text for the comparison of two texts: its hash, and its
// column, on which its meaning may also depend.
type like struct {
	sum    uint64
	column int32
}

// of returns the number of the mark of a run of blocks.
func (m *marks) of(l like, at example) int32 {
	n, found := m.numbers[l]
	if !found {
		n = int32(len(m.examples))
		m.numbers[l] = n
		m.examples = append(m.examples, at)
		if int(n) == len(m.names) {
			m.names = append(m.names, leftOutMark+markName(int(n)))
		}
	}
	return n
}

// name returns the key and the value that replace a cut.
func (m *marks) name(c cut) string { return m.names[c.mark] }

// markName returns the unique part of a mark.
func markName(n int) string { return strconv.Itoa(n) }

// children are the blocks of one level, from number first to before end.
type children struct{ first, end int32 }

func (s *side) root() children { return children{0, int32(len(s.blocks))} }

// in returns the blocks inside a block, if it has any.
func (s *side) in(i int32) (children, bool) {
	return children{i + 1, s.blocks[i].next}, s.blocks[i].is(parent)
}

// all lists the numbers of the blocks.
func (s *side) all(c children) []int32 {
	var out []int32
	for i := c.first; i < c.end; i = s.blocks[i].next {
		out = append(out, i)
	}
	return out
}

// entry is a block with its key as in JSON.
type entry struct {
	block int32
	name  string
}

// entries returns the entries of a mapping. It returns false if the blocks are no
// mapping, or a key is unusual or repeated, so that only the library can interpret it. The entries
// are valid until the caller cuts scratch off at its previous length.
func (s *side) entries(c children) ([]entry, bool) {
	start := len(s.scratch)
	for i := c.first; i < c.end; i = s.blocks[i].next {
		name, ok := s.name(i)
		if !ok {
			return nil, false
		}
		s.scratch = append(s.scratch, entry{i, name})
	}
	out := s.scratch[start:len(s.scratch):len(s.scratch)]
	return out, !twice(out)
}

// twice reports whether two entries have the same name.
func twice(entries []entry) bool {
	if len(entries) <= 16 {
		for i, e := range entries {
			for _, f := range entries[:i] {
				if e.name == f.name {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[string]struct{}, len(entries))
	for _, e := range entries {
		seen[e.name] = struct{}{}
	}
	return len(seen) < len(entries)
}

// name returns the key of an entry. It returns false if only the library can interpret it.
func (s *side) name(i int32) (string, bool) {
	b := &s.blocks[i]
	if b.is(element) {
		return "", false
	}
	key := s.whole[b.key:b.colon()]
	if quote := key[0]; quote == '"' || quote == '\'' {
		inner := key[1 : len(key)-1]
		return inner, !strings.ContainsAny(inner, "\\\"'")
	}
	key = strings.TrimRight(key, " ")
	if isLetter(key[0]) && strings.IndexByte("yYnNtTfFoO", key[0]) < 0 {
		return key, true
	}
	_, text := raw.String(plain(key))
	return key, text && !isInfinite(key)
}

// level is the kind of value that a mapping is.
type level uint8

const (
	inEntry level = iota
	// inRoot is the mapping of the whole object.
	inRoot
	// inElement is an element of a list.
	inElement
)

// stays reports whether an entry is never left out: it is on one line, or
// identifies the object or element. An element must stay identifiable by
// every key that a schema can declare, and those are scalars.
func (s *side) stays(e entry, where level) bool {
	b := &s.blocks[e.block]
	switch where {
	case inRoot:
		if e.name == "apiVersion" || e.name == "kind" || e.name == "metadata" {
			return true
		}
	case inElement:
		return !b.is(parent) || e.name == "name" || e.name == "key" || e.name == "id"
	case inEntry:
	}
	return !b.is(parent | long)
}

// text returns a block without what is before it on its line.
func (s *side) text(i int32) []byte { return s.data[s.blocks[i].key:s.end(i)] }

func (s *side) end(i int32) int32 { return endOf(s.data, s.blocks, i) }

// cut leaves out a run of adjacent blocks.
func (s *side) cut(first, last int32) {
	b, end := &s.blocks[first], s.end(last)
	if end-b.key < s.least {
		return
	}
	s.cuts[first] = cut{last, s.marks.of(like{maphash.Bytes(s.marks.seed, s.data[b.key:end]), b.column},
		example{s, first, last})}
}

// collapse leaves out as much as possible of an element that has an equal one on the other side.
func (s *side) collapse(i int32) {
	c, ok := s.in(i)
	if !ok {
		return
	}
	start := len(s.scratch)
	defer func() { s.scratch = s.scratch[:start] }()
	all, ok := s.entries(c)
	if !ok {
		return
	}
	first, last := int32(-1), int32(-1)
	for _, e := range all {
		if !s.stays(e, inElement) {
			if first < 0 {
				first = e.block
			}
			last = e.block
			continue
		}
		if first >= 0 {
			s.cut(first, last)
			first = -1
		}
	}
	if first >= 0 {
		s.cut(first, last)
	}
}
