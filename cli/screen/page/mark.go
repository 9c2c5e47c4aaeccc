package page

// Mark marks the selected row or, if it is marked, unmarks it, and selects the next row. It reports
// whether the page has rows that can be marked.
func (p *Pane) Mark() bool {
	r, ok := p.Selected()
	if !ok || !p.page.Marks {
		return false
	}
	if p.marks[r.ID] {
		delete(p.marks, r.ID)
		p.marked--
	} else {
		p.mark(r.ID)
		p.marked++
	}
	p.Move(1)
	return true
}

// MarkAll marks all rows that are shown or, if all of them are marked, none. It reports whether the
// page has rows that can be marked.
func (p *Pane) MarkAll() bool {
	if len(p.rows) == 0 || !p.page.Marks {
		return false
	}
	all := p.marked == len(p.rows)
	p.Unmark()
	if !all {
		for n := range p.rows {
			p.mark(p.row(n).ID)
		}
		p.marked = len(p.rows)
	}
	return true
}

func (p *Pane) mark(id string) {
	if p.marks == nil {
		p.marks = map[string]bool{}
	}
	p.marks[id] = true
}

// Unmark unmarks all rows.
func (p *Pane) Unmark() { p.marks, p.marked = nil, 0 }

// MarkCount returns the number of marked rows that are shown.
func (p *Pane) MarkCount() int { return p.marked }

// Marked returns the marked rows that are shown: the filter leaves out the others.
func (p *Pane) Marked() []Row {
	var out []Row
	for n := 0; n < len(p.rows) && len(out) < p.marked; n++ {
		if r := p.row(n); p.marks[r.ID] {
			out = append(out, r)
		}
	}
	return out
}

// countMarks counts the marked rows again, after other rows are shown. Rows that no longer exist lose
// their mark.
func (p *Pane) countMarks() {
	p.marked = 0
	if len(p.marks) == 0 {
		return
	}
	exist := map[string]bool{}
	for _, s := range p.page.Sections {
		for i := range s.len() {
			if id := s.Rows.Row(i).ID; p.marks[id] {
				exist[id] = true
			}
		}
	}
	p.marks = exist
	for n := range p.rows {
		if p.marks[p.row(n).ID] {
			p.marked++
		}
	}
}
