package review

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// drawOverlay draws the help or the causes of a plan over the whole body.
func (m *model) drawOverlay(b *strings.Builder, f frame) {
	title := "help"
	if m.mode == explaining || m.mode == onRules {
		if title = "why"; m.mode == onRules {
			title = "rules"
		}
		if at := m.queue.current(); !at.none() {
			title += " · " + name(at.lead().approval)
		}
	}
	m.rule(m.width, title, true, "").Draw(b, m.width, "", true)
	b.WriteByte('\n')
	seen := m.overlay.visible()
	for row := range f.body {
		if row < len(seen) {
			m.theme.StyleRow(seen[row].Row).Draw(b, m.width, "", true)
		}
		b.WriteByte('\n')
	}
}

// help renders the key map.
func (m *model) help() []paragraph {
	var out []paragraph
	for _, l := range screen.Help(m.keys.groups(), m.width) {
		out = append(out, paragraph{l.Indent, l.Spans})
	}
	return out
}

// maxNamed is the maximum number of destroyed resources that a confirmation
// lists. otherRows is the number of rows that the rest of the screen needs.
const (
	maxNamed  = 5
	otherRows = 9
)

// sheet returns the rows of the open question, which are drawn above the footer.
func (m *model) sheet() []strip {
	if m.mode == wholly { // independent of the selected row, which may have ended
		return m.wholeSheet()
	}
	if m.many && (m.mode == confirming || m.mode == rejecting) {
		return m.manySheet()
	}
	if m.mode == reviewing {
		return m.selectionSheet()
	}
	at, t := m.queue.current(), m.theme
	if m.mode == stopped && m.many {
		return []strip{m.rule(m.width, "selected plans", true, ""),
			{{"  The plans changed after they were shown, so your answer was not sent.", t.Warn}}}
	}
	if at.none() {
		return nil
	}
	switch m.mode {
	case stopped:
		return []strip{
			m.rule(m.width, at.name(), true, ""),
			{{"  The plan changed after it was shown, so your answer was not sent.", t.Warn}},
		}
	case rejecting:
		out := []strip{m.rule(m.width, "reject "+m.asking(), true, "")}
		out = append(out, m.those(m.height-otherRows)...)
		return append(out, strip{{"  Reason (shown to everyone; the same change is not requested again):", t.Faint}},
			append(strip{{"  > ", t.Accent}}, m.typed.Show(m.width-6)...))
	case confirming:
		out := []strip{m.rule(m.width, "approve "+m.asking(), true, ""), m.stakes(at)}
		room := m.height - otherRows
		those := m.those(room)
		out = append(append(out, m.doomed(at, room-len(those))...), those...)
		word := console.Line(m.word())
		return append(out,
			append(strip{{"  Type ", ""}, {word, t.Strong}, {" to approve: ", ""}},
				m.typed.Show(max(m.width-24-terminal.Columns(word), 10))...))
	}
	return nil
}

// asking names the subject of the open question.
func (m *model) asking() string {
	at := m.queue.current()
	if !at.several() {
		return at.name()
	}
	a := at.lead().approval
	return console.Line(fmt.Sprintf("%s on %s of %s",
		Subject(a), diff.Plural(len(m.covered), "install", "installs"), a.App))
}

// those lists the installs that a question about a group is about, and those
// that left it since it was asked.
func (m *model) those(room int) []strip {
	if !m.queue.current().several() || room < 2 {
		return nil
	}
	var names []string
	for _, l := range m.covered {
		names = append(names, l.to.approval.Install)
	}
	out := []strip{{{"  On " + console.Line(joinNames(names, m.width/8)), ""}}}
	if len(m.missed) > 0 {
		out = append(out, strip{
			{"  Changed after they were shown, and not answered: " + console.Line(joinNames(m.missed, 3)), m.theme.Warn}})
	}
	return out
}

// stakes summarizes the effect of the approval in counts.
func (m *model) stakes(at row) strip {
	switch totals := at.lead().totals; {
	case at.grave():
		return strip{{"  " + m.danger(at), m.theme.Bad}}
	case totals.Text() != "":
		return strip{{"  Each has " + totals.Text() + ".", ""}}
	}
	return strip{{"  Each changes something.", ""}}
}

// danger describes what a grave plan would do.
func (m *model) danger(at row) string {
	i := at.lead()
	var parts []string
	if loss := i.totals.LossSummary(); loss != "" {
		parts = append(parts, loss)
	}
	if i.approval.Restore > 0 {
		parts = append(parts, fmt.Sprintf("restores state version %d", i.approval.Restore))
	}
	if len(parts) == 0 {
		parts = append(parts, "destroys what is deployed")
	}
	which := "This "
	if at.several() {
		which = "Each "
	}
	return which + strings.Join(parts, " and ") + ". It cannot be undone."
}

// doomed lists the resources that will be destroyed, as far as there is room.
func (m *model) doomed(at row, room int) []strip {
	report := at.reading().report
	if report == nil {
		return nil
	}
	var rows []strip
	for _, c := range report.Losses() {
		rows = append(rows, strip{{fmt.Sprintf("  %3s ", c.Symbol()), m.theme.Bad}, {c.Title(), ""}})
	}
	room = min(maxNamed, room)
	switch {
	case len(rows) <= room:
		return rows
	case room < 2:
		return nil // the counts above must do
	}
	return append(rows[:room-1], strip{{fmt.Sprintf("      and %d more", len(rows)-room+1), m.theme.Faint}})
}
