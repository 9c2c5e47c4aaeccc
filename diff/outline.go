package diff

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
)

// This file decides which headings are above the fields of a change and which
// fields are shown as one, so that all renderers print the same.

// A heading takes a row only if it saves more than minSaved bytes.
const (
	minSaved      = 20
	outlineIndent = 6
)

// OutlineRow is a field of a change, or a heading above fields with the part
// that their paths share.
type OutlineRow struct {
	// Field is the field's index in Change.Fields. A heading has the index of
	// the first field below it.
	Field   int32
	Heading bool
	// Skip is the length of the path that the headings above already show,
	// and End is where the part of a heading ends.
	Skip, End int32
	// Depth is the number of headings above.
	Depth int32
}

// Outline appends rows for the given fields of the change, which are indices, to rows.
func (c *Change) Outline(rows []OutlineRow, fields []int32) []OutlineRow {
	return (&outline{change: c, rows: rows}).group(fields, 0, 0, 0)
}

type outline struct {
	change *Change
	rows   []OutlineRow
}

func (o *outline) path(field int32) string { return o.change.Fields[field].Path }

// group lists fields, with headings where several share the start of their paths or are
// parts of an element that is added or removed. The headings above show the paths up to
// skip; the paths are known to be the same up to from, which is not less than skip.
func (o *outline) group(fields []int32, skip, from int, depth int32) []OutlineRow {
	for len(fields) > 0 {
		n, shared := o.run(fields, from)
		element, parts := o.element(fields, skip)
		switch {
		case parts > 0 && (n == 1 || shared >= element):
			n = parts
			o.heading(fields[0], skip, element, depth)
			o.group(fields[:n], element, element, depth+1)
		case n == 1:
			o.rows = append(o.rows, OutlineRow{Field: fields[0], Skip: int32(skip), Depth: depth})
		case (n-1)*(shared-skip) > 2*n+outlineIndent+minSaved:
			o.heading(fields[0], skip, shared, depth)
			o.group(fields[:n], shared, shared, depth+1)
		default:
			o.group(fields[:n], skip, shared, depth)
		}
		fields = fields[n:]
	}
	return o.rows
}

func (o *outline) heading(field int32, skip, end int, depth int32) {
	o.rows = append(o.rows, OutlineRow{Field: field, Heading: true, Skip: int32(skip), End: int32(end), Depth: depth})
}

// run returns how many of the next fields share more of their paths than
// from, and how much all of them share.
func (o *outline) run(fields []int32, from int) (n, shared int) {
	for n = 1; n < len(fields); n++ {
		same := SharedSteps(o.path(fields[0]), o.path(fields[n]), from)
		if same <= from {
			break
		}
		if n == 1 || same < shared {
			shared = same
		}
	}
	return n, shared
}

// element returns the length of the path of the element that the first field
// is a part of, and the number of fields in that element. It returns 0 if the
// headings above already show the element, or the field is the element itself.
func (o *outline) element(fields []int32, skip int) (length, parts int) {
	e := o.change.Fields[fields[0]].OwnElement()
	if e == nil || len(e.Path) <= skip || len(o.path(fields[0])) == len(e.Path) {
		return 0, 0
	}
	for parts < len(fields) {
		if other := o.change.Fields[fields[parts]].OwnElement(); other == nil || other.Path != e.Path ||
			other.Change != e.Change {
			break
		}
		parts++
	}
	return len(e.Path), parts
}

// OwnElement returns the element of a field if the field's path starts with the element's.
func (f *FieldChange) OwnElement() *Element {
	if f.Element == nil || !strings.HasPrefix(f.Path, f.Element.Path) {
		return nil
	}
	return f.Element
}

// RelativePath returns the part of a path that the headings above it do not show.
func RelativePath(path string, skip int) string {
	if skip == 0 || skip >= len(path) {
		return path
	}
	return strings.TrimLeft(path[skip:], ". ")
}

// minRepeated is the smallest number of elements of a list with the same
// change that are shown as one.
const minRepeated = 3

// WithoutRepeats drops fields from a list of indices that repeat an earlier one: Terraform's tags_all
// next to tags, and the same change of the same field in several elements of a list. It
// returns the remaining fields, and the words that name the dropped ones, by remaining field.
func (c *Change) WithoutRepeats(fields []int32) (stay []int32, words map[int32]string) {
	taken := map[int32]int32{} // by dropped field, the field that it repeats
	c.repeatedTags(fields, taken)
	c.repeatedElements(fields, taken)
	if len(taken) == 0 {
		return fields, nil
	}
	words, others := map[int32]string{}, map[int32][]string{}
	for _, i := range fields {
		first, ok := taken[i]
		if !ok {
			stay = append(stay, i)
			continue
		}
		others[first] = append(others[first], c.repeatPlace(first, i))
	}
	for i, places := range others {
		words[i] = "(the same in " + List(places) + ")"
	}
	return stay, words
}

// repeatPlace names where field i repeats the first: the attribute, or the element of the list.
func (c *Change) repeatPlace(first, i int32) string {
	if strings.HasPrefix(c.Fields[i].Path, tagsAll) {
		return tagsAll
	}
	path := c.Fields[i].Path
	from, to := otherSelector(c.Fields[first].Path, path)
	if _, _, several := selector(path, to); several || strings.IndexByte(path, '[') < from {
		from -= len(listOf(path, from))
	}
	return EscapeText(path[from:to])
}

// listOf returns the name of the list before a step in brackets. It is empty
// where the name occurs more than once in the path.
func listOf(path string, from int) string {
	name := path[strings.LastIndexAny(path[:from], ".] ")+1 : from]
	if name == "" || strings.Count(path, name+"[") > 1 {
		return ""
	}
	return name
}

const tagsAll = "tags_all"

// repeatedTags drops the tags_all fields of a Terraform resource that repeat tags.
func (c *Change) repeatedTags(fields []int32, taken map[int32]int32) {
	tags := map[string]int32{} // by the rest of the path after "tags"
	for _, i := range fields {
		if rest, ok := strings.CutPrefix(c.Fields[i].Path, "tags"); ok {
			tags[rest] = i
		}
	}
	for _, i := range fields {
		rest, ok := strings.CutPrefix(c.Fields[i].Path, tagsAll)
		if !ok {
			continue
		}
		if j, ok := tags[rest]; ok && sameSides(&c.Fields[i], &c.Fields[j]) {
			taken[i] = j
		}
	}
}

// repeatedElements drops the same change of the same field in several
// elements of one list, except the first.
func (c *Change) repeatedElements(fields []int32, taken map[int32]int32) {
	if len(fields) < minRepeated {
		return
	}
	byChange := map[uint64][]int32{}
	for _, i := range fields {
		f := &c.Fields[i]
		for at := 0; f.Element == nil && len(f.Lines) == 0 && !f.Reordered; {
			from, to, ok := selector(f.Path, at)
			if !ok {
				break
			}
			key := hashTexts(f.Path[:from], f.Path[to:], f.Before.Text, f.After.Text)
			byChange[key] = append(byChange[key], i)
			at = to
		}
	}
	for _, i := range fields {
		f := &c.Fields[i]
		if _, done := taken[i]; done {
			continue
		}
		for at := 0; ; {
			from, to, ok := selector(f.Path, at)
			if !ok {
				break
			}
			at = to
			if listOf(f.Path, from) == "" {
				continue
			}
			var others []int32
			for _, j := range byChange[hashTexts(f.Path[:from], f.Path[to:], f.Before.Text, f.After.Text)] {
				other := &c.Fields[j]
				start, end := otherSelector(f.Path, other.Path)
				if _, done := taken[j]; j > i && !done && start == from && sameSides(f, other) && other.Path[end:] == f.Path[to:] {
					others = append(others, j)
				}
			}
			if len(others)+1 >= minRepeated {
				for _, j := range others {
					taken[j] = i
				}
				break
			}
		}
	}
}

func hashTexts(texts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(contentSeed)
	for _, s := range texts {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.WriteString(s)
	}
	return h.Sum64()
}

// sameSides reports whether two fields have the same change in different places.
func sameSides(a, b *FieldChange) bool {
	return a.Before == b.Before && a.After == b.After && a.Outline == b.Outline && a.MaskedPart == b.MaskedPart &&
		a.ForcesReplace == b.ForcesReplace && a.Regenerated == b.Regenerated && a.Owner == b.Owner && a.Fold == b.Fold &&
		a.Reordered == b.Reordered && a.Element == nil && b.Element == nil &&
		slices.Equal(a.Moved, b.Moved) && slices.Equal(a.Lines, b.Lines)
}

// selector returns the position of the next step in brackets, from a byte
// that is outside of brackets.
func selector(path string, from int) (start, end int, ok bool) {
	quoted := false
	for i := from; i < len(path); i++ {
		switch {
		case path[i] == '\\' && quoted:
			i++
		case path[i] == '"':
			quoted = !quoted
		case quoted:
		case path[i] == '[':
			start, ok = i, true
		case path[i] == ']' && ok:
			return start, i + 1, true
		}
	}
	return 0, 0, false
}

// otherSelector returns the position in path of the first step in brackets
// that differs from the one in first.
func otherSelector(first, path string) (from, to int) {
	for at := 0; ; at = to {
		var ok bool
		if from, to, ok = selector(path, at); !ok {
			return 0, len(path)
		}
		if f, t, found := selector(first, at); !found || f != from || first[f:t] != path[from:to] {
			return from, to
		}
	}
}
