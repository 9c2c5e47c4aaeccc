package diff

import (
	"fmt"
	"reflect"
	"strings"
)

// Totals counts a report. A resource that is imported or moved and also
// changed counts twice, once for each, and so does a hook that replaces an object.
type Totals struct {
	Create   int `json:"create"`
	Update   int `json:"update"`
	Replace  int `json:"replace"`
	Destroy  int `json:"destroy"`
	Move     int `json:"move"`
	Import   int `json:"import"`
	Forget   int `json:"forget"`
	Read     int `json:"read"`
	Drift    int `json:"drift"`
	Deferred int `json:"deferred"`
	Outputs  int `json:"outputs"`
	Hooks    int `json:"hooks"`
	Tests    int `json:"tests"`
	Kept     int `json:"kept"`
	// Noise counts the changes whose fields are all folded; Update does not include them.
	Noise int `json:"noise"`
	// Failed counts the checks that fail, Security the changes of all lists
	// that have a security finding.
	Failed    int `json:"failed"`
	Security  int `json:"security"`
	Unchanged int `json:"unchanged"`
	// Denied, Warned and NotEvaluated count the policies with these results.
	Denied       int `json:"denied,omitempty"`
	Warned       int `json:"warned,omitempty"`
	NotEvaluated int `json:"not_evaluated,omitempty"`
}

// The rule and the names that Count and the plan readers share.
const (
	// FoldUnchanged is the rule that folds what does not change.
	FoldUnchanged = "unchanged"
	// FoldResources and FoldOutputs name what it folds.
	FoldResources = "resources"
	FoldOutputs   = "outputs"
	// FoldParts names the unchanged parts of an app's config.
	FoldParts = "parts"
	// FoldObjects names the unchanged objects of Kubernetes manifests, and
	// FoldFields what other rules fold.
	FoldObjects = "objects"
	FoldFields  = "fields"
)

// Count computes the totals from the lists and folds of the report.
func (r *Report) Count() Totals {
	t := Totals{
		Drift: len(r.Drift), Deferred: len(r.Deferred), Outputs: len(r.Outputs),
		Hooks: len(r.Hooks), Tests: len(r.Tests), Kept: len(r.Kept),
	}
	for i := range r.Changes {
		t.add(&r.Changes[i])
	}
	for i := range r.Hooks {
		if c := &r.Hooks[i]; destroys(SectionHooks, c) {
			t.add(c)
		}
	}
	for _, l := range r.lists() {
		for i := range *l.changes {
			if (*l.changes)[i].HasSecurityFinding() {
				t.Security++
			}
		}
	}
	for _, c := range r.Checks {
		if c.Status == CheckFail || c.Status == CheckError {
			t.Failed++
		}
	}
	for _, p := range r.Policies {
		switch p.Result {
		case PolicyDeny:
			t.Denied++
		case PolicyWarn:
			t.Warned++
		case PolicyNotEvaluated:
			t.NotEvaluated++
		}
	}
	for _, f := range r.Folded {
		if f.Rule == FoldUnchanged && (f.What == FoldResources || f.What == FoldObjects || f.What == FoldParts) {
			t.Unchanged += f.Count
		}
	}
	return t
}

func (t *Totals) add(c *Change) {
	if c.IsNoise() {
		t.Noise++
		return
	}
	if c.From != "" && !c.Renamed {
		t.Move++
	}
	if c.Imported {
		t.Import++
	}
	switch c.Action {
	case Create:
		t.Create++
	case Update:
		t.Update++
	case Replace:
		t.Replace++
	case Destroy:
		t.Destroy++
	case Forget:
		t.Forget++
	case Read:
		t.Read++
	}
}

// Plus returns the sum of two counts.
func (t Totals) Plus(other Totals) Totals {
	sum, more := reflect.ValueOf(&t).Elem(), reflect.ValueOf(other)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
	return t
}

// checkEqual returns an error that names the first total that differs from the counted one.
func (t Totals) checkEqual(counted Totals) error {
	said, is := reflect.ValueOf(t), reflect.ValueOf(counted)
	for i := range said.NumField() {
		if said.Field(i).Int() != is.Field(i).Int() {
			name, _, _ := strings.Cut(said.Type().Field(i).Tag.Get("json"), ",")
			return fmt.Errorf("say %s: %d, but its lists count %d", name, said.Field(i).Int(), is.Field(i).Int())
		}
	}
	return nil
}
