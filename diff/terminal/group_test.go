package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// TestSharedPathsArePrintedOnce checks that common paths are headings above their fields, and that
// an added or removed element is marked once.
func TestSharedPathsArePrintedOnce(t *testing.T) {
	added := &diff.Element{Change: diff.ElementAdded, Path: "spec.groups[0].rules[4]", Pointer: "/spec/groups/0/rules/4"}
	removed := &diff.Element{Change: diff.ElementRemoved, Path: "spec.groups[0].rules[2]",
		Pointer: "/spec/groups/0/rules/2"}
	verb := func(name string) diff.FieldChange {
		path := "rules[0].verbs[" + name + "]"
		return diff.FieldChange{Path: path, Before: diff.ShownValue{Absent: true}, After: text(name),
			Element: &diff.Element{Change: diff.ElementAdded, Path: path}}
	}
	out := render(t, report(diff.Change{Address: "x", Action: diff.Update, Fields: []diff.FieldChange{
		{Path: `metadata.labels["a.b/c"]`, Before: text("1"), After: text("2")},
		{Path: `metadata.labels["a.b/d"]`, Before: text("1"), After: text("2")},
		verb("get"),
		{Path: "spec.groups[0].rules[4].alert", Before: diff.ShownValue{Absent: true}, After: text("Down"), Element: added},
		{Path: "spec.groups[0].rules[4].expr", Before: diff.ShownValue{Absent: true}, After: text("up == 0"), Element: added},
		{Path: "spec.groups[0].rules[2]", Before: text("old"), After: diff.ShownValue{Absent: true}, Element: removed},
		{Path: "spec.template.spec.containers[web].args", Before: text("a"), After: text("b")},
		{Path: "spec.template.spec.containers[web].image", Before: text("a"), After: text("b")},
		{Path: "spec.template.spec.containers[web].name", Before: text("a"), After: text("b")},
	}}), terminal.Options{})
	_, fields, _ := strings.Cut(out, "update in place\n")
	want := `      metadata.labels["a.b/c"]  "1" → "2"
      metadata.labels["a.b/d"]  "1" → "2"
      + rules[0].verbs[get]
      spec.groups[0].rules
        + [4]  added
          alert  "Down"
          expr   "up == 0"
        - [2]  "old"
      spec.template.spec.containers[web]
        args   "a" → "b"
        image  "a" → "b"
        name   "a" → "b"
`
	if d := cmp.Diff(want, fields); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestSameChangesArePrintedOnce checks that a group shows its action once, with the names of the
// objects and the findings, and unfolds into its changes.
func TestSameChangesArePrintedOnce(t *testing.T) {
	var changes []diff.Change
	for i := range 50 {
		c := diff.Change{Address: fmt.Sprintf("shop/Deployment.apps/d%02d", i), Name: fmt.Sprintf("d%02d", i),
			Action: diff.Update,
			Fields: []diff.FieldChange{{Path: "spec.image", Before: text("web:1"), After: text("web:2")}}}
		c.AddFindings(diff.Finding{Rule: "registry", Message: "it comes from elsewhere", Security: true, Path: "spec.image"})
		changes = append(changes, c)
	}
	r := report(changes...)
	out := render(t, r, terminal.Options{})
	_, shown, _ := strings.Cut(out, "\n\n")
	want := "  ~ 50 resources  update in place, the same in each\n      shop/Deployment.apps/{d00, d01,"
	if !strings.HasPrefix(shown, want) || !strings.Contains(shown, "d39}, … and 10 more, folded\n") ||
		strings.Count(shown, "[registry at spec.image]") != 1 || strings.Count(shown, `"web:1" → "web:2"`) != 1 {
		t.Errorf("folded:\n%s", shown)
	}
	p := terminal.NewPage(r, terminal.PageOptions{})
	if p.Changes() != 1 || !p.Folds(0) {
		t.Fatalf("%d changes", p.Changes())
	}
	p.Unfold(0, true)
	opened := rows(p, 0)
	for i := range 50 {
		if !strings.Contains(opened, fmt.Sprintf("  ~ shop/Deployment.apps/d%02d  update in place\n      ! security:", i)) {
			t.Errorf("d%02d is not in the group that is open:\n%s", i, opened)
		}
	}
}

// TestRewrittenTextsAreCounted checks that a text of which most lines change starts with counts,
// and that the lines after the first ones are folded.
func TestRewrittenTextsAreCounted(t *testing.T) {
	c := diff.Change{Address: "x", Action: diff.Update, Fields: []diff.FieldChange{{Path: "data.dashboard"}}}
	for i := range 60 {
		c.Fields[0].Lines = append(c.Fields[0].Lines, diff.Line{Op: diff.LineRemoved, Text: fmt.Sprint("old ", i)},
			diff.Line{Op: diff.LineAdded, Text: "new"})
	}
	for i := range 25 {
		c.Fields = append(c.Fields, diff.FieldChange{Path: fmt.Sprintf("data.d (json) panels[%d]", i), Before: text("1"),
			After: text(fmt.Sprint(i))})
	}
	r := report(c)
	out := render(t, r, terminal.Options{})
	for _, want := range []string{
		"dashboard  rewritten: 60 lines added, 60 removed\n", "… 80 more lines, folded",
		"d (json) panels  25 values: 0 added, 0 removed, 25 changed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	if p := terminal.NewPage(r, terminal.PageOptions{}); !p.Folds(0) {
		t.Error("the text cannot be unfolded")
	}
	if out := render(t, r, terminal.Options{All: true}); strings.Count(out, "- old ") != 60 {
		t.Errorf("unfolded:\n%s", out)
	}
}
