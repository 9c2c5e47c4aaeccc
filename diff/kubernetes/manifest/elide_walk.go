package manifest

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
)

// pairing walks two texts together. At each place that both have, it leaves out equal multi-line
// blocks and descends into unequal ones. It treats list elements as the same place if they are
// equal, have the same name, or have the same order among the others. If a comparison pairs them
// differently, it finds different marks for what was left out, which Elided reports.
type pairing struct {
	sides [2]*side
	marks *marks
}

// inside pairs the blocks in two blocks, if both are mappings or both are lists.
func (p *pairing) inside(a, b children, where level) {
	if p.sides[0].blocks[a.first].is(element) {
		if p.sides[1].blocks[b.first].is(element) {
			p.list(p.sides[0].all(a), p.sides[1].all(b))
		}
		return
	}
	starts := [2]int{len(p.sides[0].scratch), len(p.sides[1].scratch)}
	x, ok := p.sides[0].entries(a)
	y, also := p.sides[1].entries(b)
	if ok && also {
		p.mapping(x, y, where)
	}
	for i, s := range p.sides {
		s.scratch = s.scratch[:starts[i]]
	}
}

// run is a sequence of equal entries that are adjacent on both sides.
type run struct {
	first, last [2]int32
	some        bool
}

// mapping pairs entries by their keys.
func (p *pairing) mapping(a, b []entry, where level) {
	var r run
	find := finder{in: b}
	for _, x := range a {
		y, found := find.entry(x.name)
		switch {
		case !found || p.sides[0].stays(x, where):
			p.cut(&r)
		case p.equal(x.block, y.block):
			p.extend(&r, x.block, y.block)
		default:
			p.cut(&r)
			p.deeper(x.block, y.block)
		}
	}
	p.cut(&r)
}

// equal reports whether two blocks have the same text at the same column.
func (p *pairing) equal(x, y int32) bool {
	s, t := p.sides[0], p.sides[1]
	return s.blocks[x].column == t.blocks[y].column && bytes.Equal(s.text(x), t.text(y))
}

// extend adds equal entries to a run, or starts a new one.
func (p *pairing) extend(r *run, x, y int32) {
	if !r.some || p.sides[0].blocks[r.last[0]].next != x || p.sides[1].blocks[r.last[1]].next != y {
		p.cut(r)
		r.first, r.some = [2]int32{x, y}, true
	}
	r.last = [2]int32{x, y}
}

// cut leaves out a run on both sides.
func (p *pairing) cut(r *run) {
	if r.some {
		for i, s := range p.sides {
			s.cut(r.first[i], r.last[i])
		}
	}
	r.some = false
}

// deeper pairs the content of two blocks.
func (p *pairing) deeper(x, y int32) {
	if a, ok := p.sides[0].in(x); ok {
		if b, ok := p.sides[1].in(y); ok {
			where := inEntry
			if p.sides[0].blocks[x].is(element) {
				where = inElement
			}
			p.inside(a, b, where)
		}
	}
}

// finder finds entries by their keys, which are usually in the same order.
type finder struct {
	in   []entry
	next int
	// places is built if the order differs and is not that of the names.
	places map[string]int
	order  order
}

// order is what a finder found about the order of its entries.
type order uint8

const (
	unchecked order = iota
	byName
	other
)

func (f *finder) entry(name string) (entry, bool) {
	if f.next < len(f.in) && f.in[f.next].name == name {
		f.next++
		return f.in[f.next-1], true
	}
	if f.order == unchecked {
		f.order = other
		if slices.IsSortedFunc(f.in, func(a, b entry) int { return strings.Compare(a.name, b.name) }) {
			f.order = byName
		}
	}
	if f.order == byName {
		i, found := slices.BinarySearchFunc(f.in, name, func(e entry, name string) int {
			return strings.Compare(e.name, name)
		})
		if !found {
			return entry{}, false
		}
		f.next = i + 1
		return f.in[i], true
	}
	if f.places == nil {
		f.places = map[string]int{}
		for i, e := range f.in {
			f.places[e.name] = i
		}
	}
	i, found := f.places[name]
	if !found {
		return entry{}, false
	}
	f.next = i + 1
	return f.in[i], true
}

// list pairs the elements of two lists. Elements with an equal one on the
// other side are collapsed the same way at any position.
func (p *pairing) list(a, b []int32) {
	inA, inB := p.sides[0].sums(a), p.sides[1].sums(b)
	a = p.sides[0].unlike(a, inB)
	b = p.sides[1].unlike(b, inA)
	named := map[string]int32{}
	var unnamed []int32
	for _, y := range b {
		if name := p.sides[1].elementName(y); name != "" {
			named[name] = y
		} else {
			unnamed = append(unnamed, y)
		}
	}
	for _, x := range a {
		if name := p.sides[0].elementName(x); name != "" {
			if y, found := named[name]; found {
				delete(named, name)
				p.deeper(x, y)
			}
		} else if len(unnamed) > 0 {
			p.deeper(x, unnamed[0])
			unnamed = unnamed[1:]
		}
	}
}

func (s *side) like(i int32) like {
	return like{maphash.Bytes(s.marks.seed, s.text(i)), s.blocks[i].column}
}

func (s *side) sums(elements []int32) map[like]bool {
	out := make(map[like]bool, len(elements))
	for _, i := range elements {
		out[s.like(i)] = true
	}
	return out
}

// unlike returns the elements that have no equal one on the other side, and collapses the others.
func (s *side) unlike(elements []int32, other map[like]bool) []int32 {
	var out []int32
	for _, i := range elements {
		if other[s.like(i)] {
			s.collapse(i)
		} else {
			out = append(out, i)
		}
	}
	return out
}

// elementName returns the value of an element's entry "name", as written.
func (s *side) elementName(i int32) string {
	c, ok := s.in(i)
	if !ok {
		return ""
	}
	for j := c.first; j < c.end; j = s.blocks[j].next {
		b := &s.blocks[j]
		if !b.is(element|parent|long) && string(s.data[b.key:b.colon()]) == "name" {
			return string(bytes.TrimSpace(s.data[b.colon()+1 : s.end(j)]))
		}
	}
	return ""
}
