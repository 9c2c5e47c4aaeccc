package review

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// document is the content of a pane: its own lines, followed by the
// page of a report, if any. Lines are laid out on demand.
type document struct {
	preface []paragraph
	page    *terminal.Page
	width   int
}

type paragraph struct {
	prefix string
	spans  []terminal.Span
}

func (d *document) len() int {
	if d.page == nil {
		return len(d.preface)
	}
	return len(d.preface) + d.page.Len()
}

func (d *document) rows(line int) []terminal.Row {
	if line < len(d.preface) {
		p := d.preface[line]
		return terminal.WrapTo(d.width, p.prefix, len(p.prefix), p.spans...)
	}
	return d.page.Rows(line-len(d.preface), d.width)
}

func (d *document) text(line int) string {
	if line >= len(d.preface) {
		return d.page.Text(line - len(d.preface))
	}
	var b strings.Builder
	for _, s := range d.preface[line].spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (d *document) changeAt(line int) (int, bool) {
	if line < len(d.preface) {
		return 0, false
	}
	return d.page.ChangeAt(line - len(d.preface))
}

func (d *document) changes() int {
	if d.page == nil {
		return 0
	}
	return d.page.Changes()
}

func (d *document) head(change int) int { return len(d.preface) + d.page.Head(change) }

// place is a position in a document: a line, and a row within that line when it is wrapped.
type place struct{ line, row int }

func (p place) after(q place) bool { return p.line > q.line || p.line == q.line && p.row > q.row }

// scroller is a window on a document. A move costs no more than the lines that it passes and shows.
type scroller struct {
	document
	top    place // the first visible row
	height int
	cursor int  // the selected change
	side   bool // the report's two sides are shown next to each other
}

// beside switches between the side-by-side and the stacked layout, and scrolls
// to the selected change.
func (s *scroller) beside(side bool) {
	if s.page == nil || s.side == side {
		return
	}
	s.side = side
	s.page.SetSide(side)
	if s.changes() > 0 && s.top != (place{}) {
		s.top = place{s.head(s.cursor), 0}
	}
	s.settle()
}

// resize changes the size of the window and keeps the line at its top.
func (s *scroller) resize(width, height int) {
	if width != s.width {
		s.top.row = 0
	}
	s.width, s.height = width, max(height, 1)
	s.settle()
}

// placed is a row with the number of its line.
type placed struct {
	terminal.Row
	line int
}

// visible returns the rows in the window.
func (s *scroller) visible() []placed {
	out := make([]placed, 0, s.height)
	for line, skip := s.top.line, s.top.row; line < s.len() && len(out) < s.height; line, skip = line+1, 0 {
		rows := s.rows(line)
		for _, r := range rows[min(skip, len(rows)):] {
			if len(out) < s.height {
				out = append(out, placed{r, line})
			}
		}
	}
	return out
}

// lastTop returns the top position at which the last row of the document is
// the last row of the window.
func (s *scroller) lastTop() place {
	room := s.height
	for line := s.len() - 1; line >= 0; line-- {
		n := len(s.rows(line))
		if n >= room {
			return place{line, n - room}
		}
		room -= n
	}
	return place{}
}

// settle moves the window up if it extends beyond the end of the document.
func (s *scroller) settle() {
	if last := s.lastTop(); s.top.after(last) {
		s.top = last
	}
}

// move scrolls down by rows, or up if rows is negative.
func (s *scroller) move(rows int) {
	for ; rows > 0 && s.down(); rows-- {
	}
	for ; rows < 0 && s.up(); rows++ {
	}
	s.settle()
	s.follow()
}

// down scrolls one row down. It returns false at the end.
func (s *scroller) down() bool {
	switch {
	case s.top.row+1 < len(s.rows(s.top.line)):
		s.top.row++
	case s.top.line+1 < s.len():
		s.top = place{s.top.line + 1, 0}
	default:
		return false
	}
	return true
}

// up scrolls one row up. It returns false at the top.
func (s *scroller) up() bool {
	switch {
	case s.top.row > 0:
		s.top.row--
	case s.top.line > 0:
		s.top.line--
		s.top.row = len(s.rows(s.top.line)) - 1
	default:
		return false
	}
	return true
}

func (s *scroller) home() { s.top, s.cursor = place{}, 0 }

func (s *scroller) end() {
	s.top = s.lastTop()
	s.cursor = max(s.changes()-1, 0)
	s.follow()
}

// follow selects a visible change if the selected one is not visible.
func (s *scroller) follow() {
	first := -1
	for _, r := range s.visible() {
		change, ok := s.changeAt(r.line)
		switch {
		case !ok:
			continue
		case change == s.cursor:
			return
		case first < 0 || s.head(first) < s.top.line && s.head(change) >= s.top.line:
			first = change // prefer one that starts in the window
		}
	}
	if first >= 0 {
		s.cursor = first
	}
}

// step selects the next change, or with a negative by the previous one.
func (s *scroller) step(by int) (moved bool) {
	to := s.cursor + by
	if to < 0 || to >= s.changes() {
		return false
	}
	s.cursor = to
	s.reveal(to)
	return true
}

// reveal scrolls so that a change is visible from its first line on, as far as
// it fits. A change that is already fully visible does not scroll.
func (s *scroller) reveal(change int) {
	head, rows := s.head(change), 0
	seen := s.visible()
	for line := head; line < s.len() && rows <= s.height; line++ {
		if c, ok := s.changeAt(line); !ok || c != change {
			break
		}
		rows += len(s.rows(line))
	}
	for i, r := range seen {
		if r.line == head && i+rows <= len(seen) && (i > 0 || s.top.row == 0) {
			return
		}
	}
	s.top = place{head, 0}
	s.settle()
}

// fold toggles the folding of the selected change, or of all changes. It reports whether
// anything is foldable.
func (s *scroller) fold(all bool) bool {
	if s.changes() == 0 || !all && !s.page.Folds(s.cursor) {
		return false
	}
	open := !s.page.Unfolded(s.cursor)
	if all {
		s.page.UnfoldAll(open)
	} else {
		s.page.Unfold(s.cursor, open)
	}
	if head := s.head(s.cursor); all || s.top.line > head {
		s.top = place{head, 0}
	}
	s.settle()
	return true
}

// find searches for a text from a line on, in the direction of by and wrapping
// around, and scrolls to the match.
func (s *scroller) find(text string, from, by int) (line int, found bool) {
	n := s.len()
	m := matcher(text)
	for i := range n {
		line = ((from+by*i)%n + n) % n
		if at, _ := m.next(s.text(line)); at < 0 {
			continue
		}
		s.show(line)
		return line, true
	}
	return 0, false
}

// show scrolls so that a line is visible, with a few lines above it.
func (s *scroller) show(line int) {
	if change, ok := s.changeAt(line); ok {
		s.cursor = change
	}
	for _, r := range s.visible() {
		if r.line == line {
			return
		}
	}
	s.top = place{line, 0}
	for above := min(3, s.height/3); above > 0 && s.top.line > 0; above-- {
		s.top.line--
	}
	s.settle()
}

// share returns the scroll position as a percentage of the document's lines;
// -1 if the whole document is visible.
func (s *scroller) share() int {
	last := s.lastTop()
	switch {
	case last == place{}:
		return -1
	case !last.after(s.top):
		return 100
	}
	return min(s.top.line*100/s.len(), 99)
}

// matcher searches for a text. It ignores case unless the text contains a capital letter.
type matcher string

// next returns the byte range of the first match in s, or -1, -1.
func (m matcher) next(s string) (from, to int) {
	if m == "" {
		return -1, -1
	}
	if string(m) == lower(string(m)) {
		s = lower(s)
	}
	if from = strings.Index(s, string(m)); from < 0 {
		return -1, -1
	}
	return from, from + len(m)
}

// lower converts ASCII letters to lower case and keeps all byte offsets.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// marked applies a style to the parts of a strip that match.
func (m matcher) marked(s strip, as style) strip {
	var text strings.Builder
	for _, c := range s {
		text.WriteString(c.Text)
	}
	from, to := m.next(text.String())
	if from < 0 {
		return s
	}
	var out strip
	base, at := 0, 0 // byte offsets: start of the current search, start of the current cell
	for _, c := range s {
		for c.Text != "" {
			for from >= 0 && at >= base+to {
				base += to
				from, to = m.next(text.String()[base:])
			}
			n, st := len(c.Text), c.Style
			switch {
			case from < 0:
			case at < base+from:
				n = min(n, base+from-at)
			default:
				n, st = min(n, base+to-at), as
			}
			out = append(out, cell{c.Text[:n], st})
			c.Text, at = c.Text[n:], at+n
		}
	}
	return out
}
