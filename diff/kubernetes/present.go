package kubernetes

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// present masks all outcomes and adds them to the report, now that every
// secret is known. It returns notes, and the number of unchanged objects.
func (c *comparison) present(r *diff.Report, outcomes []outcome) (notes []string, unchanged int) {
	seen := map[string]bool{}
	for i := range outcomes {
		c.learnTexts(outcomes[i].secrets, seen)
	}
	reason := false
	for i := range outcomes {
		o := &outcomes[i]
		reason = reason || o.section != nowhere && !o.regenerated && !o.idle
	}
	r.Applyable = reason
	c.fillAll(outcomes, reason)
	gone := 0
	for i := range outcomes {
		o := &outcomes[i]
		for _, n := range o.notes {
			notes = append(notes, c.shown(n))
		}
		for _, fold := range foldNames {
			r.AddFold(fold, diff.FoldFields, o.counted[fold])
		}
		if o.drift != nil {
			r.Drift = append(r.Drift, *o.drift)
		}
		switch {
		case o.gone:
			gone++
		case o.section == nowhere:
			unchanged++
		default:
			presentChange(r, o)
		}
	}
	r.AddFold(foldGone, diff.FoldObjects, gone)
	return notes, unchanged
}

// fillAll masks every change, on all processors. A change that consists only of regenerated
// values is no reason for an apply, so it counts as noise unless there is another reason.
func (c *comparison) fillAll(outcomes []outcome, reason bool) {
	_ = each(len(outcomes), func() struct{} { return struct{}{} },
		func(_ struct{}, i int) error { // work returns no errors
			o := &outcomes[i]
			if o.drift != nil {
				c.fill(o.drift, o.drifted)
				o.drift.Findings = nil // it has happened already
			}
			if o.gone || o.section == nowhere {
				return nil
			}
			if o.regenerated && !reason {
				o.quieten()
			}
			c.fill(&o.change, o.differences)
			return nil
		})
}

// quieten turns a change that consists only of regenerated values into noise.
func (o *outcome) quieten() {
	fields := o.change.Fields
	o.change = o.unjudged
	o.change.Fields = fields
	for i := range fields {
		fields[i].ForcesReplace = false
		if fields[i].Fold == "" {
			fields[i].Fold = foldRegenerated
		}
	}
}

// presentChange adds one change.
func presentChange(r *diff.Report, o *outcome) {
	for i := range o.change.Fields {
		if fold := o.change.Fields[i].Fold; fold != "" {
			r.AddFold(fold, diff.FoldFields, 1)
		}
	}
	list := &r.Changes
	switch o.section {
	case inHooks:
		list = &r.Hooks
	case inTests:
		list = &r.Tests
	case inKept:
		list = &r.Kept
	}
	*list = append(*list, o.change)
	*o = outcome{section: o.section}
}

// fill masks the values of a change's fields. It also masks the texts of the
// change again, because more secrets are known by now.
func (c *comparison) fill(change *diff.Change, found []difference) {
	for _, text := range []*string{&change.Address, &change.From, &change.Name, &change.Namespace, &change.ResourceKind} {
		*text = c.masker.Name(*text)
	}
	change.Why = c.shown(change.Why)
	for i := range found {
		d := &found[i]
		marks, plain := change.Fields[i], plainPlace(d)
		f := c.masker.FieldAt(marks.Path, d.path,
			diff.UnmaskedSide{Value: d.shownBefore(), Absent: !d.hasBefore, Sensitive: d.sensitive, Plain: plain},
			diff.UnmaskedSide{Value: d.shownAfter(), Absent: !d.hasAfter, Sensitive: d.sensitive, Plain: plain})
		if element, _ := d.path.Element(); f.Element != nil {
			f.Element.Path = pathText(element, c.masker.Step)
		}
		addOutline(&f, d)
		f.ForcesReplace, f.Regenerated, f.Owner, f.Fold = marks.ForcesReplace, marks.Regenerated, marks.Owner, marks.Fold
		if d.order != nil {
			f.MarkReordered(d.order)
		}
		change.Fields[i] = f
		if finding, ok := hidden(d, &f); ok && change.Action != diff.Destroy && change.Action != diff.Forget {
			change.AddFindings(finding)
		}
		if finding, ok := diff.LongCommandFinding(&f); ok && secret.CommandPlace(d.path) {
			change.AddFindings(finding)
		}
	}
	for i := range change.Findings {
		f := &change.Findings[i]
		f.Path, f.Message = c.shown(f.Path), c.masker.Name(f.Message)
	}
}

// addOutline adds the outline of a long value to its field.
func addOutline(f *diff.FieldChange, d *difference) {
	if !d.outline.IsNull() && !f.Before.Masked && !f.After.Masked {
		f.Outline, _ = raw.Text(d.outline)
	}
}

func (c *comparison) shown(text string) string {
	if c.masker.ContainsSecret(text) {
		return diff.MarkHidden
	}
	return text
}

// foldGone counts objects that were to be deleted and no longer exist.
const foldGone = "gone already"

// foldNames are the rules in the order in which they are counted.
var foldNames = []string{foldChart, foldChecksum, foldRestart, foldServer, foldDefault, foldOthers, foldOrder,
	foldDescription}

// textPlace reports whether the API requires a string at a path: YAML reads
// an unquoted yes, no, on or off, or a number, as another type.
func textPlace(p tree.Path) bool {
	n := len(p)
	if _, inSchema := placeIn(p); inSchema {
		return false
	}
	if n < 2 || p[n-1].Key == "" || p[n-2].Key == "" && !p[n-2].IsSelect {
		return false
	}
	switch p[n-2].Key {
	case "labels", "annotations", "matchLabels", "nodeSelector":
		return true
	case "data", "stringData":
		return n == 2
	}
	return n > 2 && p[n-3].Key == "env" && p[n-1].Key == "value"
}

// wrongTypes returns notes about values that the API server rejects.
func wrongTypes(address string, found []difference, shown func(tree.Step) string) []string {
	var out []string
	for i := range found {
		d := &found[i]
		if !d.hasAfter || !d.builtin || !textPlace(d.path) || d.after.IsObject() || d.after.IsList() {
			continue
		}
		_, kind := raw.Text(d.after)
		if kind == "bool" {
			kind = "boolean"
		}
		if kind == "boolean" || kind == "number" {
			out = append(out, fmt.Sprintf("%s: %s is a %s, and the API server accepts only strings there: put it in quotes.",
				address, diff.EscapeText(d.path.Text(shown)), kind))
		}
	}
	return out
}
