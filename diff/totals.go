package diff

// Totals counts a report. A resource that is imported or moved and also changed counts twice: once for each.
type Totals struct {
	Create    int `json:"create"`
	Update    int `json:"update"`
	Replace   int `json:"replace"`
	Destroy   int `json:"destroy"`
	Move      int `json:"move"`
	Import    int `json:"import"`
	Forget    int `json:"forget"`
	Read      int `json:"read"`
	Drift     int `json:"drift"`
	Deferred  int `json:"deferred"`
	Outputs   int `json:"outputs"`
	Unchanged int `json:"unchanged"`
}

// The rule and the names that Count and the plan readers agree on.
const (
	// FoldUnchanged is the rule that folds what stays as it is.
	FoldUnchanged = "unchanged"
	// FoldResources and FoldOutputs are what it folds.
	FoldResources = "resources"
	FoldOutputs   = "outputs"
)

// Count works out the totals from what the report lists and folds.
func (r *Report) Count() Totals {
	t := Totals{Drift: len(r.Drift), Deferred: len(r.Deferred), Outputs: len(r.Outputs)}
	for _, c := range r.Changes {
		t.add(c)
	}
	for _, f := range r.Folded {
		if f.Rule == FoldUnchanged && f.What == FoldResources {
			t.Unchanged += f.Count
		}
	}
	return t
}

func (t *Totals) add(c Change) {
	if c.From != "" {
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
