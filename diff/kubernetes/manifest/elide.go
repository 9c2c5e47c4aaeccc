package manifest

import (
	"hash/maphash"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// leftOutMark begins the string that stands for blocks. No other string of a manifest can begin so: it is not UTF-8.
	leftOutMark = "\xffleft out "
	// pairFrom is the size from which on equal blocks are left out, and pairLeast how many bytes they must have.
	pairFrom  = 512
	pairLeast = 64
)

// Pair parses two versions of an object. Blocks that are equal in both may be left out; partial says so. What stands for blocks is equal
// exactly where the blocks are, so the differences are those of the whole values, unless Elided says of one side of a difference that
// something was left out of it: then Whole has all of it. A value that is written on one line is never left out, and neither is anything
// of a Secret, of metadata, or of what tells the elements of a list apart. Blocks that are left out are not checked by the parser.
func Pair(before, after *Object) (b, a raw.Value, partial bool, err error) {
	if p, ok := leaveOut(before, after, pairFrom, pairLeast); ok {
		if b, a, ok = p.parse(before, after); ok {
			return b, a, true, nil
		}
	}
	b, a, err = both(before, after)
	return b, a, false, err
}

// Whole parses two versions of an object whole, but what is equal in both only once: the values share it.
func Whole(before, after *Object) (b, a raw.Value, err error) {
	if p, ok := leaveOut(before, after, pairFrom, pairLeast); ok {
		if b, a, ok = p.parse(before, after); ok && p.fill(b, a) {
			return b, a, nil
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

// parse makes the values of what is left of both sides. False: the texts must be parsed whole.
func (p *pairing) parse(before, after *Object) (b, a raw.Value, ok bool) {
	if b, ok = p.sides[0].rest(before); !ok {
		return b, a, false
	}
	a, ok = p.sides[1].rest(after)
	return b, a, ok
}

// rest makes the value of an object without what was cut.
func (s *side) rest(o *Object) (raw.Value, bool) {
	v, ok := s.value(s.root(), 1)
	if !ok {
		return raw.Value{}, false
	}
	rest, err := o.checked(raw.Of(v))
	return rest, err == nil
}

// Elided says that a value is, or holds, what stands for blocks that Pair left out. Such a value must not be shown.
func Elided(v raw.Value) bool {
	found := false
	raw.Leaves(v, func(text string, _ bool) bool {
		found = strings.HasPrefix(text, leftOutMark)
		return !found
	})
	return found
}

// leaveOut finds the blocks of an object that are equal in both texts. False: there are none, or the texts must be parsed whole.
func leaveOut(before, after *Object, from int, least int32) (*pairing, bool) {
	a, b := before.text, after.text
	if len(a.data) < from || len(b.data) < from || a.form != yamlForm || b.form != yamlForm || before.ID.Kind == "Secret" || after.ID.Kind == "Secret" {
		return nil, false
	}
	p := &pairing{marks: &marks{seed: maphash.MakeSeed(), numbers: map[like]int{}}}
	for i, data := range [][]byte{a.data, b.data} {
		s, ok := sideOf(data)
		if !ok {
			return nil, false
		}
		s.marks, s.least, s.cuts = p.marks, least, map[int32]cut{}
		p.sides[i] = s
	}
	p.inside(p.sides[0].root(), p.sides[1].root(), inRoot)
	return p, len(p.marks.examples) > 0
}
