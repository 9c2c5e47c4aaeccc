package manifest

import (
	"hash/maphash"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// leftOutTag is the YAML tag of what stands for blocks that were left out. Texts with tags of their own are parsed whole.
	leftOutTag = "!e"
	// leftOutMark begins the string that stands for blocks. No other string of a manifest can begin so: it is not UTF-8.
	leftOutMark = "\xffleft out "
	// pairFrom is the size from which on equal blocks are left out, and pairLeast how many bytes they must have.
	pairFrom  = 512
	pairLeast = 64
)

// Pair parses two versions of an object. Blocks that are equal in both may be left out; partial says so. What
// stands for blocks is equal exactly where the blocks are, so the differences are those of the whole values, unless Elided says of one
// side of a difference that something was left out of it: then only Value has the whole. A value that is written on one line is never
// left out, and neither is anything of a Secret or of an object's metadata. Blocks that are left out are not checked by the parser.
func Pair(before, after *Object) (b, a raw.Value, partial bool, err error) {
	if left, ok := leaveOut(before, after, pairFrom, pairLeast); ok {
		b, err = before.partial(left[0])
		if err == nil {
			a, err = after.partial(left[1])
		}
		if err == nil {
			return b, a, true, nil
		}
		// The places in the error are those of a shortened text, if it is not the shortening that is at fault: parse the whole.
	}
	if b, err = before.Value(); err != nil {
		return raw.Value{}, raw.Value{}, false, err
	}
	if a, err = after.Value(); err != nil {
		return raw.Value{}, raw.Value{}, false, err
	}
	return b, a, false, nil
}

// partial parses a text from which blocks of the object were left out.
func (o *Object) partial(data []byte) (raw.Value, error) {
	t := o.text
	t.data = data
	v, err := t.parseWith(func(c *converter) { c.leftOut = true })
	if err != nil {
		return raw.Value{}, err
	}
	return o.checked(v)
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

// leaveOut writes both texts of an object without the blocks that are equal in both. False: they must be parsed whole.
func leaveOut(before, after *Object, from int, least int32) (texts [2][]byte, ok bool) {
	a, b := before.text, after.text
	if len(a.data) < from || len(b.data) < from || a.form != yamlForm || b.form != yamlForm || before.ID.Kind == "Secret" || after.ID.Kind == "Secret" {
		return texts, false
	}
	var p pairing
	shared := &marks{seed: maphash.MakeSeed(), numbers: map[like]int{}}
	for i, data := range [][]byte{a.data, b.data} {
		blocks, ok := outline(data)
		if !ok || len(blocks) == 0 {
			return texts, false
		}
		p.sides[i] = &side{data: data, whole: string(data), blocks: blocks, marks: shared, least: least, cuts: map[int32]cut{}}
	}
	p.inside(p.sides[0].root(), p.sides[1].root(), inRoot)
	if len(p.sides[0].cuts) == 0 && len(p.sides[1].cuts) == 0 {
		return texts, false
	}
	return [2][]byte{p.sides[0].rest(), p.sides[1].rest()}, true
}
