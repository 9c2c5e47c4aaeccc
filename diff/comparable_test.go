package diff_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestGist checks that values that always differ between installs do not
// distinguish reports, and all others do.
func TestGist(t *testing.T) {
	text := func(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }
	report := func(a diff.Action, f diff.FieldChange) *diff.Report {
		r := &diff.Report{Kind: diff.KindTerraform, Applyable: true,
			Changes: []diff.Change{{Address: "a.b", Action: a, Risk: a.Risk(), ResourceKind: "a", Name: "b",
				Fields: []diff.FieldChange{f}}}}
		r.Totals = r.Count()
		return r
	}
	unknown, absent, masked := diff.ShownValue{Unknown: true}, diff.ShownValue{Absent: true}, diff.ShownValue{Masked: true}
	for name, c := range map[string]struct {
		one, two *diff.Report
		same     bool
	}{
		"ids of what is replaced": {
			report(diff.Replace, diff.FieldChange{Path: "id", Before: text("1"), After: unknown}),
			report(diff.Replace, diff.FieldChange{Path: "id", Before: text("2"), After: unknown}), true},
		"what is destroyed": {
			report(diff.Destroy, diff.FieldChange{Path: "id", Before: text("1"), After: absent}),
			report(diff.Destroy, diff.FieldChange{Path: "id", Before: text("2"), After: absent}), true},
		"a switch of what is destroyed": {
			report(diff.Destroy,
				diff.FieldChange{Path: "skip_final_snapshot", Before: diff.ShownValue{Text: "true", Type: diff.TypeBool},
					After: absent}),
			report(diff.Destroy,
				diff.FieldChange{Path: "skip_final_snapshot", Before: diff.ShownValue{Text: "false", Type: diff.TypeBool},
					After: absent}), false},
		"lines of what is destroyed": {report(diff.Destroy, diff.FieldChange{Path: "p", Before: text("1"), After: absent,
			Lines: []diff.Line{{Op: diff.LineRemoved, Text: "1"}}}),
			report(diff.Destroy, diff.FieldChange{Path: "p", Before: text("2"), After: absent}), true},
		"other fields that go": {
			report(diff.Destroy, diff.FieldChange{Path: "id", Before: text("1"), After: absent}),
			report(diff.Destroy, diff.FieldChange{Path: "arn", Before: text("1"), After: absent}), false},
		"one is new": {report(diff.Replace, diff.FieldChange{Path: "id", Before: absent, After: unknown}),
			report(diff.Replace, diff.FieldChange{Path: "id", Before: text("2"), After: unknown}), false},
		"one is masked": {report(diff.Destroy, diff.FieldChange{Path: "id", Before: masked, After: absent}),
			report(diff.Destroy, diff.FieldChange{Path: "id", Before: text("2"), After: absent}), false},
		"a value that changes": {
			report(diff.Update, diff.FieldChange{Path: "n", Before: text("1"), After: text("3")}),
			report(diff.Update, diff.FieldChange{Path: "n", Before: text("2"), After: text("3")}), false},
		"a value that an update takes": {report(diff.Update, diff.FieldChange{Path: "n", Before: text("1"), After: absent}),
			report(diff.Update, diff.FieldChange{Path: "n", Before: text("2"), After: absent}), false},
		"a value that comes": {
			report(diff.Replace, diff.FieldChange{Path: "n", Before: text("1"), After: text("3")}),
			report(diff.Replace, diff.FieldChange{Path: "n", Before: text("1"), After: text("4")}), false},
	} {
		before := c.one.Digest()
		if same := c.one.ComparableForm().GroupDigest() == c.two.ComparableForm().GroupDigest(); same != c.same {
			t.Errorf("%s: alike %t", name, same)
		}
		if c.one.Digest() != before {
			t.Errorf("%s: the report itself was changed", name)
		}
	}
	drift := func(id string) *diff.Report {
		r := report(diff.Destroy, diff.FieldChange{Path: "id", Before: text(id), After: absent})
		r.Drift, r.Changes = r.Changes, nil
		return r
	}
	if drift("1").ComparableForm().GroupDigest() == drift("2").ComparableForm().GroupDigest() {
		t.Error("what others did is not told apart")
	}
}
