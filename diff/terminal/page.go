package terminal

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

const (
	minWidth = 40
	// maxColumn is how far a name pushes what stands beside it to the right.
	maxColumn = 48
	indent    = "      "
)

// Page is a report as logical lines: a headline, a field, one line of a text. A line is laid out in rows only when it is asked for,
// so opening a report of any size takes next to no time, and so does drawing a screen of it. The changes of all lists are numbered
// from 0, in the order in which they stand on the page. It is not for use by several goroutines at once.
type Page struct {
	report  *diff.Report
	lines   []line
	changes []entry
	columns [sections]int // of the titles of each list
}

// section is a list of a report.
type section uint8

const (
	changed section = iota
	output
	drift
	deferred
	sections
)

// entry is a change on the page.
type entry struct {
	change   *diff.Change
	section  section
	unfolded bool
	head     int // its first line
	column   int // of its fields; 0 until it is needed
}

// line says what a logical line shows. Change, field and part are numbers in their lists; change is noChange outside of all.
type line struct {
	kind   kind
	change int32
	field  int32
	part   int32
}

const noChange = -1

type kind uint8

const (
	lineBlank kind = iota
	lineSummary
	lineNote   // part is its number
	lineTitle  // part is the section
	lineHead   // of a change
	lineField  // on one row, or a row for each side
	lineName   // of a field whose text stands below
	lineText   // part of such a field
	lineQuiet  // fields that are known after apply
	lineFolded // fields of what goes
)

// NewPage makes a page of a report, which must not change any more. All unfolds every change.
func NewPage(r *diff.Report, all bool) *Page {
	p := &Page{report: r}
	for s, list := range [sections][]diff.Change{changed: r.Changes, output: r.Outputs, drift: r.Drift, deferred: r.Deferred} {
		for i := range list {
			c := &list[i]
			title := c.Title()
			if section(s) == output {
				title = diff.Neutral(c.Name)
			}
			p.columns[s] = min(max(p.columns[s], Columns(title)), maxColumn)
			p.changes = append(p.changes, entry{change: c, section: section(s), unfolded: all || section(s) == output})
		}
	}
	p.build()
	return p
}

// Len is the number of lines.
func (p *Page) Len() int { return len(p.lines) }

// Changes is the number of changes, of outputs, drift and what is deferred too.
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
	e := p.changes[change]
	if e.section == output {
		return false
	}
	for i := range e.change.Fields {
		if f := &e.change.Fields[i]; goes(e.change) || f.Quiet(e.change.Action) {
			return true
		}
	}
	return false
}

// Unfolded says that a change shows all that it has.
func (p *Page) Unfolded(change int) bool { return p.changes[change].unfolded }

// Unfold shows all of a change, or folds it again. Lines behind it have other numbers then.
func (p *Page) Unfold(change int, all bool) {
	p.changes[change].unfolded, p.changes[change].column = all, 0
	p.build()
}

// UnfoldAll does so with every change.
func (p *Page) UnfoldAll(all bool) {
	for i := range p.changes {
		p.changes[i].unfolded, p.changes[i].column = all || p.changes[i].section == output, 0
	}
	p.build()
}

// goes says that the change's object, or nuon's knowledge of it, goes; its fields say little then.
func goes(c *diff.Change) bool { return c.Action == diff.Destroy || c.Action == diff.Forget }

// build lists the lines.
func (p *Page) build() {
	p.lines = append(p.lines[:0], line{kind: lineSummary, change: noChange})
	for i := range p.report.Notes {
		p.lines = append(p.lines, line{kind: lineNote, change: noChange, part: int32(i)})
	}
	last := sections
	for i := range p.changes {
		if s := p.changes[i].section; s != last {
			p.open(s)
			last = s
		}
		p.put(i)
	}
}

// open begins a list.
func (p *Page) open(s section) {
	p.lines = append(p.lines, line{change: noChange})
	if s == drift || s == deferred {
		p.lines = append(p.lines, line{kind: lineTitle, change: noChange, part: int32(s)}, line{change: noChange})
	}
}

// put lists the lines of one change.
func (p *Page) put(i int) {
	e := &p.changes[i]
	e.head = len(p.lines)
	at := line{kind: lineHead, change: int32(i)}
	p.lines = append(p.lines, at)
	if plainOutput(e) {
		return
	}
	quiet, folded := false, false
	for f := range e.change.Fields {
		field := &e.change.Fields[f]
		switch {
		case e.unfolded:
			p.putField(at, f, field)
		case goes(e.change):
			folded = true
		case field.Quiet(e.change.Action):
			quiet = true
		default:
			p.putField(at, f, field)
		}
	}
	if at.kind = lineQuiet; quiet {
		p.lines = append(p.lines, at)
	}
	if at.kind = lineFolded; folded {
		p.lines = append(p.lines, at)
	}
}

func (p *Page) putField(at line, f int, field *diff.FieldChange) {
	at.kind, at.field = lineField, int32(f)
	if len(field.Lines) == 0 {
		p.lines = append(p.lines, at)
		return
	}
	at.kind = lineName
	p.lines = append(p.lines, at)
	at.kind = lineText
	for at.part = range int32(len(field.Lines)) {
		p.lines = append(p.lines, at)
	}
}

// plainOutput says that an output is one value, which takes one line.
func plainOutput(e *entry) bool {
	fields := e.change.Fields
	return e.section == output && len(fields) == 1 && fields[0].Path == "" && len(fields[0].Lines) == 0
}

// Rows lays a line out in so many columns; 0 is no bound, and less than 40 counts as 40.
func (p *Page) Rows(number, width int) []Row {
	if width > 0 {
		width = max(width, minWidth)
	}
	l := p.lines[number]
	switch l.kind {
	case lineSummary:
		return p.summary(width)
	case lineNote:
		return Wrap(width, "  ", Span{diff.Neutral(p.report.Notes[l.part]), Warn})
	case lineTitle:
		titles := map[section]string{drift: "Changed by others since the last apply:", deferred: "Left for a later plan:"}
		return Wrap(width, "  ", Span{titles[section(l.part)], Bold})
	case lineHead:
		return p.headline(&p.changes[l.change], width)
	case lineQuiet:
		return p.quiet(&p.changes[l.change], width)
	case lineFolded:
		return Wrap(width, indent, Span{diff.Plural(len(p.changes[l.change].change.Fields), "field", "fields") + ", folded", Faint})
	case lineField, lineName, lineText:
		return p.field(l, width)
	}
	return []Row{nil}
}

// Text is a line's text on one row, for whoever looks for something in it.
func (p *Page) Text(number int) string {
	var b strings.Builder
	for _, r := range p.Rows(number, 0) {
		b.WriteString(r.String())
	}
	return b.String()
}

// summary is the counts, and what was folded.
func (p *Page) summary(width int) []Row {
	ink := Bold
	if p.report.Destructive() {
		ink = Destroy
	}
	spans := []Span{{p.report.Summary(), ink}}
	if folded := p.report.FoldedSummary(); folded != "" {
		spans = append(spans, Span{"   (" + folded + ")", Faint})
	}
	return Wrap(width, "  ", spans...)
}

// headline is a change in words; a plain output is its value, too.
func (p *Page) headline(e *entry, width int) []Row {
	c, ink, column := e.change, inkOf(e.change.Action), p.columns[e.section]
	symbol := Span{fmt.Sprintf("%3s ", c.Symbol()), ink}
	switch {
	case plainOutput(e):
		f := &c.Fields[0]
		row := []Span{symbol, {"output " + pad(diff.Neutral(c.Name), column), Bold}, {Text: "  "}}
		before, after := f.Sides(c.Action)
		if before != "" {
			row = append(row, Span{before, Before}, Span{" → ", Faint})
		}
		return Wrap(width, "", append(row, Span{after, inkAfter(c.Action, f)})...)
	case e.section == output:
		return Wrap(width, "", symbol, Span{"output " + pad(diff.Neutral(c.Name), column), Bold}, Span{"  " + c.Headline(), ink})
	}
	words := c.Headline()
	if e.section == drift {
		words = c.Happened()
	}
	return Wrap(width, "", symbol, Span{pad(c.Title(), column), Bold}, Span{"  " + words, ink})
}

func (p *Page) quiet(e *entry, width int) []Row {
	var names []string
	for i := range e.change.Fields {
		if f := &e.change.Fields[i]; f.Quiet(e.change.Action) {
			names = append(names, f.Name())
		}
	}
	return Wrap(width, indent, Span{"known after apply: " + strings.Join(names, ", "), Faint})
}

// field is one difference: on one row if it fits, on a row for each side if not, and line by line for a text of several lines.
func (p *Page) field(l line, width int) []Row {
	e := &p.changes[l.change]
	action, f := e.change.Action, &e.change.Fields[l.field]
	if l.kind == lineText {
		return textLine(&f.Lines[l.part], width)
	}
	var forces Span
	if f.ForcesReplace {
		forces = Span{"  (forces replacement)", Replace}
	}
	if l.kind == lineName {
		return Wrap(width, indent, Span{Text: f.Name()}, forces)
	}
	name := Span{Text: pad(f.Name(), e.fieldColumn())}
	before, after := f.Sides(action)
	ink := inkAfter(action, f)
	if before == "" {
		return Wrap(width, indent, name, Span{"  " + after, ink}, forces)
	}
	one := Row{name, {"  " + before, Before}, {" → ", Faint}, {after, ink}, forces}
	if width == 0 || one.Width()+len(indent) <= width {
		return Wrap(width, indent, one...)
	}
	rows := Wrap(width, indent, Span{Text: f.Name()}, forces)
	rows = append(rows, Wrap(width, indent+"  ", Span{"- " + before, Before})...)
	return append(rows, Wrap(width, indent+"  ", Span{"+ " + after, ink})...)
}

// fieldColumn is how wide the names of the fields that are shown are.
func (e *entry) fieldColumn() int {
	if e.column > 0 {
		return e.column
	}
	for i := range e.change.Fields {
		if f := &e.change.Fields[i]; e.unfolded || !f.Quiet(e.change.Action) {
			e.column = max(e.column, Columns(f.Name()))
		}
	}
	e.column = min(max(e.column, 1), maxColumn)
	return e.column
}

func textLine(l *diff.Line, width int) []Row {
	ink := Faint
	switch l.Op {
	case diff.LineAdded:
		ink = Create
	case diff.LineRemoved:
		ink = Before
	}
	return Wrap(width, indent+"  ", Span{l.Display(), ink})
}
