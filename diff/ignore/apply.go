package ignore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// by is the prefix of the names of folds that come from rules of this package.
const by = "ignored by "

// rest names the fold that counts for all rules beyond the limit. A report has at most maxFolds
// folds.
const (
	rest     = by + "further rules"
	maxFolds = 100
)

// core selects the API group with the empty name.
const core = "core"

// Names of counts beside diff.FoldFields: findings that only concern ignored fields.
const (
	foldFindings = "findings"
	foldSecurity = "security findings"
)

// rule is one rule. Empty selectors select everything.
type rule struct {
	name                                    string
	kind, group, namespace, object, address string
	fields                                  []pattern
}

// tally counts what one rule changed in a report.
type tally struct {
	matched                    bool
	fields, findings, security int
	// removedFindings lists earlier folds of fields that this rule now folds; the report must count these
	// fields under the rule only.
	removedFindings []string
}

// Apply folds the fields that the rules ignore, removes findings that only concern ignored fields,
// and counts both. It updates risks and totals. A note names the rules that match nothing, so that
// obsolete rules are noticed. A valid report stays valid.
func (r *Rules) Apply(report *diff.Report) {
	tallies := make([]tally, len(r.all))
	for _, list := range lists(report) {
		for i := range list {
			r.change(&list[i], tallies)
		}
	}
	r.count(report, tallies)
	if note := r.stale(tallies); note != "" && len(report.Notes) < maxNotes {
		report.Notes = append(report.Notes, note)
	}
	report.Totals = report.Count()
}

// OnlyIgnored reports whether rules of this package ignore all changes of an object. An apply still makes
// these changes.
func OnlyIgnored(c *diff.Change) bool {
	if !c.IsNoise() {
		return false
	}
	for i := range c.Fields {
		if !strings.HasPrefix(c.Fields[i].Fold, by) {
			return false
		}
	}
	return true
}

// lists returns all lists of changes of a report.
func lists(r *diff.Report) [][]diff.Change {
	return [][]diff.Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept, r.Drift, r.Deferred}
}

// change applies all rules to one change.
func (r *Rules) change(c *diff.Change, tallies []tally) {
	var pointers [][]string // computed when the first rule selects the object
	ignored := map[int]int{}
	for n := range r.all {
		if !r.all[n].selects(c) {
			continue
		}
		if pointers == nil {
			pointers = make([][]string, len(c.Fields))
			for i := range c.Fields {
				pointers[i] = pointerSteps(c.Fields[i].Pointer)
			}
		}
		for i := range c.Fields {
			if !r.all[n].names(pointers[i]) {
				continue
			}
			tallies[n].matched = true
			// A field that forces a replacement is a reason for the approval; never fold it.
			if f := &c.Fields[i]; !f.ForcesReplace && !strings.HasPrefix(f.Fold, by) {
				if f.Fold != "" {
					tallies[n].removedFindings = append(tallies[n].removedFindings, f.Fold)
				}
				f.Fold = by + r.all[n].name
				ignored[i] = n
				tallies[n].fields++
			}
		}
	}
	if len(ignored) > 0 {
		drop(c, pointers, ignored, tallies)
	}
}

// selects reports whether a rule applies to an object.
func (r *rule) selects(c *diff.Change) bool {
	kind, group, _ := strings.Cut(c.ResourceKind, ".")
	if group == "" && r.group == core {
		group = core
	}
	for _, s := range [...]struct{ pattern, text string }{
		{r.kind, kind}, {r.group, group}, {r.namespace, c.Namespace}, {r.object, c.Name}, {r.address, c.Address},
	} {
		if s.pattern != "" && !glob(s.pattern, s.text) {
			return false
		}
	}
	return true
}

// names reports whether a rule applies to a field.
func (r *rule) names(field []string) bool {
	return slices.ContainsFunc(r.fields, func(p pattern) bool { return p.matches(field) })
}

// drop removes the findings that only concern ignored fields, and lowers the risk to that of the
// remaining findings. ignored maps indexes of fields to the rules that ignore them. Changes that
// destroy or replace stay unchanged.
func drop(c *diff.Change, pointers [][]string, ignored map[int]int, tallies []tally) {
	if c.Action.Destructive() {
		return
	}
	highest, dropped := diff.RiskNone, false
	var left []diff.Finding
	for _, f := range c.Findings {
		n, gone := cause(c, f, pointers, ignored)
		switch {
		case !gone || f.Risk >= diff.RiskReplace:
			left = append(left, f)
			highest = max(highest, f.Risk)
			continue
		case f.Security:
			tallies[n].security++
		default:
			tallies[n].findings++
		}
		dropped = true
	}
	if dropped {
		c.Findings = left
		c.Risk = max(min(c.Action.Risk(), c.Risk), highest)
	}
}

// cause returns the rule that ignores the subject of a finding. It requires that every field that
// can be a reason for the finding is ignored, because the finding names only the first. A finding
// about the whole object remains if the object is created; a finding of an unknown rule remains as
// long as any field is shown.
func cause(c *diff.Change, f diff.Finding, pointers [][]string, ignored map[int]int) (rule int, found bool) {
	if f.Path == "" && c.Action != diff.Update {
		return 0, false
	}
	asked, known := risk.Find(f.Rule)
	for i := range c.Fields {
		if known && f.Path != "" && !asked.MayTouch(pointers[i]) {
			continue
		}
		n, is := ignored[i]
		switch {
		case is && !found:
			rule, found = n, true
		case !is && risk.ReadsFold(c.Fields[i].Fold):
			return 0, false
		}
	}
	return rule, found
}

// count adds the tallies to the report, by rule.
func (r *Rules) count(report *diff.Report, tallies []tally) {
	for _, t := range tallies {
		for _, fold := range t.removedFindings {
			subtractFold(report, fold)
		}
	}
	report.Folded = slices.DeleteFunc(report.Folded, func(f diff.Fold) bool { return f.Count == 0 })
	for n, t := range tallies {
		for _, k := range [...]struct {
			what  string
			count int
		}{{diff.FoldFields, t.fields}, {foldFindings, t.findings}, {foldSecurity, t.security}} {
			name := by + r.all[n].name
			if len(report.Folded) >= maxFolds-3 { // leave room for the three lines of the rest
				name = rest
			}
			report.AddFold(name, k.what, k.count)
		}
	}
}

// subtractFold subtracts one field from the count of a fold.
func subtractFold(report *diff.Report, fold string) {
	for i := range report.Folded {
		if f := &report.Folded[i]; f.Rule == fold && f.What == diff.FoldFields && f.Count > 0 {
			f.Count--
			return
		}
	}
}

// Bounds of notes: a report has at most maxNotes, and a note names rules in up to maxNote bytes.
const (
	maxNotes = 100
	maxNote  = 800
)

// stale returns the note about rules that matched nothing.
func (r *Rules) stale(tallies []tally) string {
	var names []string
	bytes, more := 0, 0
	for n, t := range tallies {
		if t.matched {
			continue
		}
		name := strconv.Quote(r.all[n].name)
		if bytes += len(name) + len(", "); bytes > maxNote {
			more++
			continue
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1 && more == 0:
		return "ignore rule " + names[0] + " matched nothing"
	case more > 0:
		return fmt.Sprintf("ignore rules %s and %d more matched nothing", strings.Join(names, ", "), more)
	}
	return fmt.Sprintf("ignore rules %s matched nothing", strings.Join(names, ", "))
}
