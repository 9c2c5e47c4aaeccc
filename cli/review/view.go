package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Sizes at which the layout changes: from wide on the queue is shown to the left of the diff.
const (
	wide = 110
	// sideBySide is the width that a diff needs for two columns (terminal.Page.SetSide).
	// In this mode the queue moves above the diff if necessary.
	sideBySide = 100 + gutter
)

func (m *model) small() bool { return m.width < screen.LeastWidth || m.height < screen.LeastHeight }

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
		return screen.TooSmall(m.width, m.height)
	}
	f := m.frame()
	m.header().Draw(&b, m.width, "", true)
	b.WriteByte('\n')
	switch {
	case m.mode == helping || m.mode == explaining || m.mode == onRules:
		m.drawOverlay(&b, f)
	case f.beside:
		m.drawBeside(&b, f)
	default:
		m.drawAbove(&b, f)
	}
	for _, s := range m.sheet() {
		s.Draw(&b, m.width, "", true)
		b.WriteByte('\n')
	}
	m.footer().Draw(&b, m.width, "", true)
	return b.String()
}

// header shows how many plans wait, and whether the screen is current.
func (m *model) header() strip {
	t := m.theme
	all, grave := m.queue.waiting()
	words := diff.Plural(all, "plan waiting", "plans waiting")
	if all == 0 {
		words = "no plans waiting"
	}
	left := strip{{" nuon review", t.Accent}, {"   " + words, t.Strong}}
	if grave > 0 {
		left = append(left, cell{fmt.Sprintf(", %d to approve by name", grave), t.Bad})
	}
	right := strip{{"● ", t.Good}}
	if !m.live() {
		right = strip{{"○ as of " + m.heard.Local().Format("15:04:05") + " ", t.Warn}}
	}
	for _, tail := range []strip{append(strip{{m.place + " ", t.Faint}}, right...), right} {
		if gap := m.width - left.Width() - tail.Width(); gap > 0 {
			return append(append(left, cell{strings.Repeat(" ", gap), ""}), tail...)
		}
	}
	return left
}

// footer shows the result of the last key, else the key bindings.
func (m *model) footer() strip {
	t := m.theme
	if m.note.Text != "" && m.mode == reviewing && m.now.Sub(m.noted) < noteFor {
		return strip{{" " + m.note.Text, m.note.Style}}
	}
	var keys []key.Binding
	switch m.mode {
	case searching, filtering:
		return append(strip{{" / ", t.Accent}}, m.typed.Show(m.width-4)...)
	case confirming, wholly:
		return strip{{" enter", t.Strong}, {" approve  ", t.Faint}, {"esc", t.Strong}, {" back", t.Faint}}
	case stopped:
		return strip{{" enter", t.Strong}, {" back", t.Faint}}
	case rejecting:
		return strip{{" enter", t.Strong}, {" reject  ", t.Faint}, {"esc", t.Strong}, {" back", t.Faint}}
	case helping, explaining, onRules:
		keys = []key.Binding{m.keys.back, m.keys.down, m.keys.up, m.keys.pageDown, m.keys.pageUp}
	default:
		keys = m.keys.footer()
		switch at := m.queue.current(); {
		case len(m.queue.marked()) > 0:
			keys = append([]key.Binding{m.keys.approve, m.keys.reject, m.keys.take, m.keys.mark, m.keys.back}, keys[2:]...)
		case at.none():
			keys = []key.Binding{m.keys.help, m.keys.quit}
		case at.several() && !at.ended():
			keys = slices.Insert(keys, 2, m.keys.members)
		case at.ended():
			keys = append([]key.Binding{m.keys.open}, keys[2:]...)
		}
	}
	return t.Footer(keys, m.width)
}

// rule draws a line with a title, and with end at its right.
func (m *model) rule(width int, title string, focused bool, end string) strip {
	return m.theme.Ruler(width, title, focused, end)
}

// queueTitle returns the title of the queue, with its filter.
func (m *model) queueTitle() string {
	if len(m.queue.filter) == 0 {
		return "queue"
	}
	return console.Line("queue / " + strings.Join(m.queue.filter, " "))
}

func (m *model) diffRule(width int) strip {
	at := m.queue.current()
	if at.none() {
		return m.rule(width, "diff", m.focus == onDiff, "")
	}
	end := "waiting " + screen.Ago(m.now.Sub(at.lead().approval.CreatedAt))
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
	m.rule(f.queueWidth, m.queueTitle(), m.focus == onQueue, "").Draw(b, f.queueWidth, "", false)
	screen.Put(b, "┬", t.Rule)
	m.diffRule(f.diffWidth).Draw(b, f.diffWidth, "", true)
	b.WriteByte('\n')
	right := m.diffRows(f)
	for row := range f.body {
		m.queueRow(b, m.queue.top+row, f.queueWidth, false)
		screen.Put(b, "│", t.Rule)
		if row < len(right) {
			right[row].Draw(b, f.diffWidth, "", true)
		}
		b.WriteByte('\n')
	}
}

func (m *model) drawAbove(b *strings.Builder, f frame) {
	more := ""
	if n := len(m.queue.rows); n > f.queueHeight {
		more = fmt.Sprintf("%d of %d", m.queue.selected+1, n)
	}
	m.rule(m.width, m.queueTitle(), m.focus == onQueue, more).Draw(b, m.width, "", true)
	b.WriteByte('\n')
	for row := range f.queueHeight {
		m.queueRow(b, m.queue.top+row, m.width, true)
		b.WriteByte('\n')
	}
	m.diffRule(m.width).Draw(b, m.width, "", true)
	b.WriteByte('\n')
	rows := m.diffRows(f)
	for row := range f.diffHeight {
		if row < len(rows) {
			rows[row].Draw(b, m.width, "", true)
		}
		b.WriteByte('\n')
	}
}

// queueRow draws one row of the queue: its mark, name and counts, and how long it has waited.
func (m *model) queueRow(b *strings.Builder, n, width int, last bool) {
	t := m.theme
	if n >= len(m.queue.rows) {
		s := strip{}
		if n == 0 && len(m.queue.filter) > 0 {
			s = strip{{"  no such plan; esc shows all", t.Faint}}
		} else if n == 0 {
			s = strip{{"  no plans waiting", t.Faint}}
		}
		s.Draw(b, width, "", last)
		return
	}
	at := m.queue.rows[n]
	chosen, below := " ", style("")
	if picked := at.covers(); len(picked) > 0 && !slices.ContainsFunc(picked, func(i *item) bool { return i.mark == "" }) {
		chosen = "•"
	}
	if n == m.queue.selected {
		if below = t.Aside; chosen == " " {
			chosen = "▌"
		}
		if m.focus == onQueue {
			below = t.Selected
		}
	}
	tail := m.counts(at)
	if who := m.assignee(at); who != "" {
		tail = append(strip{{who + " ", t.Accent}}, tail...)
	}
	tail = append(tail, cell{fmt.Sprintf("%5s ", screen.Ago(m.now.Sub(at.lead().approval.CreatedAt))), t.Faint})
	head, room := strip{{chosen, t.Accent}, m.mark(at), {" ", ""}}, max(width-tail.Width(), 8)
	left := append(head, m.label(at, room-head.Width())...).Cut(room)
	if gap := width - left.Width() - tail.Width(); gap > 0 {
		left = append(left, cell{strings.Repeat(" ", gap), ""})
	}
	if n == m.queue.selected && m.focus == onQueue {
		left, tail = left.WithoutStyles(), tail.WithoutStyles()
	}
	append(left, tail...).Draw(b, width, below, last)
}

// label describes a row of the queue: a plan, a group with the number of its
// installs, or a plan of an open group. It is shorter where there is little room.
func (m *model) label(at row, room int) strip {
	t, a, st := m.theme, at.lead().approval, style("")
	if at.ended() {
		st = t.Faint
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
		return strip{{sign, t.Accent}, {what + count, st}, {" ", ""}}
	case at.group != nil:
		return strip{{"    " + console.Line(a.App+"/"+a.Install), st}, {" ", ""}}
	}
	return strip{{console.Line(fmt.Sprintf("%s/%s %s", a.App, a.Install, Subject(a))), st}, {" ", ""}}
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
		return cell{"…", t.Warn}
	case status == api.ApprovalStatusApproved:
		return cell{"✓", t.Good}
	case status == api.ApprovalStatusRejected:
		return cell{"✗", t.Bad}
	case status == api.ApprovalStatusWithdrawn:
		return cell{"○", t.Faint}
	case at.ended():
		return cell{"·", t.Faint} // unknown or mixed result
	case at.grave():
		return cell{"!", t.Bad}
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
	if i.totals.Denied > 0 {
		return strip{{"denied ", m.theme.Bad}}
	}
	if n := i.totals.Security; n > 0 {
		s = append(s, cell{fmt.Sprintf("%d security", n), m.theme.Ink[terminal.Security]}, cell{" ", ""})
	}
	for _, sign := range i.totals.ActionCounts() {
		s = append(s, cell{fmt.Sprintf("%s%d ", sign.Symbol, sign.Count), m.theme.Ink[signInks[sign.Action]]})
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
		return append(rows, strip{{"  " + console.Line(firstLine(failed)), m.theme.Bad}})
	case view == nil:
		return append(rows, strip{{"  loading the plan …", m.theme.Faint}})
	}
	for _, r := range view.visible() {
		s := m.theme.StyleRow(r.Row)
		if m.query != "" {
			s = m.query.marked(s, m.theme.Match)
		}
		mark := cell{"  ", ""}
		if change, ok := view.changeAt(r.line); ok && change == view.cursor {
			mark = cell{"▌ ", m.theme.Rule}
			if m.focus == onDiff {
				mark.Style = m.theme.Accent
			}
		}
		rows = append(rows, append(strip{mark}, s...))
	}
	return rows
}

// nothing returns the content when no plan waits: the installs with work in
// progress that may lead to a plan.
func (m *model) nothing() []strip {
	if len(m.queue.filter) > 0 {
		return []strip{nil, {{"  No waiting plan contains these words. Press esc to show all.", m.theme.Strong}}}
	}
	rows := []strip{nil,
		{{"  No plans are waiting for approval.", m.theme.Strong}},
		{{"  New plans appear here when they are ready.", m.theme.Faint}}, nil}
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
		add(t.Alarm, fmt.Sprintf("Control plane unreachable since %s: %s. This is the state of %s; answers are "+
			"disabled.",
			m.lost.Local().Format("15:04:05"), firstLine(m.why), m.heard.Local().Format("15:04:05")))
	} else if !m.live() {
		add(t.Alarm, fmt.Sprintf("No response for %s. This is the state of %s; answers are disabled.",
			screen.Ago(m.now.Sub(m.heard)), m.heard.Local().Format("15:04:05")))
	}
	switch at := m.queue.current(); {
	case at.none():
	case at.several():
		if text := endedSummary(at); text != "" {
			add(t.Notice, text)
		}
	case at.item.ended:
		add(m.ending(at.item))
	}
	return out
}

// endedSummary describes how the ended plans of a group ended, or "" if all plans wait.
func endedSummary(at row) string {
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
	return "No longer in the group" + how + ": " + joinNames(names, 5) + "."
}

// ending describes how a plan ended.
func (m *model) ending(i *item) (style, string) {
	a, t := i.approval, m.theme
	when := ""
	if a.Response.Actor != "" && !a.Response.At.IsZero() {
		when = ", " + screen.Ago(m.now.Sub(a.Response.At)) + " ago"
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
		return t.Notice, "This plan is no longer waiting. Loading the reason …"
	case a.Status == api.ApprovalStatusApproved:
		return t.Notice, "Approved" + how + Verdict(a) + when + "."
	case a.Status == api.ApprovalStatusRejected:
		return t.Notice, "Rejected" + how + Verdict(a) + when + "."
	}
	return t.Alarm, "This plan is stale and can no longer be approved: " + Verdict(a) + "."
}
