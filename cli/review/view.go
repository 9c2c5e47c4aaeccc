package review

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The sizes at which the screen changes: below the least it only says so, and from wide on the queue stands beside the diff.
const (
	leastWidth, leastHeight = 40, 10
	wide                    = 110
)

func (m *model) small() bool { return m.width < leastWidth || m.height < leastHeight }

// frame is where things are on the screen. Everything has a row of header, a rule and a footer; sheet rows stand above the footer.
type frame struct {
	beside      bool // the queue stands beside the diff, not above it
	queueWidth  int
	queueHeight int
	diffWidth   int
	diffHeight  int // rows of the diff's pane, banners included
	body        int // rows between the first rule and the sheet
}

func (m *model) frame() frame {
	f := frame{body: max(m.height-3-len(m.sheet()), 1)}
	if f.beside = m.width >= wide; f.beside {
		f.queueWidth = min(max(m.width*28/100, 34), 52)
		f.queueHeight, f.diffHeight, f.diffWidth = f.body, f.body, m.width-f.queueWidth-1
		return f
	}
	f.queueWidth, f.diffWidth = m.width, m.width
	f.queueHeight = max(min(max(len(m.queue.items), 1), m.height/5, f.body-2), 1)
	f.diffHeight = max(f.body-f.queueHeight-1, 1)
	return f
}

// gutter is the columns left of a diff, for the mark of the chosen change.
const gutter = 2

// arrange gives everything that scrolls its size. Update ends with it, so that View only draws.
func (m *model) arrange() {
	if m.small() {
		return
	}
	f := m.frame()
	m.queue.scroll(f.queueHeight)
	if i := m.queue.current(); i != nil && i.view != nil {
		i.view.resize(f.diffWidth-gutter, f.diffHeight-len(m.banners(f.diffWidth)))
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

// tooSmall says so in the room that there is.
func (m *model) tooSmall(b *strings.Builder) {
	text := fmt.Sprintf("too small: %d×%d of at least %d×%d. q quits", m.width, m.height, leastWidth, leastHeight)
	rows := strings.Split(ansi.Wrap(text, max(m.width, 1), ""), "\n")
	b.WriteString(strings.Join(rows[:min(len(rows), max(m.height, 1))], "\n"))
}

// header says how much waits, and whether anybody would tell if that changed.
func (m *model) header() strip {
	t := m.theme
	all, grave := m.queue.waiting()
	words := diff.Plural(all, "plan waits", "plans wait")
	if all == 0 {
		words = "nothing waits"
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

// footer is what the last key did, else the keys.
func (m *model) footer() strip {
	t := m.theme
	if m.note.text != "" && m.mode == reviewing && m.now.Sub(m.noted) < noteFor {
		return strip{{" " + m.note.text, m.note.style}}
	}
	var keys []key.Binding
	switch m.mode {
	case searching:
		return append(strip{{" / ", t.accent}}, m.typed.show(m.width-4)...)
	case confirming:
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
		case at == nil:
			keys = []key.Binding{m.keys.help, m.keys.quit}
		case at.ended:
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

// rule is a line with a title, and something at its right end.
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
	i := m.queue.current()
	if i == nil {
		return m.rule(width, "diff", m.focus == onDiff, "")
	}
	title, end := name(i.approval), "waits "+ago(m.now.Sub(i.approval.CreatedAt))
	if i.ended {
		end = "over"
	}
	if v := i.view; v != nil && v.changes() > 0 {
		end += fmt.Sprintf(" · change %d of %d", v.cursor+1, v.changes())
		if share := v.share(); share >= 0 {
			end += fmt.Sprintf(" · %d%%", share)
		}
	}
	return m.rule(width, title, m.focus == onDiff, end)
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
	if n := len(m.queue.items); n > f.queueHeight {
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

// queueRow draws one plan of the queue: a mark, what it is, what it does, and for how long it has waited.
func (m *model) queueRow(b *strings.Builder, n, width int, last bool) {
	t := m.theme
	if n >= len(m.queue.items) {
		s := strip{}
		if n == 0 {
			s = strip{{"  nothing waits", t.faint}}
		}
		s.draw(b, width, "", last)
		return
	}
	i := m.queue.items[n]
	mark, below := m.mark(i), style("")
	chosen := " "
	if n == m.queue.selected {
		chosen, below = "▌", t.aside
		if m.focus == onQueue {
			below = t.selected
		}
	}
	a := i.approval
	label := console.Line(fmt.Sprintf("%s/%s %s", a.App, a.Install, a.Component))
	tail := m.counts(i)
	age := ago(m.now.Sub(a.CreatedAt))
	tail = append(tail, cell{fmt.Sprintf("%5s ", age), t.faint})
	left := strip{{chosen, t.accent}, mark, {" ", ""}, {label, m.labelStyle(i)}, {" ", ""}}.cut(max(width-tail.width(), 8))
	if gap := width - left.width() - tail.width(); gap > 0 {
		left = append(left, cell{strings.Repeat(" ", gap), ""})
	}
	if n == m.queue.selected && m.focus == onQueue {
		left, tail = bare(left), bare(tail)
	}
	append(left, tail...).draw(b, width, below, last)
}

// bare leaves out the colours of a strip, which the chosen row's own would make hard to read.
func bare(s strip) strip {
	for i := range s {
		s[i].style = ""
	}
	return s
}

func (m *model) labelStyle(i *item) style {
	if i.ended {
		return m.theme.faint
	}
	return ""
}

// mark says at a glance how a plan stands.
func (m *model) mark(i *item) cell {
	t := m.theme
	switch {
	case i.sending:
		return cell{"…", t.warn}
	case i.approval.Status == api.ApprovalStatusApproved:
		return cell{"✓", t.good}
	case i.approval.Status == api.ApprovalStatusRejected:
		return cell{"✗", t.bad}
	case i.ended:
		return cell{"○", t.faint}
	case i.grave():
		return cell{"!", t.bad}
	}
	return cell{" ", ""}
}

// counts is what a plan does, in numbers.
func (m *model) counts(i *item) strip {
	if !i.counted {
		return nil
	}
	t, c := m.theme, i.totals
	var s strip
	for _, n := range []struct {
		count int
		sign  string
		ink   terminal.Ink
	}{{c.Create, "+", terminal.Create}, {c.Update, "~", terminal.Update}, {c.Replace, "±", terminal.Replace}, {c.Destroy, "-", terminal.Destroy}} {
		if n.count > 0 {
			s = append(s, cell{fmt.Sprintf("%s%d ", n.sign, n.count), t.ink[n.ink]})
		}
	}
	return s
}

// diffRows are the rows of the diff's pane: banners, then what is seen of the plan.
func (m *model) diffRows(f frame) []strip {
	rows := m.banners(f.diffWidth)
	i := m.queue.current()
	switch {
	case i == nil:
		return append(rows, m.nothing()...)
	case i.view == nil && i.failed != nil:
		return append(rows, strip{{"  " + console.Line(firstLine(i.failed)), m.theme.bad}})
	case i.view == nil:
		return append(rows, strip{{"  reading the plan …", m.theme.faint}})
	}
	for _, r := range i.view.visible() {
		s := m.theme.inked(r.Row)
		if m.query != "" {
			s = m.query.marked(s, m.theme.match)
		}
		mark := cell{"  ", ""}
		if change, ok := i.view.changeAt(r.line); ok && change == i.view.cursor {
			mark = cell{"▌ ", m.theme.rule}
			if m.focus == onDiff {
				mark.style = m.theme.accent
			}
		}
		rows = append(rows, append(strip{mark}, s...))
	}
	return rows
}

// nothing is the screen when no plan waits: what is under way may yet end in one.
func (m *model) nothing() []strip {
	rows := []strip{nil, {{"  Nothing waits for an approval.", m.theme.strong}}, {{"  A plan appears here as soon as it is ready.", m.theme.faint}}, nil}
	for _, line := range m.busy {
		rows = append(rows, strip{{"  " + line, ""}})
	}
	return rows
}

// banners say what stands against an answer.
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
		add(t.alarm, fmt.Sprintf("No answer since %s: %s. What you see is as of %s; nothing can be answered.",
			m.lost.Local().Format("15:04:05"), firstLine(m.why), m.heard.Local().Format("15:04:05")))
	} else if !m.live() {
		add(t.alarm, fmt.Sprintf("No answer for %s. What you see is as of %s; nothing can be answered.", ago(m.now.Sub(m.heard)), m.heard.Local().Format("15:04:05")))
	}
	if i := m.queue.current(); i != nil && i.ended {
		add(m.ending(i))
	}
	return out
}

// ending is how a plan ended, in words.
func (m *model) ending(i *item) (style, string) {
	a, t := i.approval, m.theme
	when := ""
	if a.Response.Actor != "" && !a.Response.At.IsZero() {
		when = ", " + ago(m.now.Sub(a.Response.At)) + " ago"
		if m.now.Sub(a.Response.At).Seconds() < 1 {
			when = ", just now"
		}
	}
	switch {
	case !i.settled:
		return t.notice, "This plan no longer waits, and cannot be answered. Reading why …"
	case a.Status == api.ApprovalStatusApproved:
		return t.notice, "Approved " + Verdict(a) + when + "."
	case a.Status == api.ApprovalStatusRejected:
		return t.notice, "Rejected " + Verdict(a) + when + "."
	}
	return t.alarm, "This plan is stale and cannot be approved any more: " + Verdict(a) + "."
}

// drawOverlay draws help, or why, over the whole body.
func (m *model) drawOverlay(b *strings.Builder, f frame) {
	title := "help"
	if m.mode == explaining {
		title = "why"
		if i := m.queue.current(); i != nil {
			title += " · " + name(i.approval)
		}
	}
	m.rule(m.width, title, true, "").draw(b, m.width, "", true)
	b.WriteByte('\n')
	seen := m.overlay.visible()
	for row := range f.body {
		if row < len(seen) {
			m.theme.inked(seen[row].Row).draw(b, m.width, "", true)
		}
		b.WriteByte('\n')
	}
}

// help is made from the key map, in two columns where there is room.
func (m *model) help() []paragraph {
	var out []paragraph
	const column = 12
	half := m.width / 2
	two := m.width >= 76
	for _, g := range m.keys.groups() {
		out = append(out, paragraph{"  ", []terminal.Span{{Text: g.title, Ink: terminal.Bold}}})
		var spans []terminal.Span
		for _, k := range g.keys {
			h := k.Help()
			add := []terminal.Span{{Text: padded(h.Key, column), Ink: terminal.Move}, {Text: h.Desc}}
			if two && len(spans) == 2 {
				spans[1].Text = padded(spans[1].Text, half-4-column)
				out, spans = append(out, paragraph{"    ", append(spans, add...)}), nil
				continue
			}
			if len(spans) > 0 {
				out = append(out, paragraph{"    ", spans})
			}
			spans = add
		}
		if len(spans) > 0 {
			out = append(out, paragraph{"    ", spans})
		}
	}
	return out
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-terminal.Columns(text), 1))
}

// mostNamed is how many rows the question before a grave yes has for what goes, and leastElse how many the rest of the screen needs.
const (
	mostNamed = 5
	leastElse = 9
)

// sheet is the rows of a question, above the footer.
func (m *model) sheet() []strip {
	i, t := m.queue.current(), m.theme
	switch {
	case i == nil || m.mode != confirming && m.mode != rejecting && m.mode != stopped:
		return nil
	case m.mode == stopped:
		return []strip{
			m.rule(m.width, name(i.approval), true, ""),
			{{"  It no longer waits as it was shown, so your answer was not given.", t.warn}},
		}
	case m.mode == rejecting:
		return []strip{
			m.rule(m.width, "reject "+name(i.approval), true, ""),
			{{"  Why? Everybody who looks is shown it, and the same is not asked again.", t.faint}},
			append(strip{{"  > ", t.accent}}, m.typed.show(m.width-6)...),
		}
	}
	out := []strip{m.rule(m.width, "approve "+name(i.approval), true, ""), {{"  " + m.danger(i), t.bad}}}
	out = append(out, m.doomed(i)...)
	return append(out, append(strip{{"  Type ", ""}, {console.Line(i.approval.Component), t.strong}, {" to approve: ", ""}}, m.typed.show(max(m.width-34, 10))...))
}

// danger says what a grave plan would do.
func (m *model) danger(i *item) string {
	var parts []string
	if n := i.totals.Destroy; n > 0 {
		parts = append(parts, fmt.Sprintf("destroys %d", n))
	}
	if n := i.totals.Replace; n > 0 {
		parts = append(parts, fmt.Sprintf("replaces %d", n))
	}
	if i.approval.Restore > 0 {
		parts = append(parts, fmt.Sprintf("takes the state back to version %d", i.approval.Restore))
	}
	if len(parts) == 0 {
		parts = append(parts, "destroys what is there")
	}
	return "This " + strings.Join(parts, " and ") + ". It cannot be undone."
}

// doomed names what goes, as far as there is room.
func (m *model) doomed(i *item) []strip {
	if i.report == nil {
		return nil
	}
	var rows []strip
	for _, c := range i.report.Changes {
		if c.Action.Destructive() {
			rows = append(rows, strip{{fmt.Sprintf("  %3s ", c.Symbol()), m.theme.bad}, {c.Title(), ""}})
		}
	}
	room := min(mostNamed, m.height-leastElse)
	switch {
	case len(rows) <= room:
		return rows
	case room < 2:
		return nil // how many they are is said above
	}
	return append(rows[:room-1], strip{{fmt.Sprintf("      and %d more", len(rows)-room+1), m.theme.faint}})
}
