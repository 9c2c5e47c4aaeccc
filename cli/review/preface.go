package review

import (
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// preface updates the lines above each group's report, which name the installs that still wait.
func (m *model) preface() {
	for _, g := range m.queue.groups {
		if g.view != nil {
			g.view.preface = preface(row{group: g})
		}
	}
}

// preface returns the lines above a report. Their number does not change when plans of the row end.
func preface(at row) []paragraph {
	a, ink := at.lead().approval, terminal.Bold
	if at.grave() {
		ink = terminal.Destroy
	}
	id := a.ID
	if at.several() {
		id = ""
	}
	title := terminal.Span{Text: console.Line(Verb(a) + " " + at.name()), Ink: ink}
	out := []paragraph{{"", []terminal.Span{title, {Text: "   " + console.Line(id), Ink: terminal.Faint}}}}
	if at.several() {
		out = append(out, paragraph{"", []terminal.Span{
			{Text: console.Line("at " + Names(approvals(at.alike()), maxNames))}}},
			paragraph{"", []terminal.Span{{Text: Placeholders, Ink: terminal.Faint}}})
	}
	if a.Because != "" {
		out = append(out, paragraph{"", []terminal.Span{{Text: "because " + console.Line(a.Because)}}})
	}
	if report := at.reading().report; report != nil {
		for _, p := range report.Policies {
			if p.Result != diff.PolicyPass {
				out = append(out, paragraph{"", []terminal.Span{{Text: "policy " + p.Title() + " " + p.Headline(),
					Ink: policyInk(p.Result)}}})
			}
		}
	}
	out = append(out, paragraph{})
	if flaw := at.reading().flaw; flaw != nil {
		out = append(out, paragraph{"  ", []terminal.Span{{Text: console.Line(flaw.Error()), Ink: terminal.Destroy}}})
	}
	return out
}
