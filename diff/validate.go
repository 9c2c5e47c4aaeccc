package diff

import (
	"errors"
	"fmt"
	"sort"
)

// A report says only a few things as a whole, each in a sentence or two.
const (
	maxNotes     = 100
	maxNoteBytes = 1000
)

// Validate checks that a report is one that this package could have made: known actions, risks no lower than their actions,
// totals that agree with the lists, and no text beside a mask. Whoever stores or shows a report that someone else made calls it
// first, because a person reads the totals and trusts them.
func (r *Report) Validate() error {
	if r.Kind == "" {
		return errors.New("report has no kind")
	}
	if len(r.Notes) > maxNotes || len(r.Folded) > maxNotes {
		return fmt.Errorf("report has more than %d notes or folds", maxNotes)
	}
	for _, n := range r.Notes {
		if len(n) > maxNoteBytes {
			return fmt.Errorf("report has a note of %d bytes", len(n))
		}
	}
	lists := []struct {
		name    string
		changes []Change
	}{{"changes", r.Changes}, {"outputs", r.Outputs}, {"drift", r.Drift}, {"deferred", r.Deferred}}
	for _, l := range lists {
		for _, c := range l.changes {
			if err := c.validate(); err != nil {
				return fmt.Errorf("report %s: %q: %w", l.name, c.Address, err)
			}
		}
	}
	for _, l := range lists[:2] {
		for _, c := range l.changes {
			if c.Risk < c.Action.Risk() && l.name == "changes" {
				return fmt.Errorf("report changes: %q: risk %s is too low for %s", c.Address, c.Risk, c.Action)
			}
		}
		if !sort.SliceIsSorted(l.changes, func(i, j int) bool { return before(l.changes[i], l.changes[j]) }) {
			return fmt.Errorf("report %s are not sorted by address", l.name)
		}
	}
	for _, f := range r.Folded {
		if f.Count < 0 {
			return fmt.Errorf("report folds %d %s", f.Count, f.What)
		}
	}
	if got := r.Count(); got != r.Totals {
		return fmt.Errorf("report totals %+v do not agree with its lists, which count %+v", r.Totals, got)
	}
	return nil
}

func (c Change) validate() error {
	if c.Address == "" {
		return errors.New("no address")
	}
	if !c.Action.Valid() {
		return fmt.Errorf("action %q is not known", c.Action)
	}
	if c.Order != "" && c.Order != DestroyFirst && c.Order != CreateFirst {
		return fmt.Errorf("order %q is not known", c.Order)
	}
	if c.Risk < RiskNone || c.Risk > RiskDestroy {
		return fmt.Errorf("risk %d is not known", int(c.Risk))
	}
	for _, f := range c.Fields {
		for _, s := range []Shown{f.Before, f.After} {
			if s.Masked && (s.Text != "" || s.Sum != "" || s.Type != "" || s.Size != 0 || len(f.Lines) > 0) {
				return fmt.Errorf("field %q is masked but has text", f.Path)
			}
		}
	}
	return nil
}

// before is the order of changes in a report.
func before(a, b Change) bool {
	if a.Address != b.Address {
		return a.Address < b.Address
	}
	return a.Deposed < b.Deposed
}

// Sort puts all lists of the report in their order.
func (r *Report) Sort() {
	for _, list := range [][]Change{r.Changes, r.Outputs, r.Drift, r.Deferred} {
		sort.SliceStable(list, func(i, j int) bool { return before(list[i], list[j]) })
	}
}
