package diff

import (
	"fmt"
	"strconv"
	"strings"
)

// This file is the one place that puts a change into words, so that all renderers and screens say the same. All of it is
// neutralised.

// Summary counts the changes: what is created, updated, replaced and destroyed always, the rest where there is any. It says "No
// changes" when an apply would do nothing, and "Nothing to apply" when the plan lists changes that its maker says cannot be
// applied.
func (r *Report) Summary() string {
	t := r.Totals
	if len(r.Changes) == 0 && len(r.Outputs) == 0 {
		if r.Applyable {
			return "No changes are listed, but the plan can be applied"
		}
		return "No changes"
	}
	parts := []string{
		fmt.Sprintf("%d to create", t.Create),
		fmt.Sprintf("%d to update", t.Update),
		fmt.Sprintf("%d to replace", t.Replace),
		fmt.Sprintf("%d to destroy", t.Destroy),
	}
	for _, p := range []struct {
		n    int
		word string
	}{{t.Move, "to move"}, {t.Import, "to import"}, {t.Forget, "to forget"}, {t.Read, "to read"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if t.Outputs > 0 {
		parts = append(parts, Plural(t.Outputs, "output changes", "outputs change"))
	}
	if t.Deferred > 0 {
		parts = append(parts, fmt.Sprintf("%d deferred", t.Deferred))
	}
	summary := strings.Join(parts, ", ")
	if !r.Applyable {
		return "Nothing to apply: " + summary
	}
	return summary
}

// FoldedSummary says what was left out, for example "12 resources unchanged". It is empty when nothing was.
func (r *Report) FoldedSummary() string {
	var parts []string
	for _, f := range r.Folded {
		if f.Count == 0 {
			continue
		}
		what := f.What
		if f.Count == 1 {
			what = strings.TrimSuffix(what, "s")
		}
		parts = append(parts, Neutral(fmt.Sprintf("%d %s %s", f.Count, what, f.Rule)))
	}
	return strings.Join(parts, ", ")
}

// Plural is "1 one" or "n many".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Symbol is the field's own sign for the change, at most three characters wide.
func (c Change) Symbol() string {
	switch c.Action {
	case Create:
		return "+"
	case Update:
		return "~"
	case Replace:
		if c.Order == CreateFirst {
			return "+/-"
		}
		return "-/+"
	case Destroy:
		return "-"
	case Move:
		return "->"
	case Import:
		return "<-"
	case Forget:
		return "."
	case Read:
		return "<="
	}
	return ""
}

// Title is the address of the object, and which of its objects if there are several.
func (c Change) Title() string {
	if c.Deposed != "" {
		return Neutral(fmt.Sprintf("%s (deposed object %s)", c.Address, c.Deposed))
	}
	return Neutral(c.Address)
}

var verbs = map[Action]string{
	Create: "create", Update: "update in place", Replace: "replace", Destroy: "destroy",
	Move: "move", Import: "import", Forget: "forget, and leave the object as it is",
	Read: "read during apply", Noop: "no change",
}

// Headline says in words what happens to the object, and why.
func (c Change) Headline() string {
	var parts []string
	verb := verbs[c.Action]
	if c.Action == Replace && c.Order == CreateFirst {
		verb += " (the new one is created first)"
	}
	parts = append(parts, verb)
	if c.From != "" {
		moved := "moved from " + c.From
		if c.Action == Move {
			parts[0] = "move from " + c.From
		} else {
			parts = append(parts, moved)
		}
	}
	if c.Imported {
		parts = append(parts, importWords(c.ImportID))
		if c.Action == Import {
			parts = []string{strings.Replace(importWords(c.ImportID), "imported", "import", 1)}
		}
	}
	if c.Why != "" {
		parts = append(parts, "because "+c.Why)
	}
	return Neutral(strings.Join(parts, ", "))
}

// Happened says in words what others have done to the object: the headline of a change in Report.Drift.
func (c Change) Happened() string {
	words, ok := map[Action]string{
		Create: "created", Update: "changed", Replace: "replaced", Destroy: "destroyed",
	}[c.Action]
	if !ok {
		return c.Headline()
	}
	if c.From != "" {
		words += ", moved from " + c.From
	}
	return Neutral(words)
}

func importWords(id string) string {
	switch id {
	case "":
		return "imported by its identity"
	case Hidden:
		return "imported as " + Hidden
	}
	return "imported as " + strconv.Quote(id)
}

// Display is the value on one line. A string is quoted.
func (s Shown) Display() string {
	switch {
	case s.Absent:
		return "(none)"
	case s.Unknown && s.Masked:
		return "(sensitive, known after apply)"
	case s.Unknown:
		return "(known after apply)"
	case s.Masked:
		return "(" + s.tagged("sensitive") + ")"
	}
	text := Neutral(s.Text)
	if s.Type == TypeString {
		text = strconv.Quote(s.Text)
	}
	if s.Sum == "" {
		return text
	}
	if s.Start > 0 {
		text = "…" + text
	}
	if s.Start+len(s.Text) < s.Size {
		text += "…"
	}
	return fmt.Sprintf("%s (%d of %d bytes)", text, len(s.Text), s.Size)
}

func (s Shown) tagged(word string) string {
	if s.Tag == "" {
		return word
	}
	return word + " #" + Neutral(s.Tag)
}

// Sides is the field in one or two texts: two where there is something to compare, one (in after) where one says it all. The
// action of the change decides which: what is created has no before worth showing.
func (f FieldChange) Sides(a Action) (before, after string) {
	if f.After.Masked && !f.After.Unknown {
		return "", f.masked()
	}
	if f.Before.Masked && f.After.Absent {
		return "", "(" + f.Before.tagged("sensitive") + ", removed)"
	}
	switch {
	case f.Before.Absent && (a == Create || a == Read || a == Replace || a == Import):
		return "", f.After.Display()
	case f.After.Absent && (a == Destroy || a == Forget):
		return "", f.Before.Display()
	case f.Before.Absent && f.After.Unknown:
		return "", f.After.Display()
	}
	return f.Before.Display(), f.After.Display()
}

func (f FieldChange) masked() string {
	words := map[Mark]string{New: "new", Changed: "changed", Same: "unchanged"}
	tags := ""
	switch {
	case f.Before.Tag != "" && f.After.Tag != "" && f.Before.Tag != f.After.Tag:
		tags = " #" + Neutral(f.Before.Tag) + " → #" + Neutral(f.After.Tag)
	case f.After.Tag != "":
		tags = " #" + Neutral(f.After.Tag)
	}
	word := words[f.After.Mark]
	if word == "" {
		return "(sensitive" + tags + ")"
	}
	return "(sensitive, " + word + tags + ")"
}

// Name is the path of the field, or "value" for an object that is one value.
func (f FieldChange) Name() string {
	if f.Path == "" {
		return "value"
	}
	return Neutral(f.Path)
}

// Quiet says that a field of a change needs no line of its own: a value that is known after apply, of an object that is new or
// made anew.
func (f FieldChange) Quiet(a Action) bool {
	return f.After.Unknown && !f.ForcesReplace && (a == Create || a == Replace || a == Read)
}

// Display is the line with its sign. Skipped lines are counted.
func (l Line) Display() string {
	switch l.Op {
	case LineAdded:
		return "+ " + Neutral(l.Text)
	case LineRemoved:
		return "- " + Neutral(l.Text)
	case LineSkipped:
		return "  … " + Plural(l.Count, "line as before", "lines as before")
	case LineMore:
		return "  … " + Plural(l.Count, "more changed line", "more changed lines") + ", not shown"
	}
	return "  " + Neutral(l.Text)
}
