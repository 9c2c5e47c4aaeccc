package interactive

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

func (m *model) small() bool { return m.width < screen.LeastWidth || m.height < screen.LeastHeight }

// layout holds the sizes of the parts of the screen: the header, a banner, the page, the sheet and
// the footer.
type layout struct {
	top    int // the first row of the page
	body   int // the rows of the page
	banner []screen.Strip
	sheet  []screen.Strip
}

func (m *model) layout() layout {
	l := layout{banner: m.banner(), sheet: m.sheet()}
	l.top = 1 + len(l.banner)
	l.body = max(m.height-2-len(l.banner)-len(l.sheet), 1)
	return l
}

// arrange sets the size of everything that scrolls. Update calls it last, so that View only draws.
func (m *model) arrange() {
	if m.small() || m.review != nil || len(m.views) == 0 {
		return
	}
	body := m.layout().body
	m.top().pane.Resize(m.width, body, m.at(), m.theme)
	m.help.Resize(m.width, body, m.at(), m.theme)
}

// View draws one frame.
func (m *model) View() string {
	switch {
	case m.review != nil:
		return m.review.View()
	case m.width == 0 || len(m.views) == 0:
		return ""
	case m.small():
		return screen.TooSmall(m.width, m.height)
	}
	var b strings.Builder
	l, v := m.layout(), m.top()
	m.header().Draw(&b, m.width, "", true)
	b.WriteByte('\n')
	drawAll(&b, l.banner, m.width)
	switch {
	case m.mode == helping:
		m.help.Draw(&b, m.theme, m.at())
	case !v.loaded && v.lastError == nil:
		screen.Strip{{"  loading …", m.theme.Faint}}.Draw(&b, m.width, "", true)
		b.WriteString(strings.Repeat("\n", l.body))
	default:
		v.pane.Draw(&b, m.theme, m.at())
	}
	drawAll(&b, l.sheet, m.width)
	m.footer().Draw(&b, m.width, "", true)
	return b.String()
}

func drawAll(b *strings.Builder, rows []screen.Strip, width int) {
	for _, s := range rows {
		s.Draw(b, width, "", true)
		b.WriteByte('\n')
	}
}

// header shows the path of screens, the control plane, and whether the screen is current.
func (m *model) header() screen.Strip {
	right, left := m.right(), m.path(m.pathRoom())
	for _, tail := range []screen.Strip{append(screen.Strip{{m.place + "  ", m.theme.Faint}}, right...), right} {
		if gap := m.width - left.Width() - tail.Width(); gap > 0 {
			return append(append(left, screen.Cell{Text: strings.Repeat(" ", gap)}), tail...)
		}
	}
	return left
}

// path shows the open screens; if there is not enough room, only the last ones.
func (m *model) path(room int) screen.Strip {
	s, _ := m.trail(room)
	return s.Cut(max(room, 0))
}

// trail returns the path of the open screens, as many of the last ones as there is room for, and for each open screen
// the column after its title; 0 for one that is not shown.
func (m *model) trail(room int) (s screen.Strip, ends []int) {
	t := m.theme
	for from := range m.views {
		s, ends = screen.Strip{{" nuon", t.Accent}}, make([]int, len(m.views))
		if from > 0 {
			s = append(s, screen.Cell{Text: " › …", Style: t.Rule})
		}
		for n, v := range m.views[from:] {
			st := t.Faint
			if from+n == len(m.views)-1 {
				st = t.Strong
			}
			s = append(s, screen.Cell{Text: " › ", Style: t.Rule}, screen.Cell{Text: console.Line(v.page.Title), Style: st})
			ends[from+n] = s.Width()
		}
		if s.Width() <= room {
			break
		}
	}
	return s, ends
}

// right returns the right side of the header: the position, what is marked, and whether the screen is current.
func (m *model) right() screen.Strip {
	t, v := m.theme, m.top()
	right := screen.Strip{{"● ", t.Good}}
	switch {
	case v.ended:
		right = screen.Strip{{"ended ", t.Faint}}
	case m.awaited(v):
		right = screen.Strip{{"○ of " + screen.Ago(m.now.Sub(v.lastAnswer)) + " ago, loading ", t.Warn}}
	case !m.live(v):
		right = screen.Strip{{"○ as of " + v.lastAnswer.Local().Format("15:04:05") + " ", t.Warn}}
	}
	if at, all := v.pane.Count(); all > 0 {
		right = append(screen.Strip{{fmt.Sprintf("%d of %d  ", at, all), t.Faint}}, right...)
	}
	if n := v.pane.MarkCount(); n > 0 {
		right = append(screen.Strip{{fmt.Sprintf("%d marked  ", n), t.Accent}}, right...)
	}
	return right
}

// pathRoom returns the columns for the path.
func (m *model) pathRoom() int { return m.width - m.right().Width() - 1 }

// awaited reports whether a view shows an earlier state, and the first answer may still arrive.
func (m *model) awaited(v *view) bool {
	return v.earlier && v.failingSince.IsZero() && m.now.Sub(v.loadStarted) < staleAfter
}

// banner returns the warning that the screen is not current.
func (m *model) banner() []screen.Strip {
	if len(m.views) == 0 {
		return nil
	}
	v := m.top()
	text := ""
	switch {
	case !v.failingSince.IsZero() && v.loaded:
		text = fmt.Sprintf("No answer since %s: %s. This is the state of %s ago.",
			v.failingSince.Local().Format("15:04:05"), firstLine(v.lastError), screen.Ago(m.now.Sub(v.lastAnswer)))
	case !v.failingSince.IsZero():
		text = firstLine(v.lastError)
	case m.awaited(v) || !v.loaded || m.live(v):
		return nil
	case v.earlier:
		text = fmt.Sprintf("No answer yet. This is the state of %s ago.", screen.Ago(m.now.Sub(v.lastAnswer)))
	default:
		text = fmt.Sprintf("No answer for %s.", screen.Ago(m.now.Sub(v.lastAnswer)))
	}
	var out []screen.Strip
	for _, row := range terminal.WrapTo(m.width-1, " ", 1, terminal.Span{Text: console.Line(text)}) {
		line := row.String()
		out = append(out, screen.Strip{{screen.Pad(line, m.width), m.theme.Alarm}})
	}
	return out[:min(len(out), 3)]
}

// The rows of the details of the selected row, and the least height of a screen that shows them.
const (
	detailRows, moreDetailRows = 3, 4
	detailFrom, moreDetailFrom = 16, 30
	mostFound                  = 8 // completions of the palette
)

// sheet returns the rows above the footer: an open question, or the details of the selected row.
func (m *model) sheet() []screen.Strip {
	t := m.theme
	if len(m.views) == 0 {
		return nil
	}
	switch m.mode {
	case going:
		return m.paletteSheet()
	case confirming, reasoning:
		out := []screen.Strip{t.Ruler(m.width, m.pending.title(), true, "")}
		if m.pending.question != "" {
			for _, row := range terminal.WrapTo(m.width-1, "  ", 2, terminal.Span{Text: console.Line(m.pending.question)}) {
				out = append(out, screen.Strip{{row.String(), ""}})
			}
		}
		if m.mode == reasoning {
			return append(out, screen.Strip{{"  Reason (shown to everyone):", t.Faint}},
				append(screen.Strip{{"  > ", t.Accent}}, m.typed.Show(m.width-6)...))
		}
		return append(out, screen.Strip{{"  Press ", ""}, {"y", t.Strong}, {" to continue, any other key to cancel.", ""}})
	case showing:
		out := []screen.Strip{t.Ruler(m.width, "equivalent commands", true, "")}
		for _, c := range m.commands() {
			out = append(out, screen.Strip{{"  " + console.Line(c), ""}})
		}
		return out
	case helping:
		return nil
	}
	return m.details()
}

// details returns the details of the selected row. Their number does not depend on the row, so
// that the page does not move.
func (m *model) details() []screen.Strip {
	rows := detailRows
	if _, all := m.top().pane.Count(); all == 0 || m.height < detailFrom || m.mode == filtering {
		return nil
	}
	if m.height >= moreDetailFrom {
		rows = moreDetailRows
	}
	out := append([]screen.Strip{m.theme.Ruler(m.width, "selected", false, "")},
		m.top().pane.Detail(m.theme, m.at(), rows)...)
	for len(out) < rows+1 {
		out = append(out, nil)
	}
	return out
}

// title returns the command that the question about an action is about, and the number of others.
func (a pendingAction) title() string {
	title := console.Line(commandLine(a.lines[0]))
	if more := len(a.lines) - 1; more > 0 {
		title += fmt.Sprintf(" … and %d more", more)
	}
	return title
}

// paletteSheet lists what completes the typed line.
func (m *model) paletteSheet() []screen.Strip {
	t, p := m.theme, m.palette
	out := []screen.Strip{t.Ruler(m.width, "go to", true, "")}
	room := min(mostFound, max(m.height/3, 1))
	from := max(min(p.index-room+1, len(p.found)-room), 0)
	for n := from; n < min(from+room, len(p.found)); n++ {
		f := p.found[n]
		s := screen.Strip{{"  " + screen.Pad(console.Line(f.Name), 24), ""}, {console.Line(f.About), t.Faint}}
		if n == p.index {
			s[0] = screen.Cell{Text: "▌ " + screen.Pad(console.Line(f.Name), 24), Style: t.Accent}
		}
		out = append(out, s)
	}
	return out
}

// footer shows the typed line, the result of the last key, or the keys that apply.
func (m *model) footer() screen.Strip {
	t := m.theme
	switch m.mode {
	case filtering:
		return append(screen.Strip{{" / ", t.Accent}}, m.typed.Show(m.width-4)...)
	case going:
		return append(screen.Strip{{" : ", t.Accent}}, m.typed.Show(m.width-4)...)
	case confirming:
		return screen.Strip{{" y", t.Strong}, {" yes  ", t.Faint}, {"n", t.Strong}, {" no", t.Faint}}
	case reasoning:
		return screen.Strip{{" enter", t.Strong}, {" continue  ", t.Faint}, {"esc", t.Strong}, {" back", t.Faint}}
	case showing:
		return screen.Strip{{" y", t.Strong}, {" copy  ", t.Faint}, {"esc", t.Strong}, {" back", t.Faint}}
	case helping:
		return t.Footer([]key.Binding{m.keys.back, m.keys.down, m.keys.up}, m.width)
	}
	if m.note.Text != "" && m.now.Sub(m.noted) < noteFor {
		return screen.Strip{{" " + m.note.Text, m.note.Style}}
	}
	k := m.keys
	words, apply := m.top().pane.Filtered(), []key.Binding{k.back, k.filter, k.nextMatch, k.open}
	if words == "" {
		words, apply = m.top().pane.Sought(), []key.Binding{k.nextMatch, k.prevMatch, k.back, k.filter}
	}
	if words != "" {
		return append(screen.Strip{{" / " + console.Line(words) + "   ", t.Accent}},
			t.Footer(apply, m.width-terminal.Columns(words)-6)...)
	}
	return t.Footer(m.applicable(), m.width)
}

// applicable returns the keys that do something now, the most important first.
func (m *model) applicable() []key.Binding {
	k := m.keys
	var out []key.Binding
	r, selected := m.top().pane.Selected()
	if selected && r.Open != "" {
		out = append(out, k.open)
	}
	for _, a := range m.actions() {
		if a.Command != nil { // it may not apply to the selected row
			if _, err := a.Command(r); err != nil {
				continue
			}
		}
		out = append(out, a.Key)
	}
	if m.top().page.Marks {
		out = append(out, k.mark)
	}
	if len(m.views) > 1 {
		out = append(out, k.back)
	}
	return append(out, k.help, k.quit, k.palette, k.filter, k.review, k.command, k.copy, k.nextSection, k.absolute)
}
