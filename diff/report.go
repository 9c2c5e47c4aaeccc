package diff

// KindTerraform is the Report.Kind of a Terraform or OpenTofu plan.
const KindTerraform = "terraform"

// KindState is the Report.Kind of making another version of a Terraform state the newest: what the state gains and loses, and nothing
// that exists is touched.
const KindState = "state"

// Report is the masked, showable description of one change. It round-trips through JSON, and its Digest is what an approval binds
// to. A report that came over a network should be checked with Validate.
type Report struct {
	// Kind names what was compared, for example KindTerraform.
	Kind string `json:"kind"`
	// Changes is what apply will do, sorted by address.
	Changes []Change `json:"changes,omitempty"`
	// Outputs are the outputs that change, sorted by name. Their address is "output.NAME" and their resource kind is "output".
	Outputs []Change `json:"outputs,omitempty"`
	// Drift is what others changed since the last apply. It has happened already, so it carries no risk and counts for nothing
	// but Totals.Drift.
	Drift []Change `json:"drift,omitempty"`
	// Deferred is what a later plan must decide, with the reason in Why.
	Deferred []Change `json:"deferred,omitempty"`
	// Folded is what was left out of the lists above, by the rule that did it.
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
	// Module is the address of the module that holds the object; empty at the root.
	Module       string `json:"module,omitempty"`
	ResourceKind string `json:"resource_kind"`
	Name         string `json:"name"`
	// Deposed is the key of a left-over object of an earlier replacement.
	Deposed string `json:"deposed,omitempty"`
	// From is the address that the object had before a move.
	From string `json:"from,omitempty"`
	// Imported says that an existing object is taken over, known as ImportID (which is empty when it is known by its identity
	// alone).
	Imported bool   `json:"imported,omitempty"`
	ImportID string `json:"import_id,omitempty"`

	Action Action `json:"action"`
	// Order is set for a replacement.
	Order Order `json:"order,omitempty"`
	Risk  Risk  `json:"risk"`
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
	Path   string `json:"path,omitempty"`
	Before Shown  `json:"before"`
	After  Shown  `json:"after"`
	// Lines is the line diff of a string of several lines, with three lines of context.
	Lines []Line `json:"lines,omitempty"`
	// ForcesReplace marks an attribute that cannot change in place.
	ForcesReplace bool `json:"forces_replace,omitempty"`
}

// Fold counts what a rule left out of the report.
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
	for _, list := range [][]Change{r.Changes, r.Outputs} {
		for _, c := range list {
			highest = max(highest, c.Risk)
		}
	}
	return highest
}
