package terminal

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

const (
	minWidth = 40
	// maxColumn bounds the width of the column of names.
	maxColumn = 48
	indent    = "      "
)

// PageOptions configures a page. The zero value folds, and shows before above after.
type PageOptions struct {
	// All unfolds every change, and the changes in folded fields only.
	All bool
	// Side shows before and after side by side where there is room: see Page.SetSide.
	Side bool
	// Hint explains how to see changes that are folded as a whole, for example "--show-all lists
	// them". Empty adds no hint.
	Hint string
}

// Page is a report as a list of logical lines: a headline, a field, one line of a text. It lays a
// line out in rows only on request, so opening a report and drawing a screen are fast for any size.
// The changes of all lists are numbered from 0, in the order of the page. Changes that differ only
// in their object count as one; changes in folded fields only come last, as one change per rule. A
// Page is not safe for concurrent use.
type Page struct {
	report  *diff.Report
	hint    string
	side    bool
	lists   []list
	noises  []diff.Noise
	lines   []line
	changes []entry
	// others holds the texts about further places with the same change as a field.
	others []string
	// shown and outline hold the fields of a change and their rows while its lines are built.
	shown   []int32
	outline []diff.OutlineRow
}

// list is a section with the width of the titles of its changes.
type list struct {
	diff.Section
	column int
}

// entry is a change on the page, several equal ones, or all changes that are only in fields that
// one rule folds.
type entry struct {
	diff.Entry
	noise     string // the text about the fold; empty for other entries
	list      int    // index in lists; unused for noise
	unfolded  bool
	firstLine int // its first line
}

// line identifies the content of a logical line. change is an index in Page.changes, or noChange;
// item is the index of the change in its entry; field is an index in the change and part one in the
// field; end is the index after the last part of a stretch. Some kinds use part and end otherwise.
type line struct {
	kind                           kind
	change, item, field, part, end int32
	// skip is the length of the field's path that the headings above contain, depth the number of
	// these headings, and column the width of the neighboring names.
	skip, depth, column int32
	// more is the 1-based index in Page.others of the text for the field; 0 means none.
	more int32
}

const noChange = -1

type kind uint8

const (
	lineBlank kind = iota
	lineSummary
	lineNote   // part is its index
	lineTitle  // part is the list
	linePart   // part is the list, and end the index of the list's part
	lineCheck  // part is the list, and end the index of the check
	linePolicy // part is the list, and end the index of the policy
	lineSame   // the action on several objects
	lineNames  // their names
	lineHead   // of a change
	lineRemark // part is its index
	lineField  // on one row, or one row per side
	lineGroup  // the common path of the fields below, from skip to end
	lineName   // of a field with its text below
	lineText   // part of the text
	lineStretch
	lineRest   // hidden lines of the text, from part on
	lineQuiet  // fields that are known after apply
	lineFolded // fields of a removed object
	lineFolds  // fields that rules fold
	lineNoise  // changes in folded fields only
)

// NewPage builds a page of a report. The report must not change afterwards.
func NewPage(r *diff.Report, o PageOptions) *Page {
	p := &Page{report: r, hint: diff.EscapeText(o.Hint), side: o.Side, noises: r.Noises()}
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
		for i := range s.Policies {
			l.column = min(max(l.column, Columns(s.Policies[i].Title())), maxColumn)
		}
		p.lists = append(p.lists, l)
	}
	for _, n := range p.noises {
		p.changes = append(p.changes, entry{Entry: diff.Entry{Changes: n.Changes}, noise: n.Text, unfolded: o.All})
	}
	p.build()
	return p
}

func titleOf(s *diff.Section, e *diff.Entry) string {
	if e.IsGroup() {
		return e.Title()
	}
	return title(s, e.Changes[0])
}

func title(s *diff.Section, c *diff.Change) string {
	if s.Name == diff.SectionOutputs {
		return "output " + diff.EscapeText(c.Name)
	}
	return c.Title()
}

// SetSide turns the side-by-side view of fields and texts on or off. This renumbers the lines. The
// view needs at least 100 columns; with fewer, or without a limit, before stays above after.
func (p *Page) SetSide(side bool) {
	if p.side != side {
		p.side = side
		p.build()
	}
}

// Side reports whether the side-by-side view is on.
func (p *Page) Side() bool { return p.side }

// Len returns the number of lines.
func (p *Page) Len() int { return len(p.lines) }

// Changes returns the number of changes of all lists. All changes in fields that one rule folds
// count as one.
func (p *Page) Changes() int { return len(p.changes) }

// Head returns the first line of a change.
func (p *Page) Head(change int) int { return p.changes[change].firstLine }

// ChangeAt returns the change that a line belongs to. It returns false if there is none.
func (p *Page) ChangeAt(line int) (change int, ok bool) {
	change = int(p.lines[line].change)
	return change, change != noChange
}

// Folds reports whether a change has something that can be folded.
func (p *Page) Folds(change int) bool {
	e := &p.changes[change]
	switch {
	case e.noise != "" || e.IsGroup():
		return true
	case p.isOutput(e):
		return false
	}
	c := e.Changes[0]
	for i := range c.Fields {
		if f := &c.Fields[i]; removesObject(c) || f.OmitsLine(c.Action) || f.Fold != "" || f.IsTruncated() {
			return true
		}
	}
	return false
}

// Unfolded reports whether a change is shown in full.
func (p *Page) Unfolded(change int) bool { return p.changes[change].unfolded }

// Unfold unfolds a change, or folds it again. This renumbers the lines after it.
func (p *Page) Unfold(change int, all bool) {
	p.changes[change].unfolded = all
	p.build()
}

// UnfoldAll unfolds or folds every change.
func (p *Page) UnfoldAll(all bool) {
	for i := range p.changes {
		p.changes[i].unfolded = all || p.isOutput(&p.changes[i])
	}
	p.build()
}

func (p *Page) isOutput(e *entry) bool {
	return e.noise == "" && p.lists[e.list].Name == diff.SectionOutputs
}

// changeOf returns the change that a line belongs to.
func (p *Page) changeOf(l line) *diff.Change {
	return p.changes[l.change].Changes[l.item]
}

// isPast reports whether a line's change has already happened.
func (p *Page) isPast(l line) bool {
	e := &p.changes[l.change]
	return e.noise == "" && p.lists[e.list].Past
}

// isUnfolded reports whether a line's change is shown in full. Outputs always show all their fields, but
// with long values cut.
func (p *Page) isUnfolded(l line) bool {
	e := &p.changes[l.change]
	return e.unfolded && !p.isOutput(e)
}

// removesObject reports whether a change removes the object, or forgets it; its fields are of little
// interest.
func removesObject(c *diff.Change) bool { return c.Action == diff.Destroy || c.Action == diff.Forget }

// plainOutput reports whether an output is a single value on one line.
func (p *Page) plainOutput(e *entry) bool {
	if !p.isOutput(e) || len(e.Changes[0].Fields) != 1 {
		return false
	}
	f := &e.Changes[0].Fields[0]
	return f.Path == "" && len(f.Lines) == 0
}

// Text returns the text of a line on one row, for searching.
func (p *Page) Text(number int) string {
	var b strings.Builder
	for _, r := range p.Rows(number, 0) {
		b.WriteString(r.String())
	}
	return b.String()
}
