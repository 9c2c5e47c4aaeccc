package diff

import "sort"

// KindTerraform is the Report.Kind of a Terraform or OpenTofu plan.
const KindTerraform = "terraform"

// KindKubernetes is the Report.Kind of Kubernetes manifests.
const KindKubernetes = "kubernetes"

// KindApp is the Report.Kind of two configs of an app.
const KindApp = "app"

// KindState is the Report.Kind of making another version of a Terraform state the newest: what the state gains and loses, and nothing
// that exists is touched.
const KindState = "state"

// Report is the masked, showable description of one change. It round-trips through JSON, and its Digest is what an approval binds
// to. A report that came over a network should be checked with Validate.
type Report struct {
	// Kind names what was compared, for example KindTerraform.
	Kind string `json:"kind"`
	// Changes is what apply will do, sorted by address. A change whose fields are all folded (Change.Noise) is listed too: a renderer
	// leaves it out and says so.
	Changes []Change `json:"changes,omitempty"`
	// Outputs are the outputs that change, sorted by name. Their address is "output.NAME" and their resource kind is "output".
	Outputs []Change `json:"outputs,omitempty"`
	// Hooks and Tests are objects that Helm makes at the events of a release (Change.Hook), and not with the rest of it.
	Hooks []Change `json:"hooks,omitempty"`
	Tests []Change `json:"tests,omitempty"`
	// Kept are objects that leave the release and stay where they are (helm.sh/resource-policy: keep).
	Kept []Change `json:"kept,omitempty"`
	// Drift is what others changed since the last apply. It has happened already, so it carries no risk and counts for nothing
	// but Totals.Drift.
	Drift []Change `json:"drift,omitempty"`
	// Deferred is what a later plan must decide, with the reason in Why.
	Deferred []Change `json:"deferred,omitempty"`
	// Checks are the conditions of the configuration that do not hold, or are not known yet, sorted by address.
	Checks []Check `json:"checks,omitempty"`
	// Folded is what was left out of the lists above, or is marked as folded in them, by the rule that did it.
	Folded []Fold `json:"folded,omitempty"`
	// Notes are sentences about the plan as a whole.
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
	// Applyable says that an apply would do something. It is Terraform's own word where the plan has one.
	Applyable bool `json:"applyable"`
}

// Change is what happens to one object.
type Change struct {
	Address string `json:"address"`
	// Module is the address of the Terraform module that holds the object; empty at the root.
	Module string `json:"module,omitempty"`
	// Namespace is the Kubernetes namespace of the object; empty where there is none, or the release's own is meant.
	Namespace    string `json:"namespace,omitempty"`
	ResourceKind string `json:"resource_kind"`
	Name         string `json:"name"`
	// Deposed is the key of a left-over object of an earlier replacement.
	Deposed string `json:"deposed,omitempty"`
	// From is the address that the object had before a move, or, if it is Renamed, of the object that goes for it.
	From string `json:"from,omitempty"`
	// Renamed says that this is a new object that was found to be like one that goes. The action is Replace.
	Renamed bool `json:"renamed,omitempty"`
	// Hook names the events at which Helm makes the object, for example "pre-install,pre-upgrade".
	Hook string `json:"hook,omitempty"`
	// Config says that the object is a part of an app's config. One that is forgotten is no longer said; nothing else happens to it.
	Config bool `json:"config,omitempty"`
	// Imported says that an existing object is taken over, known as ImportID: its id, or KEY=VALUE, … of its identity (empty when it is
	// known by an identity that the plan does not tell).
	Imported bool   `json:"imported,omitempty"`
	ImportID string `json:"import_id,omitempty"`

	Action Action `json:"action"`
	// Order is set for a replacement.
	Order Order `json:"order,omitempty"`
	// Risk is the highest of the action's own and of the findings'.
	Risk Risk `json:"risk"`
	// Findings are what rules say of the change, the highest risk first.
	Findings []Finding `json:"findings,omitempty"`
	// Why completes the sentence "replace, because …". Empty when there is nothing to say.
	Why string `json:"why,omitempty"`
	// Fields are the differences, in the order of their paths.
	Fields []FieldChange `json:"fields,omitempty"`
	// Unchanged counts the attributes that have a value and keep it.
	Unchanged int `json:"unchanged,omitempty"`
}

// FieldChange is one difference inside an object.
type FieldChange struct {
	// Path is like spec[0].name, or tags["a b"]. It is empty when the object is one plain value, as an output can be.
	Path string `json:"path,omitempty"`
	// Pointer leads to the value of After, or to that of Before where there is no After. It is a JSON pointer (RFC 6901) with two more
	// kinds of step: "name=web" is the element of a list that has this name, and "@json" goes into the document that a string holds.
	// Rules that ignore a field name it so.
	Pointer string `json:"pointer,omitempty"`
	// BeforePointer leads to the value of Before where both sides have one and it is at another index there.
	BeforePointer string `json:"before_pointer,omitempty"`
	// Element is the element of a list that the field is, or is a part of, if only one side has it.
	Element *Element `json:"element,omitempty"`
	// Moved are the elements that change places, for a field that is Reordered.
	Moved  []ElementMove `json:"moved,omitempty"`
	Before Shown         `json:"before"`
	After  Shown         `json:"after"`
	// Outline is what to show of a value that is too long for its line: the schema of a field in a few words.
	Outline string `json:"outline,omitempty"`
	// MaskedPart says that a part of the value is masked, and is new or another one than before.
	MaskedPart bool `json:"masked_part,omitempty"`
	// MaskedCopy says that the value, or a line of it, is masked only because it equals a secret that somebody set elsewhere, and that it
	// is new or another one than before. The readers judge it.
	MaskedCopy bool `json:"masked_copy,omitempty"`
	// Lines is the line diff of a string of several lines, with three lines of context.
	Lines []Line `json:"lines,omitempty"`
	// ForcesReplace marks an attribute that cannot change in place.
	ForcesReplace bool `json:"forces_replace,omitempty"`
	// Reordered says that only the order of a list's elements changes. Both sides are lists of what names the elements.
	Reordered bool `json:"reordered,omitempty"`
	// Regenerated says that the value is made anew at each rendering, so that it changes whenever something is deployed.
	Regenerated bool `json:"regenerated,omitempty"`
	// Owner is who else manages the field (a field manager of the cluster), whose value an apply takes over or leaves alone.
	Owner string `json:"owner,omitempty"`
	// Fold is the rule that folds the field away, see Fold.Rule. Empty for what is shown.
	Fold string `json:"fold,omitempty"`
}

// Finding is what a rule says of a change.
type Finding struct {
	// Rule is the stable name of the rule, and Source the address of the text that it follows.
	Rule   string `json:"rule"`
	Source string `json:"source"`
	Risk   Risk   `json:"risk"`
	// Security says that the change touches who may do or reach what.
	Security bool `json:"security,omitempty"`
	// IndividualApproval says that the report does not show all of what the finding is about, so a person approves the plan by
	// itself: not together with others, and not by a rule.
	IndividualApproval bool `json:"individual_approval,omitempty"`
	// Words say what happens, as a sentence that begins in lower case and has no full stop.
	Words string `json:"words"`
	// Path is the field that the rule found; empty for the object as a whole.
	Path string `json:"path,omitempty"`
}

// Check is a condition of a configuration: a check block, a precondition, a postcondition or the validation of a variable.
type Check struct {
	// Address names the object that the condition is of.
	Address string `json:"address"`
	// Status is how it went.
	Status CheckStatus `json:"status"`
	// Problems are the configuration's own messages.
	Problems []string `json:"problems,omitempty"`
}

// CheckStatus is how a condition went.
type CheckStatus string

// The statuses, as Terraform has them. CheckError is a condition that could not be worked out.
const (
	CheckPass    CheckStatus = "pass"
	CheckFail    CheckStatus = "fail"
	CheckError   CheckStatus = "error"
	CheckUnknown CheckStatus = "unknown"
)

// Noise says that all that changes in the object is folded away, and that this risks no more than any update. Apply changes it all the same.
func (c *Change) Noise() bool {
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

// Security says that a finding of the change is about who may do or reach what.
func (c *Change) Security() bool {
	for _, f := range c.Findings {
		if f.Security {
			return true
		}
	}
	return false
}

// Judge adds findings, puts them in order, and raises the risk to the highest of them.
func (c *Change) Judge(findings ...Finding) {
	c.Findings = append(c.Findings, findings...)
	sort.Stable(byRisk(c.Findings))
	for _, f := range c.Findings {
		c.Risk = max(c.Risk, f.Risk)
	}
}

// byRisk is the order of findings: the highest risk first, then by rule and path.
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

// AddFold counts n more things that a rule folded away.
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

// Fold counts what a rule folded away.
type Fold struct {
	// Rule is the stable name of the rule, for example "unchanged".
	Rule string `json:"rule"`
	// What names the folded things in the plural, for example "resources".
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Destructive says that something that exists will be destroyed or replaced. Drift does not count: what others have destroyed is
// gone already.
func (r *Report) Destructive() bool {
	for _, c := range r.Changes {
		if c.Action.Destructive() {
			return true
		}
	}
	return false
}

// Risk is the highest risk of any change in the report.
func (r *Report) Risk() Risk {
	highest := RiskNone
	for _, list := range [][]Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept} {
		for _, c := range list {
			highest = max(highest, c.Risk)
		}
	}
	return highest
}

// NeedsIndividualApproval reports whether a finding, or a check that does not hold, requires that a person approves the plan by itself.
// Such a plan is in no group, and no rule approves it.
func (r *Report) NeedsIndividualApproval() bool {
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

// lists are all lists of changes, with their names in JSON.
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
