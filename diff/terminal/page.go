package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

const (
	minWidth = 40
	// maxColumn is how far a name pushes what stands beside it to the right.
	maxColumn = 48
	indent    = "      "
)

// PageOptions say how a page begins. The zero value folds, and puts before above after.
type PageOptions struct {
	// All unfolds every change, and what changes only in folded fields.
	All bool
	// Side puts before and after side by side where there is room for it: see Page.SetSide.
	Side bool
	// Hint says how to see what is folded as a whole, for example "--show-all lists them". Empty says nothing.
	Hint string
}

// Page is a report as logical lines: a headline, a field, one line of a text. A line is laid out in rows only when it is asked for,
// so opening a report of any size takes next to no time, and so does drawing a screen of it. The changes of all lists are numbered
// from 0, in the order in which they stand on the page; those that are the same but for their objects are one, and what changes only in
// folded fields is the last, as one change for each rule. It is not for use by several goroutines at once.
type Page struct {
	report  *diff.Report
	hint    string
	side    bool
	lists   []list
	noises  []diff.Noise
	lines   []line
	changes []entry
	// others are what fields say of other places with the same change.
	others []string
	// shown are the fields of a change, and outline their rows, while its lines are listed.
	shown   []int32
	outline []diff.OutlineRow
}

// list is a section with how wide the titles of its changes are.
type list struct {
	diff.Section
	column int
}

// entry is a change on the page, several that are the same, or all that changes only in what one rule folds.
type entry struct {
	diff.Entry
	noise    string // says what the rule folds
	list     int    // of lists; not for noise
	unfolded bool
	head     int // its first line
}

// line says what a logical line shows. Change is a number in its list, or noChange outside of all; item is the number of the change
// among those of its entry; field is one of the change's, part one of the field's, and end the one behind the last part of a stretch.
type line struct {
	kind                           kind
	change, item, field, part, end int32
	// skip is how much of the field's path the headings above say, depth how many there are, and column how wide the names beside it are.
	skip, depth, column int32
	// also is the number of the page's others that belongs to the field, from 1; 0 is none.
	also int32
}

const noChange = -1

type kind uint8

const (
	lineBlank kind = iota
	lineSummary
	lineNote   // part is its number
	lineTitle  // part is the list
	linePart   // part is the list, and end the number of the list's part
	lineCheck  // part is the list, and end the number of the check
	lineSame   // what happens to several objects
	lineNames  // of these objects
	lineHead   // of a change
	lineRemark // part is its number
	lineField  // on one row, or a row for each side
	lineGroup  // what the paths of fields below share, from skip to end
	lineName   // of a field whose text stands below
	lineText   // part of such a field
	lineStretch
	lineRest   // of the lines of such a field, from part on
	lineQuiet  // fields that are known after apply
	lineFolded // fields of what goes
	lineFolds  // fields that rules fold
	lineNoise  // what changes only in folded fields
)

// NewPage makes a page of a report, which must not change any more.
func NewPage(r *diff.Report, o PageOptions) *Page {
	p := &Page{report: r, hint: diff.Neutral(o.Hint), side: o.Side, noises: r.Noises()}
	for i, s := range r.Sections() {
		l := list{Section: s}
		for _, part := range s.Parts {
			for _, e := range part.Entries {
				l.column = min(max(l.column, Columns(titleOf(&s, &e))), maxColumn)
				p.changes = append(p.changes, entry{Entry: e, list: i, unfolded: o.All || s.Name == diff.SectionOutputs})
			}
		}
		for _, c := range s.Checks {
			l.column = min(max(l.column, Columns(c.Title())), maxColumn)
		}
		p.lists = append(p.lists, l)
	}
	for _, n := range p.noises {
		p.changes = append(p.changes, entry{Entry: diff.Entry{Changes: n.Changes}, noise: n.Words, unfolded: o.All})
	}
	p.build()
	return p
}

func titleOf(s *diff.Section, e *diff.Entry) string {
	if e.Same() {
		return e.Title()
	}
	return title(s, e.Changes[0])
}

func title(s *diff.Section, c *diff.Change) string {
	if s.Name == diff.SectionOutputs {
		return "output " + diff.Neutral(c.Name)
	}
	return c.Title()
}

// SetSide puts before and after of fields and texts side by side, or below one another again. Lines have other numbers then. It needs
// 100 columns: below that, and without a bound, a page shows them below one another all the same.
func (p *Page) SetSide(side bool) {
	if p.side != side {
		p.side = side
		p.build()
	}
}

// Side says that before and after stand side by side.
func (p *Page) Side() bool { return p.side }

// Len is the number of lines.
func (p *Page) Len() int { return len(p.lines) }

// Changes is the number of changes of all lists; what changes only in what one rule folds counts as one.
func (p *Page) Changes() int { return len(p.changes) }

// Head is the line at which a change begins.
func (p *Page) Head(change int) int { return p.changes[change].head }

// ChangeAt is the number of the change that a line belongs to, and whether it belongs to one.
func (p *Page) ChangeAt(line int) (change int, ok bool) {
	change = int(p.lines[line].change)
	return change, change != noChange
}

// Folds says that a change has something that can be folded.
func (p *Page) Folds(change int) bool {
	e := &p.changes[change]
	switch {
	case e.noise != "" || e.Same():
		return true
	case p.isOutput(e):
		return false
	}
	c := e.Changes[0]
	for i := range c.Fields {
		if f := &c.Fields[i]; goes(c) || f.Quiet(c.Action) || f.Fold != "" || f.Long() {
			return true
		}
	}
	return false
}

// Unfolded says that a change shows all that it has.
func (p *Page) Unfolded(change int) bool { return p.changes[change].unfolded }

// Unfold shows all of a change, or folds it again. Lines behind it have other numbers then.
func (p *Page) Unfold(change int, all bool) {
	p.changes[change].unfolded = all
	p.build()
}

// UnfoldAll does so with every change.
func (p *Page) UnfoldAll(all bool) {
	for i := range p.changes {
		p.changes[i].unfolded = all || p.isOutput(&p.changes[i])
	}
	p.build()
}

func (p *Page) isOutput(e *entry) bool {
	return e.noise == "" && p.lists[e.list].Name == diff.SectionOutputs
}

// changeOf is the change that a line shows something of.
func (p *Page) changeOf(l line) *diff.Change {
	return p.changes[l.change].Changes[l.item]
}

// past says that a line's change has happened already.
func (p *Page) past(l line) bool {
	e := &p.changes[l.change]
	return e.noise == "" && p.lists[e.list].Past
}

// whole says that a line's change is shown without leaving anything out. Outputs always show all their fields, but cut long values.
func (p *Page) whole(l line) bool {
	e := &p.changes[l.change]
	return e.unfolded && !p.isOutput(e)
}

// goes says that the change's object, or nuon's knowledge of it, goes; its fields say little then.
func goes(c *diff.Change) bool { return c.Action == diff.Destroy || c.Action == diff.Forget }

// plainOutput says that an output is one value, which takes one line.
func (p *Page) plainOutput(e *entry) bool {
	if !p.isOutput(e) || len(e.Changes[0].Fields) != 1 {
		return false
	}
	f := &e.Changes[0].Fields[0]
	return f.Path == "" && len(f.Lines) == 0
}

// Text is a line's text on one row, for whoever looks for something in it.
func (p *Page) Text(number int) string {
	var b strings.Builder
	for _, r := range p.Rows(number, 0) {
		b.WriteString(r.String())
	}
	return b.String()
}
