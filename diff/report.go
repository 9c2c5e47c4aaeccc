package diff

import "sort"

// KindTerraform is the Report.Kind of a Terraform or OpenTofu plan.
const KindTerraform = "terraform"

// KindKubernetes is the Report.Kind of Kubernetes manifests.
const KindKubernetes = "kubernetes"

// KindApp is the Report.Kind of two configs of an app.
const KindApp = "app"

// KindState is the Report.Kind of making an older version of a Terraform state the
// current one. It shows what the state gains and loses; no real object changes.
const KindState = "state"

// KindImage is the Report.Kind of a container image, which never has changes.
const KindImage = "image"

// Report is the masked description of one change, which may be shown. It round-trips through
// JSON, and an approval binds to its Digest. Validate a report that was received over a network.
type Report struct {
	// Kind names what was compared, for example KindTerraform.
	Kind string `json:"kind"`
	// Changes is what apply will do, sorted by address. It includes changes whose fields
	// are all folded (Change.IsNoise): a renderer omits them and prints their count.
	Changes []Change `json:"changes,omitempty"`
	// Outputs are the outputs that change, sorted by name. Their address is
	// "output.NAME" and their resource kind is "output".
	Outputs []Change `json:"outputs,omitempty"`
	// Hooks and Tests are objects that Helm creates at events of a release
	// (Change.Hook), separately from the rest of it.
	Hooks []Change `json:"hooks,omitempty"`
	Tests []Change `json:"tests,omitempty"`
	// Kept are objects that are removed from the release but stay in the
	// cluster (helm.sh/resource-policy: keep).
	Kept []Change `json:"kept,omitempty"`
	// Drift is what others changed since the last apply. It has already
	// happened, so it carries no risk and is counted only in Totals.Drift.
	Drift []Change `json:"drift,omitempty"`
	// Deferred are changes that only a later plan can determine, with the reason in Why.
	Deferred []Change `json:"deferred,omitempty"`
	// Checks are the conditions of the configuration that fail or are not
	// known yet, sorted by address.
	Checks []Check `json:"checks,omitempty"`
	// Policies are the results of the app's policies, the most severe first.
	Policies []PolicyResult `json:"policies,omitempty"`
	// Folded counts, by rule, what was left out of the lists above or is marked as folded in them.
	Folded []Fold `json:"folded,omitempty"`
	// Notes are sentences about the plan as a whole.
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
	// Applyable reports whether an apply would do something. It is
	// Terraform's own value where the plan has one.
	Applyable bool `json:"applyable"`
}

// Change is what happens to one object.
type Change struct {
	Address string `json:"address"`
	// Module is the address of the Terraform module that holds the object; empty at the root.
	Module string `json:"module,omitempty"`
	// Namespace is the Kubernetes namespace of the object. It is empty for an
	// object without one, and for one in the release's own namespace.
	Namespace    string `json:"namespace,omitempty"`
	ResourceKind string `json:"resource_kind"`
	Name         string `json:"name"`
	// Deposed is the key of an object left over from an earlier replacement.
	Deposed string `json:"deposed,omitempty"`
	// From is the address of the object before a move, or, if Renamed is set,
	// of the object that this one replaces.
	From string `json:"from,omitempty"`
	// Renamed marks a new object that matches one that is removed. The action is Replace.
	Renamed bool `json:"renamed,omitempty"`
	// Hook lists the events at which Helm creates the object, for example
	// "pre-install,pre-upgrade".
	Hook string `json:"hook,omitempty"`
	// Config marks a part of an app's config. Forgetting one removes it from
	// the config and has no other effect.
	Config bool `json:"config,omitempty"`
	// Imported marks an existing object that is put under management. ImportID is its id,
	// or KEY=VALUE, … of its identity (empty when the plan does not contain the identity).
	Imported bool   `json:"imported,omitempty"`
	ImportID string `json:"import_id,omitempty"`

	Action Action `json:"action"`
	// Order is set for a replacement.
	Order ReplaceOrder `json:"order,omitempty"`
	// Risk is the highest risk of the action and of the findings.
	Risk Risk `json:"risk"`
	// Findings are the results of rules about the change, the highest risk first.
	Findings []Finding `json:"findings,omitempty"`
	// Why completes the sentence "replace, because …". It is empty when no reason is known.
	Why string `json:"why,omitempty"`
	// Fields are the differences, sorted by path.
	Fields []FieldChange `json:"fields,omitempty"`
	// Unchanged counts the attributes that have a value and do not change.
	Unchanged int `json:"unchanged,omitempty"`
}

// FieldChange is one difference inside an object.
type FieldChange struct {
	// Path is like spec[0].name, or tags["a b"]. It is empty when the object
	// is one plain value, as an output can be.
	Path string `json:"path,omitempty"`
	// Pointer leads to the value of After, or to that of Before if After is
	// absent. It is a JSON pointer (RFC 6901) with two more kinds of step:
	// "name=web" is the element of a list with this name, and "@json" enters
	// the document inside a string. Rules that ignore a field use this form.
	Pointer string `json:"pointer,omitempty"`
	// BeforePointer leads to the value of Before if both sides have one, at different indices.
	BeforePointer string `json:"before_pointer,omitempty"`
	// Element is the list element that the field is, or is a part of, if only
	// one side has that element.
	Element *Element `json:"element,omitempty"`
	// Moved are the elements that change places, if Reordered is set.
	Moved  []ElementMove `json:"moved,omitempty"`
	Before ShownValue    `json:"before"`
	After  ShownValue    `json:"after"`
	// Outline is shown instead of a value that is too long for its line: the
	// schema of a field in a few words.
	Outline string `json:"outline,omitempty"`
	// MaskedPart means that a part of the value is masked and is new or changed.
	MaskedPart bool `json:"masked_part,omitempty"`
	// MaskedCopyFinding means that the value, or a line of it, is new or changed and is masked only
	// because it equals a secret that was set elsewhere. The plan readers add a finding for it.
	MaskedCopy bool `json:"masked_copy,omitempty"`
	// Lines is the line diff of a multi-line string, with context (MaskOptions.Context).
	Lines []Line `json:"lines,omitempty"`
	// ForcesReplace marks an attribute that cannot change in place.
	ForcesReplace bool `json:"forces_replace,omitempty"`
	// Reordered means that only the order of a list's elements changes. Both
	// sides are lists of the names of the elements.
	Reordered bool `json:"reordered,omitempty"`
	// Regenerated means that the value is generated on each rendering, so
	// that every deploy changes it.
	Regenerated bool `json:"regenerated,omitempty"`
	// Owner is another manager of the field (a field manager of the cluster), whose value an apply
	// overwrites or keeps.
	Owner string `json:"owner,omitempty"`
	// Fold is the rule that folds the field, see Fold.Rule. It is empty for a field that is shown.
	Fold string `json:"fold,omitempty"`
}

// Finding is the result of a rule about a change.
type Finding struct {
	// Rule is the stable name of the rule, and Source the address of the text
	// that the rule is based on.
	Rule   string `json:"rule"`
	Source string `json:"source"`
	Risk   Risk   `json:"risk"`
	// Security means that the change affects who may do or reach what.
	Security bool `json:"security,omitempty"`
	// IndividualApproval means that the report does not show everything that
	// the finding is about, so a person must approve the plan individually:
	// not as part of a group, and not through a rule.
	IndividualApproval bool `json:"individual_approval,omitempty"`
	// Message describe what happens, as a sentence in lower case without a full stop.
	Message string `json:"words"`
	// Path is the field that the finding is about; empty for the object as a whole.
	Path string `json:"path,omitempty"`
}

// Check is a condition of a configuration: a check block, a precondition, a
// postcondition or the validation of a variable.
type Check struct {
	// Address names the object that has the condition.
	Address string `json:"address"`
	// Status is the result of the condition.
	Status CheckStatus `json:"status"`
	// Problems are the configuration's own messages.
	Problems []string `json:"problems,omitempty"`
}

// CheckStatus is the result of a condition.
type CheckStatus string

// The statuses, as in Terraform. CheckError is a condition whose evaluation failed.
const (
	CheckPass    CheckStatus = "pass"
	CheckFail    CheckStatus = "fail"
	CheckError   CheckStatus = "error"
	CheckUnknown CheckStatus = "unknown"
)

// IsNoise reports whether all changed fields of the object are folded and its risk is
// not above that of a plain update. Apply changes such an object like any other.
func (c *Change) IsNoise() bool {
	if c.Action != Update || len(c.Fields) == 0 || len(c.Findings) > 0 || c.Risk > RiskInPlace {
		return false
	}
	for i := range c.Fields {
		if c.Fields[i].Fold == "" {
			return false
		}
	}
	return true
}

// HasSecurityFinding reports whether a finding of the change is about security.
func (c *Change) HasSecurityFinding() bool {
	for _, f := range c.Findings {
		if f.Security {
			return true
		}
	}
	return false
}

// AddFindings adds findings, sorts them, and raises the risk of the change to the highest of theirs.
func (c *Change) AddFindings(findings ...Finding) {
	c.Findings = append(c.Findings, findings...)
	sort.Stable(byRisk(c.Findings))
	for _, f := range c.Findings {
		c.Risk = max(c.Risk, f.Risk)
	}
}

// byRisk sorts findings by risk, the highest first, then by rule and path.
type byRisk []Finding

func (l byRisk) Len() int      { return len(l) }
func (l byRisk) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l byRisk) Less(i, j int) bool {
	a, b := l[i], l[j]
	if a.Risk != b.Risk {
		return a.Risk > b.Risk
	}
	return a.Rule < b.Rule || a.Rule == b.Rule && a.Path < b.Path
}

// AddFold adds n to the number of things that a rule folded.
func (r *Report) AddFold(rule, what string, n int) {
	if n == 0 {
		return
	}
	for i := range r.Folded {
		if f := &r.Folded[i]; f.Rule == rule && f.What == what {
			f.Count += n
			return
		}
	}
	r.Folded = append(r.Folded, Fold{Rule: rule, What: what, Count: n})
}

// Fold counts what a rule folded.
type Fold struct {
	// Rule is the stable name of the rule, for example "unchanged".
	Rule string `json:"rule"`
	// What names the folded things in the plural, for example "resources".
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Destructive reports whether something that exists will be destroyed or
// replaced. Drift does not count: it has already happened.
func (r *Report) Destructive() bool { return len(r.Losses()) > 0 }

// Losses returns the changes that destroy or replace something that exists, including hooks for which Helm deletes
// an object.
func (r *Report) Losses() []*Change {
	var out []*Change
	for _, l := range r.lists() {
		for i := range *l.changes {
			if c := &(*l.changes)[i]; destroys(l.name, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// destroys reports whether a change of a list destroys or replaces something that exists. A hook with another name
// than before deletes nothing: Helm leaves the old one as it is.
func destroys(list string, c *Change) bool {
	return c.Action.Destructive() && (list == SectionChanges || list == SectionHooks && !c.Renamed)
}

// Risk returns the highest risk of any change in the report.
func (r *Report) Risk() Risk {
	highest := RiskNone
	for _, list := range [][]Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept} {
		for _, c := range list {
			highest = max(highest, c.Risk)
		}
	}
	return highest
}

// NeedsIndividualApproval reports whether a finding, a failed check, or a policy that denies the
// plan or was not evaluated requires that a person answers the plan individually. Such a plan is in
// no group, and no rule approves it.
func (r *Report) NeedsIndividualApproval() bool {
	for _, p := range r.Policies {
		if p.Result == PolicyDeny || p.Result == PolicyNotEvaluated {
			return true
		}
	}
	for _, c := range r.Checks {
		if c.Status == CheckFail || c.Status == CheckError {
			return true
		}
	}
	for _, l := range r.lists() {
		for _, c := range *l.changes {
			for _, f := range c.Findings {
				if f.IndividualApproval {
					return true
				}
			}
		}
	}
	return false
}

// lists returns all lists of changes, with their names in JSON.
func (r *Report) lists() []namedList {
	return []namedList{
		{"changes", &r.Changes}, {"outputs", &r.Outputs}, {"hooks", &r.Hooks}, {"tests", &r.Tests}, {"kept", &r.Kept},
		{"drift", &r.Drift}, {"deferred", &r.Deferred},
	}
}

type namedList struct {
	name    string
	changes *[]Change
}
