package diff

import (
	"fmt"
	"strconv"
	"strings"
)

// This file is the only place that describes a change as text, so that all
// renderers and screens agree. All texts are safe to print, see EscapeText.

// Tally is one count of a summary.
type Tally struct {
	Text string
	// Destructive marks a count of replaced or destroyed objects, and
	// Security a count of changes that affect who may do or reach what.
	Destructive, Security bool
}

// Summary counts the changes: it always includes creates, updates, replacements and destroys,
// and all others that are not zero. It returns "No changes" when an apply would do nothing,
// and "Nothing to apply" when the plan lists changes that its producer marks as not applyable.
func (r *Report) Summary() string {
	var words []string
	for _, t := range r.Tallies() {
		words = append(words, t.Text)
	}
	return strings.Join(words, ", ")
}

// Tallies returns the parts of the summary, for callers that format them differently.
func (r *Report) Tallies() []Tally {
	t := r.Totals
	var out []Tally
	switch {
	case len(r.Changes)+len(r.Outputs)+len(r.Hooks)+len(r.Tests)+len(r.Kept) > 0:
		out = t.requiredTallies()
	case r.Applyable:
		out = append(out, Tally{Text: "No changes are listed, but the plan can be applied"})
	default:
		out = append(out, Tally{Text: "No changes"})
	}
	for _, words := range t.otherTallies() {
		out = append(out, Tally{Text: words})
	}
	if t.Denied > 0 {
		out = append(out, Tally{Text: Plural(t.Denied, "policy denies", "policies deny"), Destructive: true})
	}
	for _, words := range tallyTexts([]nounCount{{t.NotEvaluated, "policy not evaluated", "policies not evaluated"},
		{t.Warned, "policy warns", "policies warn"}}) {
		out = append(out, Tally{Text: words})
	}
	if t.Security > 0 {
		out = append(out, Tally{Text: Plural(t.Security, "security change", "security changes"), Security: true})
	}
	if !r.Applyable && len(r.Changes)+len(r.Outputs)+len(r.Losses()) > 0 {
		out[0].Text = "Nothing to apply: " + out[0].Text
	}
	return out
}

// nounCount is a number with its noun.
type nounCount struct {
	n         int
	one, many string
}

func (c nounCount) String() string { return Plural(c.n, c.one, c.many) }

func same(n int, words string) nounCount { return nounCount{n, words, words} }

// requiredTallies returns the counts that a summary never omits, and those of rarer
// actions that are not zero.
func (t Totals) requiredTallies() []Tally {
	var out []Tally
	for i, c := range t.actionCounts() {
		if i < 4 || c.n > 0 {
			out = append(out, Tally{Text: c.String(), Destructive: c.n > 0 && (i == 2 || i == 3)})
		}
	}
	return out
}

// nonZeroActions returns the counts of actions that are not zero.
func (t Totals) nonZeroActions() []string { return tallyTexts(t.actionCounts()) }

// otherTallies returns the counts of everything other than actions.
func (t Totals) otherTallies() []string {
	return tallyTexts([]nounCount{
		same(t.Noise, "only in folded fields"), {t.Outputs, "output changes", "outputs change"}, {t.Hooks, "hook", "hooks"},
		{t.Tests, "test", "tests"}, same(t.Kept, "kept"), same(t.Deferred, "deferred"),
		{t.Failed, "check fails", "checks fail"},
	})
}

// actionCounts returns the counts of actions: the usual four, of which the last
// two are destructive, and the rarer ones.
func (t Totals) actionCounts() []nounCount {
	return []nounCount{
		same(t.Create, "to create"), same(t.Update, "to update"), same(t.Replace, "to replace"),
		same(t.Destroy, "to destroy"),
		same(t.Move, "to move"), same(t.Import, "to import"), same(t.Forget, "to forget"), same(t.Read, "to read"),
	}
}

func tallyTexts(counts []nounCount) []string {
	var out []string
	for _, c := range counts {
		if c.n > 0 {
			out = append(out, c.String())
		}
	}
	return out
}

// objects returns the singular and plural noun for the objects of the report.
func (r *Report) objects() (one, many string) {
	switch r.Kind {
	case KindKubernetes:
		return "object", "objects"
	case KindApp:
		return "part", "parts"
	}
	return "resource", "resources"
}

// Plural returns "1 one" or "n many".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// List joins parts for a sentence: "a, b and c".
func List(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Symbol returns the sign of the change, at most three characters wide.
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

// Title returns the address of the object, with the key of a deposed object.
func (c Change) Title() string {
	if c.Deposed != "" {
		return EscapeText(fmt.Sprintf("%s (deposed object %s)", c.Address, c.Deposed))
	}
	return EscapeText(c.Address)
}

var verbs = map[Action]string{
	Create: "create", Update: "update in place", Replace: "replace", Destroy: "destroy",
	Move: "move", Import: "import", Forget: "forget, and leave the object as it is",
	Read: "read during apply", Noop: "no change",
}

// verbsOfConfig are the verbs for Change.Config that differ from the usual ones.
var verbsOfConfig = map[Action]string{Update: "change", Forget: "take out of the app"}

// Headline describes what happens to the object, and why.
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
		parts[0] = "replaces " + c.From + ", which is removed"
	case c.Action == Move:
		parts[0] = "move from " + c.From
	default:
		parts = append(parts, "moved from "+c.From)
	}
	if c.Imported {
		parts = append(parts, importText(c.ImportID))
		if c.Action == Import {
			parts = []string{strings.Replace(importText(c.ImportID), "imported", "import", 1)}
		}
	}
	if c.Why != "" {
		parts = append(parts, "because "+c.Why)
	}
	if risk := c.RiskText(); risk != "" {
		parts = append(parts, risk)
	}
	return EscapeText(strings.Join(parts, ", "))
}

// PastHeadline describes what others have done to the object: the headline of a change in Report.Drift.
func (c Change) PastHeadline() string {
	words, ok := map[Action]string{
		Create: "created", Update: "changed", Replace: "replaced", Destroy: "destroyed",
	}[c.Action]
	if !ok {
		return c.Headline()
	}
	if c.From != "" {
		words += ", moved from " + c.From
	}
	return EscapeText(words)
}

func importText(id string) string {
	switch id {
	case "":
		return "imported by its identity"
	case MarkHidden:
		return "imported as " + MarkHidden
	}
	return "imported as " + strconv.Quote(id)
}

// Display returns the value on one line. A string is quoted.
func (s ShownValue) Display() string {
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
	text = EscapeText(text)
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

func (s ShownValue) tagged(word string) string {
	if s.Tag == "" {
		return word
	}
	return word + " #" + EscapeText(s.Tag)
}

// Sides returns the field as one or two texts: two if there are values to compare, one (in after)
// otherwise. The action of the change decides: the before value of a created object is not shown.
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
	words := map[Mark]string{MarkNew: "new", MarkChanged: "changed", MarkSame: "unchanged"}
	tags := ""
	switch {
	case f.Before.Tag != "" && f.After.Tag != "" && f.Before.Tag != f.After.Tag:
		tags = " #" + EscapeText(f.Before.Tag) + " → #" + EscapeText(f.After.Tag)
	case f.After.Tag != "":
		tags = " #" + EscapeText(f.After.Tag)
	}
	word := words[f.After.Mark]
	if word == "" {
		return "(sensitive" + tags + ")"
	}
	return "(sensitive, " + word + tags + ")"
}

// AllFieldsForceReplace reports whether a replacement has a headline with a reason and every
// field that is not folded forces it, so that the fields need not repeat it.
func (c *Change) AllFieldsForceReplace() bool {
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

// Annotations returns the remarks shown next to the values of the field; that it forces a
// replacement comes first. Past means that the owner of the field has already made the change.
func (f *FieldChange) Annotations(past bool) []string {
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
		out = append(out, "(by "+EscapeText(f.Owner)+")")
	default:
		out = append(out, "(owned by "+EscapeText(f.Owner)+")")
	}
	if f.Fold != "" {
		out = append(out, "(folded: "+EscapeText(f.Fold)+")")
	}
	return out
}

// Name returns the path of the field, or "value" for an object that is one value.
func (f FieldChange) Name() string {
	if f.Path == "" {
		return "value"
	}
	return EscapeText(f.Path)
}

// OmitsLine reports whether a field of a change needs no line: a value known only
// after apply, of an object that is created or replaced.
func (f FieldChange) OmitsLine(a Action) bool {
	return f.After.Unknown && !f.ForcesReplace && (a == Create || a == Replace || a == Read)
}

// Display returns the line with its sign, or the count of skipped lines.
func (l Line) Display() string {
	switch l.Op {
	case LineAdded:
		return "+ " + EscapeText(l.Text)
	case LineRemoved:
		return "- " + EscapeText(l.Text)
	case LineSkipped:
		return "  … " + Plural(l.Count, "line as before", "lines as before")
	case LineMore:
		return "  … " + Plural(l.Count, "more changed line", "more changed lines") + ", not shown"
	}
	return "  " + EscapeText(l.Text)
}
