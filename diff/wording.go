package diff

import (
	"fmt"
	"strconv"
	"strings"
)

// This file is the one place that puts a change into words, so that all renderers and screens say the same. All of it is
// neutralised.

// Tally is one count of a summary.
type Tally struct {
	Words string
	// Destructive says that it counts what is replaced or destroyed, and Security that it counts what touches who may do or reach what.
	Destructive, Security bool
}

// Summary counts the changes: what is created, updated, replaced and destroyed always, the rest where there is any. It says "No
// changes" when an apply would do nothing, and "Nothing to apply" when the plan lists changes that its maker says cannot be
// applied.
func (r *Report) Summary() string {
	var words []string
	for _, t := range r.Tallies() {
		words = append(words, t.Words)
	}
	return strings.Join(words, ", ")
}

// Tallies are the summary in its parts, for whoever shows one of them in another way.
func (r *Report) Tallies() []Tally {
	t := r.Totals
	var out []Tally
	switch {
	case len(r.Changes)+len(r.Outputs)+len(r.Hooks)+len(r.Tests)+len(r.Kept) > 0:
		out = t.always()
	case r.Applyable:
		out = append(out, Tally{Words: "No changes are listed, but the plan can be applied"})
	default:
		out = append(out, Tally{Words: "No changes"})
	}
	for _, words := range t.beside() {
		out = append(out, Tally{Words: words})
	}
	if t.Security > 0 {
		out = append(out, Tally{Words: Plural(t.Security, "security change", "security changes"), Security: true})
	}
	if !r.Applyable && len(r.Changes)+len(r.Outputs) > 0 {
		out[0].Words = "Nothing to apply: " + out[0].Words
	}
	return out
}

// counted is a number and what it counts.
type counted struct {
	n         int
	one, many string
}

func (c counted) String() string { return Plural(c.n, c.one, c.many) }

func same(n int, words string) counted { return counted{n, words, words} }

// always are the counts of a summary that are never left out, and those of rarer actions.
func (t Totals) always() []Tally {
	var out []Tally
	for i, c := range t.actions() {
		if i < 4 || c.n > 0 {
			out = append(out, Tally{Words: c.String(), Destructive: c.n > 0 && (i == 2 || i == 3)})
		}
	}
	return out
}

// some are the counts of actions that are not none.
func (t Totals) some() []string { return words(t.actions()) }

// beside are the counts of what is not an action.
func (t Totals) beside() []string {
	return words([]counted{
		same(t.Noise, "only in folded fields"), {t.Outputs, "output changes", "outputs change"}, {t.Hooks, "hook", "hooks"},
		{t.Tests, "test", "tests"}, same(t.Kept, "kept"), same(t.Deferred, "deferred"), {t.Failed, "check fails", "checks fail"},
	})
}

// actions are the counts of actions: the usual four, of which the last two destroy something, and the rarer ones.
func (t Totals) actions() []counted {
	return []counted{
		same(t.Create, "to create"), same(t.Update, "to update"), same(t.Replace, "to replace"), same(t.Destroy, "to destroy"),
		same(t.Move, "to move"), same(t.Import, "to import"), same(t.Forget, "to forget"), same(t.Read, "to read"),
	}
}

func words(counts []counted) []string {
	var out []string
	for _, c := range counts {
		if c.n > 0 {
			out = append(out, c.String())
		}
	}
	return out
}

// objects is what the report is about, one and many.
func (r *Report) objects() (one, many string) {
	switch r.Kind {
	case KindKubernetes:
		return "object", "objects"
	case KindApp:
		return "part", "parts"
	}
	return "resource", "resources"
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

// verbsOfConfig are those of Change.Config that differ.
var verbsOfConfig = map[Action]string{Update: "change", Forget: "take out of the app"}

// Headline says in words what happens to the object, and why.
func (c Change) Headline() string {
	var parts []string
	verb := verbs[c.Action]
	if said, ok := verbsOfConfig[c.Action]; ok && c.Config {
		verb = said
	}
	if c.Action == Replace && c.Order == CreateFirst {
		verb += " (the new one is created first)"
	}
	parts = append(parts, verb)
	switch {
	case c.From == "":
	case c.Renamed:
		parts[0] = "replaces " + c.From + ", which goes"
	case c.Action == Move:
		parts[0] = "move from " + c.From
	default:
		parts = append(parts, "moved from "+c.From)
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
	if risk := c.RiskWords(); risk != "" {
		parts = append(parts, risk)
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
	text := s.Text
	if s.Type == TypeString {
		text = strconv.Quote(text)
	}
	text = Neutral(text)
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

// AllForce reports whether a replacement is named with its reason and every field that is not folded forces it, so that a field need not
// say so.
func (c *Change) AllForce() bool {
	n := 0
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Fold == "" {
			n++
			if !f.ForcesReplace {
				return false
			}
		}
	}
	return n > 3 && c.Why != ""
}

// Asides are what must be said of the field beside its values: that it forces a replacement always comes first. Past says that the change
// has happened already, by the hand of the field's owner.
func (f *FieldChange) Asides(past bool) []string {
	var out []string
	if f.ForcesReplace {
		out = append(out, "(forces replacement)")
	}
	if f.Regenerated {
		out = append(out, "(will be regenerated)")
	}
	switch {
	case f.Owner == "":
	case past:
		out = append(out, "(by "+Neutral(f.Owner)+")")
	default:
		out = append(out, "(owned by "+Neutral(f.Owner)+")")
	}
	if f.Fold != "" {
		out = append(out, "(folded: "+Neutral(f.Fold)+")")
	}
	return out
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
