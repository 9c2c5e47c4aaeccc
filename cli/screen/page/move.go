package page

// settle scrolls so that the selected row is visible, with the lines above the first row.
func (p *Pane) settle() {
	if p.height == 0 {
		return
	}
	if len(p.rows) > 0 {
		at := p.rows[p.cursor]
		if p.cursor == 0 && at < p.height {
			p.top = 0
		}
		p.top = max(min(p.top, p.above(at)), at-p.height+1)
	}
	p.top = max(min(p.top, len(p.lines)-p.height), 0)
}

// above returns the first line that belongs to the row of a line: the headings above it.
func (p *Pane) above(at int) int {
	for at > 0 && (p.lines[at-1].kind == titles || p.lines[at-1].kind == heading) {
		at--
	}
	return at
}

// Move selects the row that is by rows below the selected one; without rows it scrolls.
func (p *Pane) Move(by int) {
	if len(p.rows) == 0 {
		p.top += by
	}
	p.choose(p.cursor + by)
}

// choose selects a row, or the nearest one.
func (p *Pane) choose(n int) {
	p.cursor = max(min(n, len(p.rows)-1), 0)
	p.moved, p.chosen = p.cursor < len(p.rows)-1, true
	p.settle()
}

// Page moves by the height of the window, down or up.
func (p *Pane) Page(by int) { p.Move(by * max(p.height-1, 1)) }

// Home selects the first row, and End the last one.
func (p *Pane) Home() { p.choose(0); p.top = 0; p.settle() }

// End selects the last row.
func (p *Pane) End() { p.choose(len(p.rows) - 1) }

// Section selects the first row of the next section that has rows, or with a negative by of the
// previous one.
func (p *Pane) Section(by int) {
	if len(p.rows) == 0 {
		return
	}
	of := func(n int) int { return p.lines[p.rows[n]].section }
	n := p.cursor
	for now := of(n); n >= 0 && n < len(p.rows) && of(n) == now; {
		n += by
	}
	if n < 0 || n >= len(p.rows) { // continue from the other end
		n = 0
		if by < 0 {
			n = len(p.rows) - 1
		}
	}
	for by < 0 && n > 0 && of(n-1) == of(n) {
		n--
	}
	p.choose(n)
}

// Click selects the row in a line of the window. It reports whether it was selected before.
func (p *Pane) Click(y int) (was, ok bool) {
	at := p.top + y
	for n, l := range p.rows {
		if l == at {
			was = n == p.cursor
			p.choose(n)
			return was, true
		}
	}
	return false, false
}
