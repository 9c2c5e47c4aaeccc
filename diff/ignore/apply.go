package ignore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// by begins the name of a fold that is a rule's.
const by = "ignored by "

// rest counts for the rules that no longer fit into a report's list of folds, of which maxFolds are a report's most.
const (
	rest     = by + "further rules"
	maxFolds = 100
)

// core selects the API group that has no name.
const core = "core"

// What is counted beside diff.FoldFields: what was found in ignored fields alone.
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

// tally is what one rule did to a report.
type tally struct {
	matched                    bool
	fields, findings, security int
	// taken are the folds of fields that were folded by something else before, which no longer counts them.
	taken []string
}

// Apply folds what the rules ignore, takes away what was found in ignored fields alone, and counts both. Risks and totals follow.
// A rule that matches nothing is named in a note, so that old rules are found. A report that was valid stays valid.
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

// Whole says that all that changes in an object is ignored by rules of this package. Apply changes it all the same.
func Whole(c *diff.Change) bool {
	if !c.Noise() {
		return false
	}
	for i := range c.Fields {
		if !strings.HasPrefix(c.Fields[i].Fold, by) {
			return false
		}
	}
	return true
}

// lists are all changes of a report.
func lists(r *diff.Report) [][]diff.Change {
	return [][]diff.Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept, r.Drift, r.Deferred}
}

// change applies all rules to one change.
func (r *Rules) change(c *diff.Change, tallies []tally) {
	var pointers [][]string // made when the first rule selects the object
	ignored := map[int]int{}
	for n := range r.all {
		if !r.all[n].selects(c) {
			continue
		}
		if pointers == nil {
			pointers = make([][]string, len(c.Fields))
			for i := range c.Fields {
				pointers[i] = steps(c.Fields[i].Pointer)
			}
		}
		for i := range c.Fields {
			if !r.all[n].names(pointers[i]) {
				continue
			}
			tallies[n].matched = true
			// What makes an object be replaced is why somebody is asked.
			if f := &c.Fields[i]; !f.ForcesReplace && !strings.HasPrefix(f.Fold, by) {
				if f.Fold != "" {
					tallies[n].taken = append(tallies[n].taken, f.Fold)
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

// selects says that a rule is about an object.
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

// names says that a rule is about a field.
func (r *rule) names(field []string) bool {
	return slices.ContainsFunc(r.fields, func(p pattern) bool { return p.matches(field) })
}

// drop takes away the findings that are about nothing but ignored fields (by their place, with the rule that ignores them), and
// lowers the risk to what is left. What destroys or replaces stays as it is found.
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

// cause is the rule that ignores what a finding is about: every field that can be a reason for it, of which it names only the first, is
// ignored. A finding about the object as a whole stays when the object comes; so does one of a rule that is not known, as long as
// anything is shown.
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
		case !is && risk.Sees(c.Fields[i].Fold):
			return 0, false
		}
	}
	return rule, found
}

// count puts what was done into the report, by rule.
func (r *Rules) count(report *diff.Report, tallies []tally) {
	for _, t := range tallies {
		for _, fold := range t.taken {
			uncount(report, fold)
		}
	}
	report.Folded = slices.DeleteFunc(report.Folded, func(f diff.Fold) bool { return f.Count == 0 })
	for n, t := range tallies {
		for _, k := range [...]struct {
			what  string
			count int
		}{{diff.FoldFields, t.fields}, {foldFindings, t.findings}, {foldSecurity, t.security}} {
			name := by + r.all[n].name
			if len(report.Folded) >= maxFolds-3 { // room for the three lines of what no longer fits
				name = rest
			}
			report.AddFold(name, k.what, k.count)
		}
	}
}

// uncount takes one field from what a fold counts.
func uncount(report *diff.Report, fold string) {
	for i := range report.Folded {
		if f := &report.Folded[i]; f.Rule == fold && f.What == diff.FoldFields && f.Count > 0 {
			f.Count--
			return
		}
	}
}

// The bounds of notes: a report has at most maxNotes, and one note names rules up to maxNote bytes.
const (
	maxNotes = 100
	maxNote  = 800
)

// stale is the note about rules that matched nothing.
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
