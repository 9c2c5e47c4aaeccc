package diff_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestFirstMismatch checks that the result names the object and the field, for each list.
func TestFirstMismatch(t *testing.T) {
	t.Parallel()
	one := func(action diff.Action, fields ...diff.FieldChange) []diff.Change {
		return []diff.Change{{Address: "ConfigMap/a", Action: action, Fields: fields}}
	}
	color := diff.FieldChange{Path: "data.color", Before: diff.ShownValue{Text: "red"}}
	blue := diff.FieldChange{Path: "data.color", Before: diff.ShownValue{Text: "blue"}}
	size := diff.FieldChange{Path: "data.size"}
	for name, test := range map[string]struct {
		earlier, later diff.Report
		want           diff.Mismatch
	}{
		"the same": {diff.Report{Changes: one(diff.Update, color)}, diff.Report{Changes: one(diff.Update, color)},
			diff.Mismatch{}},
		"new": {diff.Report{}, diff.Report{Hooks: one(diff.Create)},
			diff.Mismatch{Address: "ConfigMap/a", After: diff.Create}},
		"gone": {diff.Report{Kept: one(diff.Destroy)}, diff.Report{},
			diff.Mismatch{Address: "ConfigMap/a", Before: diff.Destroy}},
		"action": {diff.Report{Drift: one(diff.Update)}, diff.Report{Drift: one(diff.Destroy)},
			diff.Mismatch{Address: "ConfigMap/a", Before: diff.Update, After: diff.Destroy}},
		"field": {diff.Report{Changes: one(diff.Update, color)}, diff.Report{Changes: one(diff.Update, blue)},
			diff.Mismatch{"ConfigMap/a", diff.Update, diff.Update, "data.color", ""}},
		"one more": {diff.Report{Outputs: one(diff.Update, color)}, diff.Report{Outputs: one(diff.Update, color, size)},
			diff.Mismatch{"ConfigMap/a", diff.Update, diff.Update, "data.size", ""}},
		"one less": {diff.Report{Tests: one(diff.Update, color, size)}, diff.Report{Tests: one(diff.Update, color)},
			diff.Mismatch{"ConfigMap/a", diff.Update, diff.Update, "data.size", ""}},
		"risk": {
			diff.Report{Deferred: one(diff.Update)},
			diff.Report{Deferred: []diff.Change{{Address: "ConfigMap/a", Action: diff.Update, Risk: diff.RiskRestart}}},
			diff.Mismatch{Address: "ConfigMap/a", Before: diff.Update, After: diff.Update},
		},
		"deposed": {
			diff.Report{Changes: append(one(diff.Update),
				diff.Change{Address: "ConfigMap/a", Deposed: "1", Action: diff.Destroy})}, diff.Report{Changes: one(diff.Update)},
			diff.Mismatch{Address: "ConfigMap/a", Before: diff.Destroy},
		},
		"note":   {diff.Report{Notes: []string{"a"}}, diff.Report{Notes: []string{"a", "b"}}, diff.Mismatch{Note: "b"}},
		"totals": {diff.Report{}, diff.Report{Totals: diff.Totals{Create: 1}}, diff.Mismatch{}},
	} {
		if got := diff.FirstMismatch(&test.earlier, &test.later); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
