package terminal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// TestSharedPathsArePrintedOnce: what several fields share stands above them, and an element that is new or goes says so once.
func TestSharedPathsArePrintedOnce(t *testing.T) {
	added := &diff.Element{Change: diff.ElementAdded, Path: "spec.groups[0].rules[4]", Pointer: "/spec/groups/0/rules/4"}
	removed := &diff.Element{Change: diff.ElementRemoved, Path: "spec.groups[0].rules[2]", Pointer: "/spec/groups/0/rules/2"}
	verb := func(name string) diff.FieldChange {
		path := "rules[0].verbs[" + name + "]"
		return diff.FieldChange{Path: path, Before: diff.Shown{Absent: true}, After: text(name),
			Element: &diff.Element{Change: diff.ElementAdded, Path: path}}
	}
	out := render(t, report(diff.Change{Address: "x", Action: diff.Update, Fields: []diff.FieldChange{
		{Path: `metadata.labels["a.b/c"]`, Before: text("1"), After: text("2")},
		{Path: `metadata.labels["a.b/d"]`, Before: text("1"), After: text("2")},
		verb("get"),
		{Path: "spec.groups[0].rules[4].alert", Before: diff.Shown{Absent: true}, After: text("Down"), Element: added},
		{Path: "spec.groups[0].rules[4].expr", Before: diff.Shown{Absent: true}, After: text("up == 0"), Element: added},
		{Path: "spec.groups[0].rules[2]", Before: text("old"), After: diff.Shown{Absent: true}, Element: removed},
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
