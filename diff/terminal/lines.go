package terminal

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// Rows lays out a line for a width in columns. 0 means no limit; the minimum is 40.
func (p *Page) Rows(number, width int) []Row {
	if width > 0 {
		width = max(width, minWidth)
	}
	l := p.lines[number]
	switch l.kind {
	case lineSummary:
		return p.layoutSummary(width)
	case lineNote:
		return Wrap(width, "  ", Span{diff.EscapeText(p.report.Notes[l.part]), Warn})
	case lineTitle:
		s := &p.lists[l.part]
		return Wrap(width, "  ", Span{fmt.Sprintf("%s (%d):", s.Title, s.Count()), Bold})
	case linePart:
		part := &p.lists[l.part].Parts[l.end]
		return Wrap(width, "  ", Span{part.Title, Bold}, Span{"   " + part.Counts(), Faint})
	case lineCheck:
		return p.layoutCheck(&p.lists[l.part], int(l.end), width)
	case linePolicy:
		return p.layoutPolicy(&p.lists[l.part], int(l.end), width)
	case lineSame:
		return p.groupHeadline(l, width)
	case lineNames:
		return p.names(l, width)
	case lineHead:
		return p.layoutHeadline(l, width)
	case lineRemark:
		return layoutRemark(p.changeOf(l).Remarks()[l.part], width)
	case lineGroup:
		return p.layoutHeading(l, width)
	case lineField, lineName, lineText, lineStretch, lineRest:
		return p.layoutField(l, width)
	case lineQuiet, lineFolded, lineFolds:
		return Wrap(width, indent, Span{p.hiddenSummary(l), Faint})
	case lineNoise:
		return p.layoutNoise(l, width)
	}
	return []Row{nil}
}

// layoutSummary lays out the counts, and what was folded.
func (p *Page) layoutSummary(width int) []Row {
	var spans []Span
	for i, t := range p.report.Tallies() {
		if i > 0 {
			spans = append(spans, Span{", ", Bold})
		}
		ink := Bold
		switch {
		case t.Destructive:
			ink = Destroy
		case t.Security:
			ink = Security
		}
		spans = append(spans, Span{t.Text, ink})
	}
	if folded := p.report.FoldedSummary(); folded != "" {
		spans = append(spans, Span{"   (" + folded + ")", Faint})
	}
	return Wrap(width, "  ", spans...)
}

// layoutHeadline lays out the headline of a change. That of a plain output contains its value.
func (p *Page) layoutHeadline(l line, width int) []Row {
	e, c := &p.changes[l.change], p.changeOf(l)
	symbol := Span{fmt.Sprintf("%3s ", c.Symbol()), inkOf(c.Action)}
	if e.noise != "" {
		return Wrap(width, "", symbol, Span{Text: c.Title()}, Span{"  " + c.Headline(), Faint})
	}
	s := &p.lists[e.list]
	name := Span{pad(title(&s.Section, c), s.column), Bold}
	if !p.plainOutput(e) {
		words := Span{"  " + s.Headline(c), inkOf(c.Action)}
		if short := title(&s.Section, c); width > 0 && (Row{symbol, name, words}).Width() > width &&
			(Row{symbol, {short, Bold}, words}).Width() <= width {
			name.Text = short // one row with an unaligned name is better than two rows
		}
		return Wrap(width, "", symbol, name, words)
	}
	f := &c.Fields[0]
	row := []Span{symbol, name, {Text: "  "}}
	before, after := values(c, f, p.isUnfolded(l))
	if len(before) > 0 {
		row = append(append(row, before...), Span{" → ", Faint})
	}
	return Wrap(width, "", append(row, after...)...)
}

// groupHeadline lays out the headline of several objects with the same change.
func (p *Page) groupHeadline(l line, width int) []Row {
	e := &p.changes[l.change]
	s, c := &p.lists[e.list], e.Changes[0]
	words := "  " + e.Headline(&s.Section)
	if e.unfolded {
		words += ":"
	}
	return Wrap(width, "", Span{fmt.Sprintf("%3s ", c.Symbol()), inkOf(c.Action)}, Span{pad(e.Title(), s.column), Bold},
		Span{words, inkOf(c.Action)})
}

// maxNames bounds how many objects with the same change are named before they are unfolded.
const maxNames = 40

func (p *Page) names(l line, width int) []Row {
	names, more := p.changes[l.change].Names(maxNames)
	spans := []Span{{Text: strings.Join(names, ", ")}}
	if more > 0 {
		spans = append(spans, Span{fmt.Sprintf(", … and %d more, folded", more), Faint})
	}
	return WrapTo(width, indent, len(indent)+2, spans...)
}

// layoutRemark lays out a remark of a rule on a change, with a mark for security.
func layoutRemark(r diff.Remark, width int) []Row {
	words, label := Span{Text: " " + r.Text}, Span{r.Label + ":", Bold}
	switch {
	case r.Security:
		label, words.Ink = Span{"! " + r.Label + ":", Security}, Bold
	case r.Risk >= diff.RiskReplace:
		label.Ink = Destroy
	case r.Risk == diff.RiskRestart:
		label.Ink = Warn
	}
	return Wrap(width, indent, label, words, Span{"  [" + r.Source + "]", Faint})
}

// layoutCheck lays out a check that needs attention.
func (p *Page) layoutCheck(s *list, number, width int) []Row {
	c := s.Checks[number]
	ink := Faint
	if c.Status == diff.CheckFail || c.Status == diff.CheckError {
		ink = Warn
	}
	return Wrap(width, "", Span{fmt.Sprintf("%3s ", c.Symbol()), ink}, Span{pad(c.Title(), s.column), Bold},
		Span{"  " + c.Headline(), ink})
}

// layoutPolicy lays out the result of a policy, with its messages.
func (p *Page) layoutPolicy(s *list, number, width int) []Row {
	result := &s.Policies[number]
	ink := map[diff.PolicyStatus]Ink{diff.PolicyDeny: Destroy, diff.PolicyNotEvaluated: Warn, diff.PolicyWarn: Warn,
		diff.PolicyPass: Faint}[result.Result]
	rows := Wrap(width, "", Span{fmt.Sprintf("%3s ", result.Symbol()), ink}, Span{pad(result.Title(), s.column), Bold},
		Span{"  " + result.Headline(), ink})
	for _, detail := range result.Details() {
		rows = append(rows, Wrap(width, indent, Span{Text: detail})...)
	}
	return rows
}

// hiddenSummary returns the text about the parts of a change that are not shown.
func (p *Page) hiddenSummary(l line) string {
	c := p.changeOf(l)
	switch l.kind {
	case lineFolded:
		return diff.Plural(len(c.Fields), "field", "fields") + ", folded"
	case lineFolds:
		return c.FoldedSummary()
	}
	var names []string
	for i := range c.Fields {
		if f := &c.Fields[i]; f.OmitsLine(c.Action) && f.Fold == "" {
			names = append(names, f.Name())
		}
	}
	return "known after apply: " + strings.Join(names, ", ")
}

// layoutNoise lays out the line for changes in folded fields only. The last such line ends with the hint.
func (p *Page) layoutNoise(l line, width int) []Row {
	e := &p.changes[l.change]
	words := e.noise
	switch {
	case e.unfolded:
		words += ":"
	case p.hint != "" && int(l.change) == len(p.changes)-1:
		words += " (" + p.hint + ")"
	}
	return Wrap(width, "  ", Span{words, Faint})
}
