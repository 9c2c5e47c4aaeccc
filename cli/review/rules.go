package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/risk"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file shows the rules behind a plan: why it waits, what the app's policies decided, and which
// risk rules found something, with their text and their source.

// RuleLine is one line about the rules of a plan. Its texts are safe to print.
type RuleLine struct {
	Indent string
	Text   string
	Ink    terminal.Ink
}

// RuleLines explains the rules that decide about an approval.
func RuleLines(a api.Approval, r *diff.Report) []RuleLine {
	out := []RuleLine{{"", "approval", terminal.Bold}, {Indent: "  ", Text: console.Line(cmp.Or(a.Reason, "-"))}}
	for i, p := range r.Policies {
		if i == 0 {
			out = append(out, RuleLine{}, RuleLine{"", "policies", terminal.Bold})
		}
		out = append(out, RuleLine{"  ", p.Symbol() + " " + p.Title() + "  " + p.Headline(), policyInk(p.Result)})
		for _, detail := range p.Details() {
			out = append(out, RuleLine{Indent: "      ", Text: detail})
		}
	}
	for i, f := range firedRules(r) {
		if i == 0 {
			out = append(out, RuleLine{}, RuleLine{"", "risk rules", terminal.Bold})
		}
		out = append(out, f.lines()...)
	}
	return out
}

func policyInk(s diff.PolicyStatus) terminal.Ink {
	switch s {
	case diff.PolicyDeny:
		return terminal.Destroy
	case diff.PolicyWarn, diff.PolicyNotEvaluated:
		return terminal.Warn
	}
	return terminal.Faint
}

// firedRule is a rule with the findings that it has in a report.
type firedRule struct {
	diff.Finding
	messages []string
	on       []string // the objects
}

// maxFired bounds the messages and the objects that are listed for one rule.
const maxFired = 5

// firedRules returns the rules with findings in a report, the highest risk first.
func firedRules(r *diff.Report) []*firedRule {
	var fired []*firedRule
	byRule := map[string]*firedRule{}
	for _, s := range r.Sections() {
		for _, c := range s.Changes {
			for _, f := range c.Findings {
				one := byRule[f.Rule]
				if one == nil {
					one = &firedRule{Finding: f}
					byRule[f.Rule] = one
					fired = append(fired, one)
				}
				if !slices.Contains(one.messages, f.Message) {
					one.messages = append(one.messages, f.Message)
				}
				if !slices.Contains(one.on, c.Title()) {
					one.on = append(one.on, c.Title())
				}
				one.IndividualApproval = one.IndividualApproval || f.IndividualApproval
			}
		}
	}
	slices.SortStableFunc(fired, func(a, b *firedRule) int {
		return cmp.Or(cmp.Compare(b.Risk, a.Risk), strings.Compare(a.Rule, b.Rule))
	})
	return fired
}

func (f *firedRule) lines() []RuleLine {
	head, ink := console.Line(f.Rule)+"  "+f.Risk.Label(), terminal.Bold
	if f.Security {
		head, ink = "! "+head+", security", terminal.Security
	}
	out := []RuleLine{{"  ", head, ink}}
	add := func(label, text string) {
		out = append(out, RuleLine{Indent: "      ", Text: label + ": " + console.Line(text)})
	}
	for i, m := range f.messages {
		if i == maxFired {
			add("found", fmt.Sprintf("%d more", len(f.messages)-i))
			break
		}
		add("found", m)
	}
	add("on", joinNames(f.on, maxFired))
	if rule, known := risk.Find(f.Rule); known {
		add("rule", ruleText(rule))
	}
	add("source", f.Source)
	if f.IndividualApproval {
		add("effect", "a person approves this plan individually: in no group, and by no rule")
	}
	return out
}

// ruleText describes what a risk rule judges.
func ruleText(r risk.Rule) string {
	kinds := slices.Clone(r.Kinds)
	slices.Sort(kinds)
	text := "changes of " + joinNames(kinds, maxFired)
	if r.Pods {
		text = "changes of pods, in all kinds that create them"
	}
	if len(r.Paths) > 0 {
		text += " at " + joinNames(r.Paths, maxFired)
	}
	if r.When != "" {
		text += ", when " + r.When
	}
	return text + "; at least " + r.Risk.Label()
}

// showRules opens the overlay with the rules behind the selected plan.
func (m *model) showRules() {
	at := m.queue.current()
	if at.none() {
		return
	}
	report := at.reading().report
	if report == nil {
		m.say(m.theme.Warn, "the plan is not loaded yet")
		return
	}
	var out []paragraph
	for _, l := range RuleLines(at.lead().approval, report) {
		out = append(out, paragraph{"  " + l.Indent, []terminal.Span{{Text: l.Text, Ink: l.Ink}}})
	}
	m.mode, m.overlay = onRules, scroller{document: document{preface: out}}
}
