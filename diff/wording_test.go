package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	reports "github.com/nuon-toolkit/nuon/diff/internal/sample"
)

func stringOf(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }

// TestSummary checks that the usual actions are always counted, and all else
// only if it is not zero.
func TestSummary(t *testing.T) {
	change := []diff.Change{{Address: "a", Action: diff.Update}}
	for want, r := range map[string]*diff.Report{
		"No changes": {},
		"No changes are listed, but the plan can be applied":       {Applyable: true},
		"0 to create, 1 to update, 0 to replace, 0 to destroy":     {Applyable: true, Changes: change},
		"Nothing to apply: 0 to create, 1 to update, 0 to replace": {Changes: change},
		", 0 to destroy, 1 hook, 1 test, 1 kept": {Applyable: true, Hooks: change, Tests: change,
			Kept: change},
		"1 output changes, 1 deferred": {Applyable: true, Outputs: change, Deferred: change},
		"No changes, 2 checks fail": {
			Checks: []diff.Check{{Address: "a", Status: diff.CheckFail}, {Address: "b", Status: diff.CheckError},
				{Address: "c", Status: diff.CheckUnknown}}},
		"0 to destroy, 1 only in folded fields": {Applyable: true,
			Changes: []diff.Change{{Address: "a", Action: diff.Update,
				Fields: []diff.FieldChange{{Path: "p", Fold: "checksum"}}}}},
		"1 to update, 0 to replace, 0 to destroy, 1 security change": {Applyable: true,
			Changes: []diff.Change{{Address: "a", Action: diff.Update,
				Findings: []diff.Finding{{Rule: "r", Message: "w", Security: true}}}}},
	} {
		r.Totals = r.Count()
		if got := r.Summary(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// TestFoldWords checks the words for folds, singular and plural.
func TestFoldWords(t *testing.T) {
	for want, f := range map[string]diff.Fold{
		"1 chart label":               {Rule: "chart label", What: diff.FoldFields, Count: 1},
		"490 chart labels":            {Rule: "chart label", What: diff.FoldFields, Count: 490},
		"12 resources unchanged":      {Rule: diff.FoldUnchanged, What: diff.FoldResources, Count: 12},
		"1 object unchanged":          {Rule: diff.FoldUnchanged, What: diff.FoldObjects, Count: 1},
		"3 fields ignored by dates":   {Rule: "ignored by dates", What: diff.FoldFields, Count: 3},
		"2 fields owned by others":    {Rule: "owned by others", What: diff.FoldFields, Count: 2},
		"1 server-owned field":        {Rule: "server-owned", What: diff.FoldFields, Count: 1},
		"5 checks passed":             {Rule: "passed", What: "checks", Count: 5},
		"2 fields (a rule of theirs)": {Rule: "a rule of theirs", What: diff.FoldFields, Count: 2},
		`1 field (\x1b[31m)`:          {Rule: "\x1b[31m", What: diff.FoldFields, Count: 1},
	} {
		if got := f.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHeadlines checks the words for renamed, moved and imported objects.
func TestHeadlines(t *testing.T) {
	for want, c := range map[string]diff.Change{
		"replaces Job/migrate-v1, which is removed": {Action: diff.Replace, From: "Job/migrate-v1", Renamed: true},
		"move from a":                          {Action: diff.Move, From: "a"},
		"update in place, moved from a":        {Action: diff.Update, From: "a"},
		"update in place, risk: restart":       {Action: diff.Update, Risk: diff.RiskRestart},
		`import as "x"`:                        {Action: diff.Import, Imported: true, ImportID: "x", Risk: diff.RiskAdditive},
		"destroy, because it is no longer set": {Action: diff.Destroy, Why: "it is no longer set", Risk: diff.RiskDestroy},
	} {
		if got := c.Headline(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	judged := diff.Change{Action: diff.Update}
	judged.AddFindings(diff.Finding{Rule: "r", Message: "w", Risk: diff.RiskRestart})
	if got := judged.Headline(); got != "update in place" {
		t.Errorf("a risk that a finding says is said again: %q", got)
	}
}

// TestRemarks checks that security comes first, with its fields, and that the
// same finding about several fields is one remark.
func TestRemarks(t *testing.T) {
	c := diff.Change{Action: diff.Update}
	c.AddFindings(diff.Finding{Rule: "restarts", Message: "the pods are replaced", Risk: diff.RiskRestart, Path: "spec.a"},
		diff.Finding{Rule: "opens", Message: "anybody may reach it", Risk: diff.RiskInPlace, Security: true})
	for i := range 5 {
		c.AddFindings(diff.Finding{Rule: "lower", Message: "less memory", Risk: diff.RiskInPlace, Path: "spec.x"},
			diff.Finding{Rule: "wider", Message: "more rights", Risk: diff.RiskInPlace, Security: true,
				Path: fmt.Sprintf("spec.%d", i)})
	}
	var got []string
	for _, r := range c.Remarks() {
		got = append(got, r.String())
	}
	want := []string{
		"! security: anybody may reach it  [opens]",
		"! security: more rights  [wider at spec.0, spec.1, spec.2 and 2 more]",
		"restart: the pods are replaced  [restarts]",
		"note: less memory  [lower]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOrder checks that a new order names what moves, with both places.
func TestOrder(t *testing.T) {
	list := func(s string) diff.ShownValue { return diff.ShownValue{Type: diff.TypeList, Text: s} }
	for _, try := range []struct {
		name, want string
		was, is    diff.ShownValue
		places     []int
	}{
		{"one", "moved: a from place 1 to 3", list(`["a","b","c"]`), list(`["b","c","a"]`), []int{1, 2, 0}},
		{"among new ones", "moved: c from place 4 to 2", list(`["a","b","c"]`), list(`["a","c","b"]`), []int{0, 3, -1, 2}},
		{"two", "moved: d from place 4 to 1 and c from place 3 to 2", list(`["a","b","c","d"]`), list(`["d","c","a","b"]`),
			[]int{3, 2, 0, 1}},
		{"no other place", "", list(`["a","b","c"]`), list(`["c","b","a"]`), []int{2, 1, 0}},
		{"without names", "moved: the element from place 2 to 1", list(`[0,1]`), list(`[1,0]`), []int{1, 0}},
		{"hostile", `moved: \x1b from place 2 to 1`, list(`["a, b","\u001b"]`), list(`["\u001b","a, b"]`), []int{1, 0}},
		{"another element", "", list(`["a","b"]`), list(`["b","evil"]`), []int{1, 0}},
		{"cut", "", list(`[0,1]`), diff.ShownValue{Type: diff.TypeList, Text: "[1", Sum: "sha256:0"}, []int{1, 0}},
	} {
		f := diff.FieldChange{Before: try.was, After: try.is}
		if f.MarkReordered(try.places); f.OrderSummary() != try.want {
			t.Errorf("%s: %q, want %q", try.name, f.OrderSummary(), try.want)
		}
	}
}

// TestFewestMoves checks that the elements not named as moved keep their order.
func TestFewestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, -1, -1}).Draw(t, "places")
		f := diff.FieldChange{}
		f.MarkReordered(places)
		moves := map[int]bool{}
		for _, m := range f.Moved {
			if moves[m.To] = true; places[m.To] != m.From {
				t.Fatalf("%v: %+v", places, m)
			}
		}
		last := -1
		for j, i := range places {
			if i >= 0 && !moves[j] {
				if i < last {
					t.Fatalf("%v: %+v leave an order in which %d comes behind %d", places, f.Moved, i, last)
				}
				last = i
			}
		}
		longest := make([]int, len(places))
		best := 0
		for j, i := range places {
			if i < 0 {
				continue
			}
			longest[j] = 1
			for k := range j {
				if places[k] >= 0 && places[k] < i {
					longest[j] = max(longest[j], longest[k]+1)
				}
			}
			best = max(best, longest[j])
		}
		if len(f.Moved) != 6-best {
			t.Fatalf("%v: %d of 6 move, %d stay", places, len(f.Moved), best)
		}
	})
}

// TestApart checks that only the difference is separated, at word boundaries,
// and that no character is split.
func TestApart(t *testing.T) {
	for _, try := range []struct{ before, after, want string }{
		{`"web:1.4.0"`, `"web:1.5.0"`, `"web:[1.4.0|1.5.0]"`},
		{`"registry/web-a1b2"`, `"registry/web-a1c3"`, `"registry/web-[a1b2|a1c3]"`},
		{`"a b c d"`, `"a b d"`, `"a b [c |]d"`},
		{`"x/e` + "\u0301" + `/yyyy"`, `"x/e/yyyy"`, `"x/[é/|e/]yyyy"`},
		{`"line\nmore and more"`, `"line\tmore and more"`, `"line[\nmore|\tmore] and more"`},
		{`"hello"`, `"howdy"`, ""},
	} {
		f := diff.FieldChange{Before: stringOf("x"), After: stringOf("y")}
		a, ok := f.StringDelta(try.before, try.after, true)
		got := ""
		if ok {
			got = a.Head + "[" + a.Before + "|" + a.After + "]" + a.Tail
		}
		if got != strings.ReplaceAll(try.want, "é", "e\u0301") {
			t.Errorf("%s and %s: %s, want %s", try.before, try.after, got, try.want)
		}
		if ok && (a.Head+a.Before+a.Tail != try.before || a.Head+a.After+a.Tail != try.after) {
			t.Errorf("%s: something is lost: %+v", try.before, a)
		}
	}
	f := diff.FieldChange{Before: stringOf("x"), After: stringOf("y")}
	long := strings.Repeat("0123456789 ", 9)
	a, ok := f.StringDelta(`"`+long+`one `+long+`"`, `"`+long+`two `+long+`"`, false)
	if want := (diff.StringDelta{Head: "…23456789 0123456789 ", Before: "one", After: "two",
		Tail: " 0123456789 01234567…"}); !ok || a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
	masked := diff.FieldChange{Before: diff.ShownValue{Masked: true}, After: diff.ShownValue{Masked: true}}
	if _, ok := masked.StringDelta("(sensitive)", "(sensitive)!", false); ok {
		t.Error("what is masked is taken apart")
	}
}

// TestSections checks that every change that is not folded is in one section,
// under one title, in the order of its part.
func TestSections(t *testing.T) {
	r := reports.Release()
	var got []string
	for _, s := range r.Sections() {
		line := fmt.Sprintf("%s (%d)", s.Name, s.Count())
		n := 0
		for _, p := range s.Parts {
			line += fmt.Sprintf(" | %s: %s", p.Title, p.Counts())
			for _, c := range p.Changes {
				if s.Changes[n] != c {
					t.Errorf("%s: %s stands at another place in its part", s.Name, c.Address)
				}
				n++
			}
		}
		got = append(got, line)
	}
	for _, n := range r.Noises() {
		got = append(got, n.Text)
	}
	want := []string{
		"changes (6) | no namespace: 1 to update | namespace shop: 3 to update, 1 to replace, 1 to destroy",
		"hooks (1) | Helm runs at pre-upgrade: 1 to create", "tests (1) | : 1 to update", "kept (1) | : 1 to forget",
		"drift (1) | : 1 to update", "10 objects change only in chart labels",
		"2 objects change only in chart labels and checksums",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestModules checks that a Terraform report with more than one module is
// divided, with the root first, and that passed checks form no section.
func TestModules(t *testing.T) {
	r := &diff.Report{Kind: diff.KindTerraform, Changes: []diff.Change{
		{Address: "a.b", Action: diff.Create}, {Address: "module.m.a.b", Module: "module.m", Action: diff.Create},
		{Address: "z.z", Action: diff.Destroy},
	}, Checks: []diff.Check{{Address: "check.a", Status: diff.CheckPass}, {Address: "check.b", Status: diff.CheckUnknown}}}
	sections := r.Sections()
	if len(sections) != 2 || len(sections[0].Parts) != 2 || len(sections[1].Checks) != 1 {
		t.Fatalf("%+v", sections)
	}
	if p := sections[0].Parts; p[0].Title != "the root module" || p[0].Counts() != "1 to create, 1 to destroy" ||
		p[1].Title != "module.m" {
		t.Errorf("%+v", p)
	}
	r.Changes = r.Changes[:1]
	if p := r.Sections()[0].Parts; len(p) != 1 || p[0].Title != "" {
		t.Errorf("one module is divided: %+v", p)
	}
	if got := sections[1].Checks[0].Headline(); got != "is known only after apply" {
		t.Error(got)
	}
}
