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
	for _, l := range r.lists() {
		for i := range *l.changes {
			c := &(*l.changes)[i]
			if err := c.validate(); err != nil {
				return fmt.Errorf("report %s: %q: %w", l.name, c.Address, err)
			}
			if c.Risk < c.Action.Risk() && l.name == "changes" {
				return fmt.Errorf("report changes: %q: risk %s is too low for %s", c.Address, c.Risk, c.Action)
			}
		}
	}
	for _, l := range r.lists() {
		if !sort.SliceIsSorted(*l.changes, func(i, j int) bool { return before((*l.changes)[i], (*l.changes)[j]) }) {
			return fmt.Errorf("report %s are not sorted by address", l.name)
		}
	}
	for _, c := range r.Checks {
		if err := c.validate(); err != nil {
			return fmt.Errorf("report checks: %q: %w", c.Address, err)
		}
	}
	for _, f := range r.Folded {
		if f.Count < 0 {
			return fmt.Errorf("report folds %d %s", f.Count, f.What)
		}
	}
	if err := r.Totals.agree(r.Count()); err != nil {
		return fmt.Errorf("report totals %w", err)
	}
	return nil
}

func (c Check) validate() error {
	switch c.Status {
	case CheckPass, CheckFail, CheckError, CheckUnknown:
	default:
		return fmt.Errorf("status %q is not known", c.Status)
	}
	if c.Address == "" {
		return errors.New("no address")
	}
	return nil
}

func (c *Change) validate() error {
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
	for _, f := range c.Findings {
		if f.Rule == "" || f.Words == "" {
			return errors.New("a finding has no rule or no words")
		}
		if f.Risk < RiskNone || f.Risk > c.Risk {
			return fmt.Errorf("risk %s is lower than rule %q says", c.Risk, f.Rule)
		}
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
	for _, l := range r.lists() {
		list := *l.changes
		sort.SliceStable(list, func(i, j int) bool { return before(list[i], list[j]) })
	}
	sort.SliceStable(r.Checks, func(i, j int) bool { return r.Checks[i].Address < r.Checks[j].Address })
}
