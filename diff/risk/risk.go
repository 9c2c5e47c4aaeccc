// Package risk judges what a change means for running workloads, for data, and for access, by rules
// that are data.
//
// It owns the rules. Each has a name, the address of the published text that it follows, and a
// sentence for the people who approve. It never reads a file, never decides what differs, and never
// prints a value: a finding consists of a rule and a path. The readers of plans (diff/kubernetes,
// diff/terraform) call Judge for every change that an apply would make.
package risk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// Subject is the object of a change, with unmasked values.
type Subject struct {
	// Engine is diff.KindKubernetes or diff.KindTerraform.
	Engine string
	// Group and Kind are the API group (without version, empty for the core) and kind of the object.
	// For Terraform, Kind is the resource type.
	Group, Kind string
	// Before and After hold the whole object on each side; null where it does not exist. Values that
	// are equal on both sides may be omitted.
	Before, After raw.Value
	// Differences has one element for each of the change's Fields, in the same order.
	Differences []Difference
	// Unknown is the tree of marks for values that are known only after apply, as in a Terraform
	// plan, without those that the provider chooses.
	Unknown raw.Value
	// Shown converts a key of a held object to one that may be printed, see tree.Path.Text. Nil
	// hides all keys.
	Shown func(tree.Step) string
	// KeepsOld reports that a replacement does not destroy the old object.
	KeepsOld bool
	// Programs lists the kinds of programs that the configuration runs with the change (Terraform's
	// provisioners).
	Programs []string
	// Regenerated reports that every changed value is generated again at each rendering.
	Regenerated bool

	// depth is the number of objects that enclose this one.
	depth int
}

// Difference is one difference before it is masked.
type Difference struct {
	Path                tree.Path
	Before, After       raw.Value
	HasBefore, HasAfter bool
	// Folded reports that the field is folded; its FieldChange.Fold names the rule that folds it.
	Folded bool
	// Revealed reports that the value was marked as sensitive and no longer is.
	Revealed bool
}

// Judge adds the findings of the rules to c, see diff.Change.Judge. An update of a field that cannot
// change in place becomes a replacement: Judge then sets c.Action, c.Order, c.Why and the
// ForcesReplace of the fields. Call it once, when c.Fields are final and before totals are counted.
// Do not call it for drift, which has already happened.
func Judge(c *diff.Change, s Subject) {
	kind := s.Kind
	if s.Group != "" {
		kind += "." + s.Group
	}
	j := &judge{change: c, subject: &s, rules: ruleSet(s.Engine).rulesFor(kind), kind: kind}
	j.selectFields()
	if len(j.rules) == 0 {
		return
	}
	var findings []diff.Finding
	if c.Action == diff.Update {
		findings = j.immutable()
	}
	for _, r := range j.rules {
		if f, ok := j.evaluate(r); ok && !r.Replaces {
			findings = append(findings, f)
		}
	}
	if f, ok := j.unjudged(); ok {
		findings = append(findings, f)
	}
	findings = append(findings, j.judgeHeld(findings)...)
	findings = append(findings, j.judgeNested(findings)...)
	c.AddFindings(append(findings, j.judgeTexts(findings)...)...)
}

// judge runs the rules on one change.
type judge struct {
	change  *diff.Change
	subject *Subject
	kind    string
	rules   []*Rule
	// fields holds the indexes in change.Fields and subject.Differences of what an apply really changes.
	fields []int
	// podsBefore and podsAfter hold the pods of the subject; view computes them on first use.
	podsBefore, podsAfter []pod
	podsRead              bool
	// revealed reports that some field was marked as sensitive and no longer is.
	revealed bool
}

// Folds of fields that an apply changes nevertheless. All other folds (defaults, values that a
// server or another owner sets, generated values) are equal after an apply or no reason for one, so
// no rule reads those fields.
const (
	foldChart    = "chart label"
	foldChecksum = "checksum"
	foldRestart  = "restart mark"
	// foldFormatting folds a document in a plan of which only the formatting changes.
	foldFormatting = "formatting"
)

func (j *judge) selectFields() {
	for i := range min(len(j.change.Fields), len(j.subject.Differences)) {
		fold := j.change.Fields[i].Fold
		if (fold != "" || !j.subject.Differences[i].Folded) && ReadsFold(fold) {
			j.fields = append(j.fields, i)
			j.revealed = j.revealed || j.subject.Differences[i].Revealed
		}
	}
}

// immutable turns an update that the API server refuses into a replacement.
func (j *judge) immutable() []diff.Finding {
	var findings []diff.Finding
	var forced []string
	named := map[string]bool{}
	for _, r := range j.rules {
		if !r.Replaces || !slices.Contains(r.Actions, diff.Update) {
			continue
		}
		first := -1
		q := ruleCheck{judge: j, rule: r}
		for _, i := range j.fields {
			if !q.at(i) {
				continue
			}
			if first < 0 {
				first = i
			}
			j.change.Fields[i].ForcesReplace = true
			if p := j.change.Fields[i].Path; !named[p] {
				forced, named[p] = append(forced, p), true
			}
		}
		if first >= 0 {
			findings = append(findings, r.finding(j.change.Fields[first].Path))
		}
	}
	if len(findings) > 0 {
		j.replace(forced)
	}
	return findings
}

// maxForced bounds how many fields a reason names.
const maxForced = 3

func (j *judge) replace(forced []string) {
	c := j.change
	c.Action, c.Order = diff.Replace, diff.DestroyFirst
	c.Risk = max(c.Risk, diff.Replace.Risk())
	if len(forced) > maxForced {
		forced = []string{fmt.Sprintf("%d fields%s", len(forced), sharedBy(forced))}
	}
	why := strings.Join(forced, ", ") + " cannot change in place"
	if c.Why != "" {
		why += "; " + c.Why
	}
	c.Why = why
}

// sharedBy returns " of " and the common prefix of all paths, or the empty string.
func sharedBy(paths []string) string {
	shared := len(paths[0])
	for _, p := range paths[1:] {
		shared = min(shared, diff.SharedSteps(paths[0], p, 0))
	}
	if shared == 0 {
		return ""
	}
	return " of " + paths[0][:shared]
}

// evaluate returns the finding of a rule, if it has one.
func (j *judge) evaluate(r *Rule) (diff.Finding, bool) {
	if !slices.Contains(r.Actions, j.change.Action) || j.subject.KeepsOld && r.onlyLoss() {
		return diff.Finding{}, false
	}
	q := ruleCheck{judge: j, rule: r}
	if r.Pods && !q.object() {
		return diff.Finding{}, false // most pods pass, and this check is cheaper than comparing the paths
	}
	if len(r.paths) > 0 {
		if i, ok := q.first(); ok {
			return j.finding(r, j.change.Fields[i].Path), true
		}
	}
	if whole := j.change.Action == diff.Create || j.change.Action == diff.Destroy; len(r.paths) > 0 && !whole ||
		!q.whole() {
		return diff.Finding{}, false
	}
	return j.finding(r, ""), true
}

// first returns the field that the finding cites: the first one that the rule prefers, otherwise the
// first one that matches.
func (q *ruleCheck) first() (field int, ok bool) {
	var preferred func(Difference) bool
	for _, i := range q.fields {
		if !q.at(i) {
			continue
		}
		if q.rule.prefers == nil {
			return i, true
		}
		if preferred == nil {
			preferred = q.rule.prefers(q.view())
		}
		if preferred(q.subject.Differences[i]) {
			return i, true
		}
		if !ok {
			field, ok = i, true
		}
	}
	return field, ok
}

// ruleCheck runs one rule on one change. The predicates on the whole object run once, regardless of
// the number of fields.
type ruleCheck struct {
	*judge
	rule *Rule
	// result caches the result of the object predicate once asked is set; each is the predicate for
	// single differences.
	checked, result bool
	each            func(field) bool
}

// object runs the rule's predicate on the object as a whole.
func (q *ruleCheck) object() bool {
	if !q.checked {
		q.checked, q.result = true, q.rule.holds == nil || q.rule.holds(q.view())
		if q.result && q.rule.matches != nil {
			q.each = q.rule.matches(q.view())
		}
	}
	return q.result
}

// at runs the rule on the field with index i.
func (q *ruleCheck) at(i int) bool {
	if q.checked && !q.result {
		return false
	}
	t, f := &q.subject.Differences[i], &q.change.Fields[i]
	if !q.rule.touches(*t) || !q.object() {
		return false
	}
	return q.each == nil || q.each(field{
		Difference: *t, regenerated: q.subject.Regenerated || f.Regenerated, unknown: f.After.Unknown,
	})
}

// whole runs the rule on an object that is created or destroyed, or of which any difference counts.
func (q *ruleCheck) whole() bool {
	s := q.subject
	return q.object() && (q.each == nil || q.each(field{
		Difference:  Difference{Before: s.Before, After: s.After, HasBefore: !s.Before.IsNull(), HasAfter: !s.After.IsNull()},
		regenerated: s.Regenerated, whole: true,
	}))
}

// finding returns the finding of a rule at a path, with the rule's details.
func (j *judge) finding(r *Rule, path string) diff.Finding {
	f := r.finding(path)
	if r.details == nil {
		return f
	}
	if list := r.details(j.view()); len(list) > 0 {
		f.Message += ": " + strings.Join(list, "; ")
	}
	return f
}

// view returns the view of the object that predicates get.
func (j *judge) view() subjectView {
	if !j.podsRead && j.subject.Engine == diff.KindKubernetes {
		j.podsBefore, j.podsAfter, j.podsRead = podsOf(j.kind, j.subject.Before), podsOf(j.kind, j.subject.After), true
	}
	return subjectView{
		kind: j.kind, before: j.subject.Before, after: j.subject.After, podsBefore: j.podsBefore, podsAfter: j.podsAfter,
		renamed: j.change.Renamed, revealed: j.revealed, unknown: j.unknown,
		keepsOld: j.subject.KeepsOld, programs: j.subject.Programs,
	}
}

// unknown reports whether an attribute, or something in it, is known only after apply.
func (j *judge) unknown(attribute string) bool {
	return slices.ContainsFunc(j.fields, func(i int) bool {
		p := j.subject.Differences[i].Path
		return j.change.Fields[i].After.Unknown && (len(p) == 0 || p[0].Key == attribute)
	})
}

// unjudged finds a value that is known only after apply and that a rule would judge.
func (j *judge) unjudged() (diff.Finding, bool) {
	if j.subject.Unknown.IsNull() {
		return diff.Finding{}, false
	}
	for _, r := range j.rules {
		if !slices.Contains(r.Actions, j.change.Action) || r.judgedIf != nil && !r.judgedIf(j.view()) {
			continue
		}
		for _, p := range r.needs {
			if !p.marked(j.subject.Unknown) {
				continue
			}
			path := ""
			for _, i := range j.fields {
				if j.change.Fields[i].After.Unknown && p.matches(j.subject.Differences[i]) {
					path = j.change.Fields[i].Path
					break
				}
			}
			return unjudgedFinding(path), true
		}
	}
	if path, ok := j.unjudgedHeld(); ok {
		return unjudgedFinding(path), true
	}
	return diff.Finding{}, false
}

// unjudgedFinding returns the finding of the rule about values that other rules cannot judge.
func unjudgedFinding(path string) diff.Finding {
	rule, _ := Find(unjudged)
	return rule.finding(path)
}

// marked reports whether a tree of marks has one at, above or below the place.
func (p pattern) marked(m raw.Value) bool {
	if m.IsTrue() {
		return true
	}
	if len(p) == 0 {
		return anyTrue(m)
	}
	if p[0] == anyElement {
		return slices.ContainsFunc(oneOrMore(m), p[1:].marked)
	}
	child, _ := m.Get(p[0])
	return p[1:].marked(child)
}

func anyTrue(m raw.Value) bool {
	if m.IsTrue() || m.IsList() && slices.ContainsFunc(oneOrMore(m), anyTrue) {
		return true
	}
	return slices.ContainsFunc(m.Keys(), func(k string) bool { return anyTrue(get(m, k)) })
}

func (r *Rule) touches(t Difference) bool {
	for _, p := range r.except {
		if p.under(t.Path) {
			return false
		}
	}
	for _, p := range r.paths {
		if p.matches(t) {
			return true
		}
	}
	return false
}

// onlyLoss reports whether the rule concerns only the loss of an object and not its replacement.
func (r *Rule) onlyLoss() bool {
	return slices.Contains(r.Actions, diff.Destroy) && !slices.Contains(r.Actions, diff.Create) &&
		!slices.Contains(r.Actions, diff.Update)
}

func (r *Rule) finding(path string) diff.Finding {
	return diff.Finding{Rule: r.Name, Source: r.Source, Risk: r.Risk, Security: r.Security, Message: r.Message, Path: path}
}
