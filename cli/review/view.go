package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Sizes at which the layout changes: below the minimum the screen only reports
// its size; from wide on the queue is shown to the left of the diff.
const (
	leastWidth, leastHeight = 40, 10
	wide                    = 110
	// sideBySide is the width that a diff needs for two columns (terminal.Page.SetSide).
	// In this mode the queue moves above the diff if necessary.
	sideBySide = 100 + gutter
)

func (m *model) small() bool { return m.width < leastWidth || m.height < leastHeight }

// frame holds the sizes of the panes. Every layout has a header row, a rule
// and a footer; the rows of the sheet are above the footer.
type frame struct {
	beside      bool // the queue is to the left of the diff, not above it
	queueWidth  int
	queueHeight int
	diffWidth   int
	diffHeight  int // rows of the diff pane, including banners
	body        int // rows between the first rule and the sheet
}

func (m *model) frame() frame {
	f := frame{body: max(m.height-3-len(m.sheet()), 1)}
	f.queueWidth = min(max(m.width*28/100, 34), 52)
	if f.beside = m.width >= wide && (!m.side || m.width-f.queueWidth-1 >= sideBySide); f.beside {
		f.queueHeight, f.diffHeight, f.diffWidth = f.body, f.body, m.width-f.queueWidth-1
		return f
	}
	f.queueWidth, f.diffWidth = m.width, m.width
	f.queueHeight = max(min(max(len(m.queue.rows), 1), m.height/5, f.body-2), 1)
	f.diffHeight = max(f.body-f.queueHeight-1, 1)
	return f
}

// gutter is the number of columns to the left of a diff that mark the selected change.
const gutter = 2

// arrange sets the size of everything that scrolls. Update calls it last, so that View only draws.
func (m *model) arrange() {
	if m.small() {
		return
	}
	f := m.frame()
	m.queue.scroll(f.queueHeight)
	if at := m.queue.current(); !at.none() && at.reading().view != nil {
		v := at.reading().view
		v.beside(m.side)
		v.resize(f.diffWidth-gutter, f.diffHeight-len(m.banners(f.diffWidth)))
	}
	m.overlay.resize(m.width-2, f.body)
}

// View draws one frame.
func (m *model) View() string {
	if m.width == 0 {
		return ""
	}
	var b strings.Builder
	if m.small() {
		m.tooSmall(&b)
		return b.String()
	}
	f := m.frame()
	m.header().draw(&b, m.width, "", true)
	b.WriteByte('\n')
	switch {
	case m.mode == helping || m.mode == explaining:
		m.drawOverlay(&b, f)
	case f.beside:
		m.drawBeside(&b, f)
	default:
		m.drawAbove(&b, f)
	}
	for _, s := range m.sheet() {
		s.draw(&b, m.width, "", true)
		b.WriteByte('\n')
	}
	m.footer().draw(&b, m.width, "", true)
	return b.String()
}

// tooSmall draws the message that the terminal is too small.
func (m *model) tooSmall(b *strings.Builder) {
	text := fmt.Sprintf("terminal too small: %d×%d, needs %d×%d. Press q to quit", m.width, m.height, leastWidth,
		leastHeight)
	rows := strings.Split(ansi.Wrap(text, max(m.width, 1), ""), "\n")
	b.WriteString(strings.Join(rows[:min(len(rows), max(m.height, 1))], "\n"))
}

// header shows how many plans wait, and whether the screen is current.
func (m *model) header() strip {
	t := m.theme
	all, grave := m.queue.waiting()
	words := diff.Plural(all, "plan waiting", "plans waiting")
	if all == 0 {
		words = "no plans waiting"
	}
	left := strip{{" nuon review", t.accent}, {"   " + words, t.strong}}
	if grave > 0 {
		left = append(left, cell{fmt.Sprintf(", %d to approve by name", grave), t.bad})
	}
	right := strip{{"● ", t.good}}
	if !m.live() {
		right = strip{{"○ as of " + m.heard.Local().Format("15:04:05") + " ", t.warn}}
	}
	for _, tail := range []strip{append(strip{{m.place + " ", t.faint}}, right...), right} {
		if gap := m.width - left.width() - tail.width(); gap > 0 {
			return append(append(left, cell{strings.Repeat(" ", gap), ""}), tail...)
		}
	}
	return left
}

// footer shows the result of the last key, else the key bindings.
func (m *model) footer() strip {
	t := m.theme
	if m.note.text != "" && m.mode == reviewing && m.now.Sub(m.noted) < noteFor {
		return strip{{" " + m.note.text, m.note.style}}
	}
	var keys []key.Binding
	switch m.mode {
	case searching:
		return append(strip{{" / ", t.accent}}, m.typed.show(m.width-4)...)
	case confirming, wholly:
		return strip{{" enter", t.strong}, {" approve  ", t.faint}, {"esc", t.strong}, {" back", t.faint}}
	case stopped:
		return strip{{" enter", t.strong}, {" back", t.faint}}
	case rejecting:
		return strip{{" enter", t.strong}, {" reject  ", t.faint}, {"esc", t.strong}, {" back", t.faint}}
	case helping, explaining:
		keys = []key.Binding{m.keys.back, m.keys.down, m.keys.up, m.keys.pageDown, m.keys.pageUp}
	default:
		keys = m.keys.footer()
		switch at := m.queue.current(); {
		case at.none():
			keys = []key.Binding{m.keys.help, m.keys.quit}
		case at.several() && !at.ended():
			keys = slices.Insert(keys, 2, m.keys.members)
		case at.ended():
			keys = append([]key.Binding{m.keys.open}, keys[2:]...)
		}
	}
	s, room := strip{{" ", ""}}, m.width-1
	for _, k := range keys {
		add := strip{{k.Help().Key, t.strong}, {" " + k.Help().Desc + "  ", t.faint}}
		if room -= add.width(); room < 0 {
			break
		}
		s = append(s, add...)
	}
	return s
}

// rule draws a line with a title, and with end at its right.
func (m *model) rule(width int, title string, focused bool, end string) strip {
	t := m.theme
	st := t.strong
	if focused {
		st = t.accent
	}
	s := strip{{"── ", t.rule}, {title, st}, {" ", ""}}
	tail := strip{}
	if end != "" {
		tail = strip{{" ", ""}, {end, t.faint}, {" ──", t.rule}}
	}
	s = s.cut(max(width-tail.width(), 0))
	if gap := width - s.width() - tail.width(); gap > 0 {
		s = append(s, cell{strings.Repeat("─", gap), t.rule})
	}
	return append(s, tail...)
}

func (m *model) diffRule(width int) strip {
	at := m.queue.current()
	if at.none() {
		return m.rule(width, "diff", m.focus == onDiff, "")
	}
	end := "waiting " + ago(m.now.Sub(at.lead().approval.CreatedAt))
	if at.ended() {
		end = "ended"
	}
	if v := at.reading().view; v != nil && v.changes() > 0 {
		end += fmt.Sprintf(" · change %d of %d", v.cursor+1, v.changes())
		if share := v.share(); share >= 0 {
			end += fmt.Sprintf(" · %d%%", share)
		}
	}
	return m.rule(width, at.name(), m.focus == onDiff, end)
}

func (m *model) drawBeside(b *strings.Builder, f frame) {
	t := m.theme
	m.rule(f.queueWidth, "queue", m.focus == onQueue, "").draw(b, f.queueWidth, "", false)
	put(b, "┬", t.rule)
	m.diffRule(f.diffWidth).draw(b, f.diffWidth, "", true)
	b.WriteByte('\n')
	right := m.diffRows(f)
	for row := range f.body {
		m.queueRow(b, m.queue.top+row, f.queueWidth, false)
		put(b, "│", t.rule)
		if row < len(right) {
			right[row].draw(b, f.diffWidth, "", true)
		}
		b.WriteByte('\n')
	}
}

func (m *model) drawAbove(b *strings.Builder, f frame) {
	more := ""
	if n := len(m.queue.rows); n > f.queueHeight {
		more = fmt.Sprintf("%d of %d", m.queue.selected+1, n)
	}
	m.rule(m.width, "queue", m.focus == onQueue, more).draw(b, m.width, "", true)
	b.WriteByte('\n')
	for row := range f.queueHeight {
		m.queueRow(b, m.queue.top+row, m.width, true)
		b.WriteByte('\n')
	}
	m.diffRule(m.width).draw(b, m.width, "", true)
	b.WriteByte('\n')
	rows := m.diffRows(f)
	for row := range f.diffHeight {
		if row < len(rows) {
			rows[row].draw(b, m.width, "", true)
		}
		b.WriteByte('\n')
	}
}

// queueRow draws one row of the queue: its mark, name and counts, and how long it has waited.
func (m *model) queueRow(b *strings.Builder, n, width int, last bool) {
	t := m.theme
	if n >= len(m.queue.rows) {
		s := strip{}
		if n == 0 {
			s = strip{{"  no plans waiting", t.faint}}
		}
		s.draw(b, width, "", last)
		return
	}
	at := m.queue.rows[n]
	chosen, below := " ", style("")
	if n == m.queue.selected {
		chosen, below = "▌", t.aside
		if m.focus == onQueue {
			below = t.selected
		}
	}
	tail := append(m.counts(at), cell{fmt.Sprintf("%5s ", ago(m.now.Sub(at.lead().approval.CreatedAt))), t.faint})
	head, room := strip{{chosen, t.accent}, m.mark(at), {" ", ""}}, max(width-tail.width(), 8)
	left := append(head, m.label(at, room-head.width())...).cut(room)
	if gap := width - left.width() - tail.width(); gap > 0 {
		left = append(left, cell{strings.Repeat(" ", gap), ""})
	}
	if n == m.queue.selected && m.focus == onQueue {
		left, tail = bare(left), bare(tail)
	}
	append(left, tail...).draw(b, width, below, last)
}

// label describes a row of the queue: a plan, a group with the number of its
// installs, or a plan of an open group. It is shorter where there is little room.
func (m *model) label(at row, room int) strip {
	t, a, st := m.theme, at.lead().approval, style("")
	if at.ended() {
		st = t.faint
	}
	switch {
	case at.several():
		sign := "▸ "
		if at.group.open {
			sign = "▾ "
		}
		what := console.Line(a.App + " " + Subject(a))
		count := " · " + at.places()
		if terminal.Columns(sign+what+count) >= room {
			count = fmt.Sprintf(" ×%d", len(at.alike()))
		}
		return strip{{sign, t.accent}, {what + count, st}, {" ", ""}}
	case at.group != nil:
		return strip{{"    " + console.Line(a.App+"/"+a.Install), st}, {" ", ""}}
	}
	return strip{{console.Line(fmt.Sprintf("%s/%s %s", a.App, a.Install, Subject(a))), st}, {" ", ""}}
}

// bare removes the styles of a strip, which would be hard to read on the selected row.
func bare(s strip) strip {
	for i := range s {
		s[i].style = ""
	}
	return s
}

// mark returns the symbol for the status of a row.
func (m *model) mark(at row) cell {
	t := m.theme
	status := at.lead().approval.Status
	for _, i := range at.items() {
		if i.approval.Status != status {
			status = "" // mixed results
		}
	}
	switch {
	case at.answering():
		return cell{"…", t.warn}
	case status == api.ApprovalStatusApproved:
		return cell{"✓", t.good}
	case status == api.ApprovalStatusRejected:
		return cell{"✗", t.bad}
	case status == api.ApprovalStatusWithdrawn:
		return cell{"○", t.faint}
	case at.ended():
		return cell{"·", t.faint} // unknown or mixed result
	case at.grave():
		return cell{"!", t.bad}
	}
	return cell{" ", ""}
}

// signInks maps the actions in a row's counts to inks.
var signInks = map[diff.Action]terminal.Ink{
	diff.Create: terminal.Create, diff.Update: terminal.Update,
	diff.Replace: terminal.Replace, diff.Destroy: terminal.Destroy,
}

// counts summarizes the changes of a row in numbers, security-relevant changes first.
func (m *model) counts(at row) strip {
	i := at.lead()
	if !i.counted {
		return nil
	}
	var s strip
	if n := i.totals.Security; n > 0 {
		s = strip{{fmt.Sprintf("%d security", n), m.theme.ink[terminal.Security]}, {" ", ""}}
	}
	for _, sign := range i.totals.ActionCounts() {
		s = append(s, cell{fmt.Sprintf("%s%d ", sign.Symbol, sign.Count), m.theme.ink[signInks[sign.Action]]})
	}
	return s
}

// diffRows returns the rows of the diff pane: banners, then the visible part of the report.
func (m *model) diffRows(f frame) []strip {
	rows := m.banners(f.diffWidth)
	at := m.queue.current()
	if at.none() {
		return append(rows, m.nothing()...)
	}
	view, failed := at.reading().view, at.reading().failed
	switch {
	case view == nil && failed != nil:
		return append(rows, strip{{"  " + console.Line(firstLine(failed)), m.theme.bad}})
	case view == nil:
		return append(rows, strip{{"  loading the plan …", m.theme.faint}})
	}
	for _, r := range view.visible() {
		s := m.theme.inked(r.Row)
		if m.query != "" {
			s = m.query.marked(s, m.theme.match)
		}
		mark := cell{"  ", ""}
		if change, ok := view.changeAt(r.line); ok && change == view.cursor {
			mark = cell{"▌ ", m.theme.rule}
			if m.focus == onDiff {
				mark.style = m.theme.accent
			}
		}
		rows = append(rows, append(strip{mark}, s...))
	}
	return rows
}

// nothing returns the content when no plan waits: the installs with work in
// progress that may lead to a plan.
func (m *model) nothing() []strip {
	rows := []strip{nil,
		{{"  No plans are waiting for approval.", m.theme.strong}},
		{{"  New plans appear here when they are ready.", m.theme.faint}}, nil}
	for _, line := range m.busy {
		rows = append(rows, strip{{"  " + line, ""}})
	}
	return rows
}

// banners returns the warnings that explain why a plan cannot be answered.
func (m *model) banners(width int) []strip {
	t := m.theme
	var out []strip
	add := func(s style, text string) {
		for _, row := range terminal.WrapTo(width-1, " ", 1, terminal.Span{Text: console.Line(text)}) {
			line := row.String()
			out = append(out, strip{{line + strings.Repeat(" ", max(width-terminal.Columns(line), 0)), s}})
		}
	}
	if !m.lost.IsZero() {
		add(t.alarm, fmt.Sprintf("Control plane unreachable since %s: %s. This is the state of %s; answers are "+
			"disabled.",
			m.lost.Local().Format("15:04:05"), firstLine(m.why), m.heard.Local().Format("15:04:05")))
	} else if !m.live() {
		add(t.alarm, fmt.Sprintf("No response for %s. This is the state of %s; answers are disabled.",
			ago(m.now.Sub(m.heard)), m.heard.Local().Format("15:04:05")))
	}
	switch at := m.queue.current(); {
	case at.none():
	case at.several():
		if text := fate(at); text != "" {
			add(t.notice, text)
		}
	case at.item.ended:
		add(m.ending(at.item))
	}
	return out
}

// fate describes how the ended plans of a group ended, or "" if all plans wait.
func fate(at row) string {
	counts, names := map[string]int{}, []string{}
	for _, i := range at.items() {
		if !i.ended {
			continue
		}
		names = append(names, i.approval.Install)
		if i.settled {
			counts[string(i.approval.Status)]++
		}
	}
	if len(names) == 0 {
		return ""
	}
	var parts []string
	for _, status := range []api.ApprovalStatus{
		api.ApprovalStatusApproved, api.ApprovalStatusRejected, api.ApprovalStatusWithdrawn} {
		if n := counts[string(status)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	how := ""
	if len(parts) > 0 {
		how = " (" + strings.Join(parts, ", ") + ")"
	}
	if at.ended() {
		return "These plans are no longer waiting" + how + "."
	}
	return "No longer in the group" + how + ": " + some(names, 5) + "."
}

// ending describes how a plan ended.
func (m *model) ending(i *item) (style, string) {
	a, t := i.approval, m.theme
	when := ""
	if a.Response.Actor != "" && !a.Response.At.IsZero() {
		when = ", " + ago(m.now.Sub(a.Response.At)) + " ago"
		if m.now.Sub(a.Response.At).Seconds() < 1 {
			when = ", just now"
		}
	}
	how := " "
	if a.Response.Actor == "" {
		how = ": "
	}
	switch {
	case !i.settled:
		return t.notice, "This plan is no longer waiting. Loading the reason …"
	case a.Status == api.ApprovalStatusApproved:
		return t.notice, "Approved" + how + Verdict(a) + when + "."
	case a.Status == api.ApprovalStatusRejected:
		return t.notice, "Rejected" + how + Verdict(a) + when + "."
	}
	return t.alarm, "This plan is stale and can no longer be approved: " + Verdict(a) + "."
}
