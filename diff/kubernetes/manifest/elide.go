package manifest

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// leftOutMark is the prefix of the string that replaces blocks. No other
	// string of a manifest can start with it: it is not UTF-8.
	leftOutMark = "\xffleft out "
	// pairFrom is the size in bytes from which equal blocks are left out, and
	// pairLeast the smallest size of such a block.
	pairFrom  = 512
	pairLeast = 64
)

// Pair parses two versions of an object. It may leave out blocks that are equal in both,
// and then returns partial. The marks of blocks are equal exactly if the blocks are, so
// the differences are those of the whole values, unless Elided reports that something
// was left out of one side of a difference: then Whole returns all of it. Pair never
// leaves out a one-line value, a part of a Secret or of metadata, or anything that
// identifies the elements of a list. The parser does not check blocks that are left out.
func Pair(before, after *Object) (b, a raw.Value, partial bool, err error) {
	p, ok := leaveOut(before, after, pairFrom, pairLeast)
	defer p.release()
	if ok {
		if b, a, ok = p.parse(before, after); ok {
			return b, a, true, nil
		}
	}
	b, a, err = both(before, after)
	return b, a, false, err
}

// Whole parses two versions of an object completely. It parses equal parts
// only once, and the values share them.
func Whole(before, after *Object) (b, a raw.Value, err error) {
	p, ok := leaveOut(before, after, pairFrom, pairLeast)
	defer p.release()
	if ok {
		if b, a, ok = p.parse(before, after); ok {
			if b, a, ok = p.fill(b, a); ok {
				return b, a, nil
			}
		}
	}
	return both(before, after)
}

func both(before, after *Object) (b, a raw.Value, err error) {
	if b, err = before.Value(); err != nil {
		return raw.Value{}, raw.Value{}, err
	}
	if a, err = after.Value(); err != nil {
		return raw.Value{}, raw.Value{}, err
	}
	return b, a, nil
}

// parse parses what remains of both sides. It returns false if the texts must be parsed whole.
func (p *pairing) parse(before, after *Object) (b, a raw.Value, ok bool) {
	if b, ok = p.sides[0].rest(before); !ok {
		return b, a, false
	}
	a, ok = p.sides[1].rest(after)
	return b, a, ok
}

// rest returns the value of an object without what was cut.
func (s *side) rest(o *Object) (raw.Value, bool) {
	v, ok := s.value(s.root(), 1)
	if !ok {
		return raw.Value{}, false
	}
	rest, err := o.checked(v)
	return rest, err == nil
}

// Elided reports whether a value is or contains a mark of blocks that Pair
// left out. Such a value must not be shown.
func Elided(v raw.Value) bool {
	found := false
	raw.Leaves(v, func(text string, _ bool) bool {
		found = strings.HasPrefix(text, leftOutMark)
		return !found
	})
	return found
}

// release makes the memory of both sides available for the next texts.
func (p *pairing) release() {
	if p == nil {
		return
	}
	for i, s := range p.sides {
		if s != nil {
			p.marks.scratch[i] = s.scratch[:0]
			s.release()
		}
	}
	p.marks.release()
}

// leaveOut finds the blocks of an object that are equal in both texts. It
// returns false if there are none, or the texts must be parsed whole.
func leaveOut(before, after *Object, from int, least int32) (*pairing, bool) {
	a, b := before.text, after.text
	if len(a.data) < from || len(b.data) < from || a.form != yamlForm || b.form != yamlForm ||
		before.ID.Kind == "Secret" || after.ID.Kind == "Secret" {
		return nil, false
	}
	p := &pairing{marks: newMarks()}
	for i, data := range [][]byte{a.data, b.data} {
		s, ok := sideOf(data)
		if !ok {
			return p, false
		}
		s.marks, s.least, s.cuts, s.scratch = p.marks, least, p.marks.cuts[i], p.marks.scratch[i]
		p.sides[i] = s
	}
	p.inside(p.sides[0].root(), p.sides[1].root(), inRoot)
	return p, len(p.marks.examples) > 0
}
