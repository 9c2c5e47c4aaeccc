package diff

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// This file groups changes that differ only in their objects, so that all
// renderers print them once.

// minSimilar is the smallest number of changes that form a group. Fewer are
// easier to read one by one.
const minSimilar = 3

// Entry is one change of a part, or several changes that differ only in their objects.
type Entry struct {
	Changes []*Change
	// one and many are the singular and plural noun for the objects.
	one, many string
}

// IsGroup reports whether the entry represents several changes.
func (e *Entry) IsGroup() bool { return len(e.Changes) > 1 }

// Title returns the address of the object, or the number of objects.
func (e *Entry) Title() string {
	if !e.IsGroup() {
		return e.Changes[0].Title()
	}
	return Plural(len(e.Changes), e.one, e.many)
}

// Headline describes what happens to the objects.
func (e *Entry) Headline(s *Section) string {
	words := s.Headline(e.Changes[0])
	if e.IsGroup() {
		words += ", the same in each"
	}
	return words
}

// Names returns the titles of the first objects, at most most of them (0: all), and the number of
// the others. Objects with a common prefix are joined, as in "shop/Deployment.apps/{api, web}".
func (e *Entry) Names(most int) (names []string, more int) {
	changes := e.Changes
	if most > 0 && len(changes) > most {
		changes, more = changes[:most], len(changes)-most
	}
	for i := 0; i < len(changes); {
		before := changes[i].beforeName()
		n := 1
		for before != "" && i+n < len(changes) && changes[i+n].beforeName() == before {
			n++
		}
		if n == 1 {
			names = append(names, changes[i].Title())
		} else {
			names = append(names, bracedNames(before, changes[i:i+n]))
		}
		i += n
	}
	return names, more
}

func bracedNames(before string, changes []*Change) string {
	text := before + "{"
	for i, c := range changes {
		if i > 0 {
			text += ", "
		}
		text += c.Name
	}
	return EscapeText(text + "}")
}

// beforeName returns the part of a Kubernetes address before the name. It is
// empty for other addresses.
func (c *Change) beforeName() string {
	n := len(c.Address) - len(c.Name)
	if c.Deposed != "" || c.Name == "" || n < 1 || c.Address[n-1] != '/' || c.Address[n:] != c.Name {
		return ""
	}
	return c.Address[:n]
}

// groupEntries sets the entries of a part and reorders its changes: a group takes
// the position of its first change.
func (s *Section) groupEntries(p *Part, one, many string) {
	type group struct {
		first       *Change
		count, from int
		next        int // the next group with the same hash, or -1
	}
	var groups []group
	heads := map[uint64]int{}
	groupOf := make([]int, len(p.Changes))
	for i, c := range p.Changes {
		groupOf[i] = -1
		if s.Name == SectionOutputs || !c.canGroup() {
			continue
		}
		key := c.contentHash()
		head, known := heads[key]
		if !known {
			head = -1
		}
		at := head
		for at >= 0 && !sameContent(groups[at].first, c) {
			at = groups[at].next
		}
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{first: c, next: head})
			heads[key] = at
		}
		groups[at].count++
		groupOf[i] = at
	}
	ordered := make([]*Change, len(p.Changes))
	p.Entries = make([]Entry, 0, len(p.Changes))
	next := 0
	for i, c := range p.Changes {
		if at := groupOf[i]; at >= 0 && groups[at].count >= minSimilar {
			g := &groups[at]
			if g.first == c {
				g.from = next
				next += g.count
				p.Entries = append(p.Entries, Entry{ordered[g.from:next:next], one, many})
			}
			ordered[g.from] = c
			g.from++
			continue
		}
		ordered[next] = c
		p.Entries = append(p.Entries, Entry{ordered[next : next+1 : next+1], one, many})
		next++
	}
	copy(p.Changes, ordered)
}

// canGroup reports whether a change may be in a group. Creates, destroys,
// moves and replacements always have their own entry.
func (c *Change) canGroup() bool {
	return c.Action == Update && c.From == "" && !c.Imported && c.Deposed == "" && len(c.Fields) > 0
}

// contentSeed belongs to one process: hashes of different processes are never compared.
var contentSeed = maphash.MakeSeed()

// contentHash returns the same hash for changes with the same content. It hashes only a part of the
// content; sameContent decides.
func (c *Change) contentHash() uint64 {
	var h maphash.Hash
	h.SetSeed(contentSeed)
	number := func(n int) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	for i := range c.Findings {
		h.WriteString(c.Findings[i].Rule)
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		for _, s := range [...]string{f.Path, f.Before.Text, f.After.Text, f.After.Tag} {
			number(len(s))
			h.WriteString(s)
		}
		number(len(f.Lines))
		for j := range f.Lines {
			h.WriteString(f.Lines[j].Text)
		}
	}
	return h.Sum64()
}

// sameContent reports whether two changes differ in nothing but their objects and the number of
// unchanged attributes.
func sameContent(a, b *Change) bool {
	return a.Action == b.Action && a.From == b.From && a.Renamed == b.Renamed && a.Hook == b.Hook &&
		a.Config == b.Config && a.Imported == b.Imported && a.ImportID == b.ImportID && a.Deposed == b.Deposed &&
		a.Order == b.Order && a.Risk == b.Risk && a.Why == b.Why &&
		slices.Equal(a.Findings, b.Findings) && slices.EqualFunc(a.Fields, b.Fields, sameField)
}

func sameField(a, b FieldChange) bool {
	return a.Path == b.Path && a.Pointer == b.Pointer && a.BeforePointer == b.BeforePointer && a.Before == b.Before &&
		a.After == b.After && a.Outline == b.Outline && a.MaskedPart == b.MaskedPart && a.MaskedCopy == b.MaskedCopy &&
		a.ForcesReplace == b.ForcesReplace && a.Reordered == b.Reordered &&
		a.Regenerated == b.Regenerated && a.Owner == b.Owner && a.Fold == b.Fold &&
		slices.Equal(a.Moved, b.Moved) && slices.Equal(a.Lines, b.Lines) &&
		(a.Element == nil) == (b.Element == nil) && (a.Element == nil || *a.Element == *b.Element)
}
