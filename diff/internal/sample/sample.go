// Package sample provides reports for the tests of renderers: one with an
// example of everything, and randomly drawn ones. Only tests import it.
//
// A drawn report passes diff.Report.Validate, and has text of the caller's
// choice wherever a report can hold text.
package sample

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
)

var actions = []diff.Action{
	diff.Create, diff.Update, diff.Replace, diff.Destroy, diff.Move, diff.Import, diff.Forget, diff.Read, diff.Noop,
}

var rules = []string{"chart label", "checksum", "server-owned", "ignored by dates", "something else"}

// Report draws a report with texts drawn from word.
func Report(t *rapid.T, word *rapid.Generator[string]) *diff.Report {
	d := drawer{t, word}
	r := &diff.Report{
		Kind:      rapid.SampledFrom([]string{diff.KindKubernetes, diff.KindTerraform}).Draw(t, "kind"),
		Applyable: rapid.Bool().Draw(t, "applyable"),
		Notes:     rapid.SliceOfN(word, 0, 3).Draw(t, "notes"),
	}
	r.Changes = d.changes("changes", 6)
	for _, l := range []*[]diff.Change{&r.Hooks, &r.Tests, &r.Kept, &r.Drift, &r.Deferred} {
		*l = d.changes("list", 2)
	}
	r.Outputs = d.changes("outputs", 3)
	for i := range rapid.IntRange(0, 3).Draw(t, "checks") {
		r.Checks = append(r.Checks, diff.Check{
			Address: fmt.Sprintf("c%d", i) + d.text(),
			Status: rapid.SampledFrom([]diff.CheckStatus{diff.CheckPass, diff.CheckFail, diff.CheckError,
				diff.CheckUnknown}).Draw(t, "status"),
			Problems: rapid.SliceOfN(word, 0, 2).Draw(t, "problems"),
		})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "policies") {
		var messages []diff.PolicyMessage
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			messages = append(messages, diff.PolicyMessage{Text: d.text(), Object: d.text(),
				Status: rapid.SampledFrom([]diff.PolicyStatus{diff.PolicyDeny, diff.PolicyNotEvaluated, diff.PolicyWarn,
					diff.PolicyPass}).Draw(t, "status")})
		}
		r.Policies = append(r.Policies, diff.NewPolicyResult(fmt.Sprintf("p%d", i)+d.text(), messages))
	}
	for range rapid.IntRange(0, 3).Draw(t, "folds") {
		r.AddFold(d.one(rules)+d.text(), d.one([]string{diff.FoldFields, diff.FoldObjects})+d.text(),
			rapid.IntRange(1, 500).Draw(t, "count"))
	}
	r.Sort()
	r.Totals = r.Count()
	return r
}

type drawer struct {
	t    *rapid.T
	word *rapid.Generator[string]
}

func (d drawer) text() string              { return d.word.Draw(d.t, "text") }
func (d drawer) yes() bool                 { return rapid.Bool().Draw(d.t, "yes") }
func (d drawer) one(among []string) string { return rapid.SampledFrom(among).Draw(d.t, "one") }
func (d drawer) rarely(word string) string {
	if rapid.IntRange(0, 3).Draw(d.t, "rarely") == 0 {
		return word
	}
	return ""
}

func (d drawer) changes(list string, most int) []diff.Change {
	var out []diff.Change
	for i := range rapid.IntRange(0, most).Draw(d.t, list) {
		out = append(out, d.change(i))
	}
	return out
}

func (d drawer) change(i int) diff.Change {
	c := diff.Change{
		Address: fmt.Sprintf("a%d", i) + d.text(), Module: d.rarely("m" + d.text()), Namespace: d.rarely("n" + d.text()),
		ResourceKind: "Kind", Name: d.text(), Deposed: d.rarely(d.text()), From: d.rarely(d.text()),
		Hook: d.rarely("pre-install," + d.text()),
		Why:  d.rarely(d.text()), Imported: d.rarely("x") != "", ImportID: d.text(), Renamed: d.rarely("x") != "",
		Action: rapid.SampledFrom(actions).Draw(d.t, "action"),
	}
	if c.Action == diff.Replace && d.yes() {
		c.Order = diff.CreateFirst
	}
	c.Risk = c.Action.Risk()
	for range rapid.IntRange(0, 2).Draw(d.t, "findings") {
		c.AddFindings(diff.Finding{
			Rule: "r" + d.text(), Source: "https://example.com/" + d.text(), Message: "w" + d.text(), Path: d.text(),
			Risk: diff.Risk(rapid.IntRange(0, 5).Draw(d.t, "risk")), Security: d.yes(),
		})
	}
	for range rapid.IntRange(0, 4).Draw(d.t, "fields") {
		c.Fields = append(c.Fields, d.field())
	}
	return c
}

func (d drawer) field() diff.FieldChange {
	f := diff.FieldChange{
		Path: d.text(), Before: d.shown(), After: d.shown(), ForcesReplace: d.rarely("x") != "",
		Regenerated: d.rarely("x") != "",
		Owner:       d.rarely(d.text()), Fold: d.rarely(d.one(rules) + d.text()),
	}
	if f.Before.Masked || f.After.Masked {
		return f
	}
	switch rapid.IntRange(0, 5).Draw(d.t, "shape") {
	case 0:
		f.Lines = rapid.SliceOfN(rapid.Custom(d.line), 1, 12).Draw(d.t, "lines")
	case 1:
		f.Reordered = true
		f.Moved = []diff.ElementMove{{Name: d.text(), From: 1, To: 0}}
		f.Before = diff.ShownValue{Type: diff.TypeList, Text: d.one([]string{`["a","b","c"]`, `[1,{"k":2}]`, `not a list`})}
		f.After = diff.ShownValue{Type: diff.TypeList, Text: d.one([]string{`["b","c","a"]`, `[{"k":2},1]`})}
	case 2:
		head := d.text()
		f.Before = diff.ShownValue{Type: diff.TypeString, Text: head + "/v1/" + head}
		f.After = diff.ShownValue{Type: diff.TypeString, Text: head + "/v2/" + head}
	}
	return f
}

func (d drawer) line(t *rapid.T) diff.Line {
	op := rapid.SampledFrom([]diff.LineOp{diff.LineSame, diff.LineRemoved, diff.LineAdded, diff.LineSkipped,
		diff.LineMore}).Draw(t, "op")
	if op == diff.LineSkipped || op == diff.LineMore {
		return diff.Line{Op: op, Count: rapid.IntRange(1, 9).Draw(t, "count")}
	}
	return diff.Line{Op: op, Text: d.word.Draw(t, "line")}
}

func (d drawer) shown() diff.ShownValue {
	switch rapid.IntRange(0, 9).Draw(d.t, "side") {
	case 0:
		return diff.ShownValue{Absent: true}
	case 1:
		return diff.ShownValue{Unknown: true}
	case 2:
		return diff.ShownValue{Masked: true, Mark: diff.MarkChanged, Tag: d.text()}
	case 3:
		return diff.ShownValue{Type: diff.TypeObject, Text: d.text()}
	case 4:
		text := d.text()
		return diff.ShownValue{Type: diff.TypeString, Text: text, Sum: "sha256:0", Size: len(text) + 12, Start: 3}
	}
	return diff.ShownValue{Type: diff.TypeString, Text: d.text()}
}
