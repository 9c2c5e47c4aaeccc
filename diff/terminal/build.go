package terminal

import "github.com/nuon-toolkit/nuon/diff"

// build lists the lines of the page.
func (p *Page) build() {
	p.others = p.others[:0]
	p.lines = append(p.lines[:0], line{kind: lineSummary, change: noChange})
	for i := range p.report.Notes {
		p.add(lineNote, int32(i), 0)
	}
	next := 0
	for i := range p.lists {
		l := &p.lists[i]
		p.openList(i)
		for part := range l.Parts {
			if l.Parts[part].Title != "" {
				if part > 0 {
					p.add(lineBlank, 0, 0)
				}
				p.add(linePart, int32(i), int32(part))
			}
			for range l.Parts[part].Entries {
				p.put(next)
				next++
			}
		}
		for check := range l.Checks {
			p.add(lineCheck, int32(i), int32(check))
		}
		for policy := range l.Policies {
			p.add(linePolicy, int32(i), int32(policy))
		}
	}
	if len(p.noises) > 0 {
		p.add(lineBlank, 0, 0)
	}
	for ; next < len(p.changes); next++ {
		p.putNoise(next)
	}
}

// add appends a line that belongs to no change.
func (p *Page) add(k kind, part, end int32) {
	p.lines = append(p.lines, line{kind: k, change: noChange, part: part, end: end})
}

// openList appends the title of a list.
func (p *Page) openList(i int) {
	p.add(lineBlank, 0, 0)
	if p.lists[i].Title != "" {
		p.add(lineTitle, int32(i), 0)
		p.add(lineBlank, 0, 0)
	}
}

// put appends the lines of one change, or of several equal ones: the common lines, or all lines of
// each.
func (p *Page) put(i int) {
	e := &p.changes[i]
	e.firstLine = len(p.lines)
	at := line{kind: lineHead, change: int32(i)}
	switch {
	case !e.IsGroup():
		p.lines = append(p.lines, at)
		if !p.plainOutput(e) {
			p.putInside(at, e)
		}
	case !e.unfolded:
		for _, at.kind = range [...]kind{lineSame, lineNames} {
			p.lines = append(p.lines, at)
		}
		p.putInside(at, e)
	default:
		at.kind = lineSame
		p.lines = append(p.lines, at)
		for item := range e.Changes {
			at.kind, at.item = lineHead, int32(item)
			p.lines = append(p.lines, at)
			p.putInside(at, e)
		}
	}
}

// putInside appends the lines below the headline of a change.
func (p *Page) putInside(at line, e *entry) {
	c := e.Changes[at.item]
	p.putRemarks(at, c)
	quiet, folded, folds := false, false, false
	p.shown = p.shown[:0]
	for f := range c.Fields {
		field := &c.Fields[f]
		switch {
		case e.unfolded:
			p.shown = append(p.shown, int32(f))
		case removesObject(c):
			folded = true
		case field.Fold != "":
			folds = true
		case field.OmitsLine(c.Action):
			quiet = true
		default:
			p.shown = append(p.shown, int32(f))
		}
	}
	p.putFields(at, c, e.unfolded)
	for _, more := range []struct {
		kind kind
		any  bool
	}{{lineQuiet, quiet}, {lineFolded, folded}, {lineFolds, folds}} {
		if at.kind = more.kind; more.any {
			p.lines = append(p.lines, at)
		}
	}
}

func (p *Page) putRemarks(at line, c *diff.Change) {
	at.kind = lineRemark
	for at.part = range int32(len(c.Remarks())) {
		p.lines = append(p.lines, at)
	}
}

// putNoise appends the changes in fields that one rule folds: one line, or every change with its
// fields.
func (p *Page) putNoise(i int) {
	e := &p.changes[i]
	e.firstLine = len(p.lines)
	at := line{kind: lineNoise, change: int32(i)}
	p.lines = append(p.lines, at)
	if !e.unfolded {
		return
	}
	for item, c := range e.Changes {
		at.kind, at.item = lineHead, int32(item)
		p.lines = append(p.lines, at)
		p.shown = p.shown[:0]
		for f := range c.Fields {
			p.shown = append(p.shown, int32(f))
		}
		p.putFields(at, c, true)
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
	if p.side {
		p.putStretches(at, p.linesOf(at, field))
		p.putRest(at, field)
		return
	}
	at.kind = lineText
	for at.part = range int32(len(p.linesOf(at, field))) {
		p.lines = append(p.lines, at)
	}
	p.putRest(at, field)
}

// linesOf returns the lines of a field that are shown.
func (p *Page) linesOf(at line, f *diff.FieldChange) []diff.Line {
	if p.isUnfolded(at) {
		return f.Lines
	}
	return f.Lines[:f.ScreenLines()]
}

// putRest appends the number of lines of a field that are hidden until the change is unfolded.
func (p *Page) putRest(at line, f *diff.FieldChange) {
	if at.part = int32(len(p.linesOf(at, f))); int(at.part) < len(f.Lines) {
		at.kind = lineRest
		p.lines = append(p.lines, at)
	}
}

// putStretches appends the lines of a text for the side-by-side view: a run of removed lines and
// the run of added lines that replaces it are one line of the page.
func (p *Page) putStretches(at line, lines []diff.Line) {
	at.kind = lineStretch
	for at.part = 0; int(at.part) < len(lines); at.part = at.end {
		at.end = at.part + 1
		for changes(lines, at.part) && int(at.end) < len(lines) && changes(lines, at.end) {
			at.end++
		}
		p.lines = append(p.lines, at)
	}
}

func changes(lines []diff.Line, i int32) bool {
	return lines[i].Op == diff.LineRemoved || lines[i].Op == diff.LineAdded
}
