package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Limits of the notes of a report: it has only a few, each of a sentence or two.
const (
	maxNotes     = 100
	maxNoteBytes = 1000
)

// Validate checks that this package could have built the report: known actions in the
// lists that allow them, risks no lower than their actions, totals that match the lists,
// no text next to a mask, and no text that looks like one. A program that stores or shows
// a report of another program calls it first, because a person relies on the totals.
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
			if err := c.validateIn(l.name); err != nil {
				return fmt.Errorf("report %s: %q: %w", l.name, c.Address, err)
			}
		}
	}
	for _, l := range r.lists() {
		if !sort.SliceIsSorted(*l.changes, func(i, j int) bool { return changeLess((*l.changes)[i], (*l.changes)[j]) }) {
			return fmt.Errorf("report %s are not sorted by address", l.name)
		}
	}
	for _, c := range r.Checks {
		if err := c.validate(); err != nil {
			return fmt.Errorf("report checks: %q: %w", c.Address, err)
		}
	}
	if len(r.Policies) > MaxPolicies {
		return fmt.Errorf("report has more than %d policies", MaxPolicies)
	}
	for i := range r.Policies {
		if err := r.Policies[i].validate(); err != nil {
			return fmt.Errorf("report policies: %.100q: %w", r.Policies[i].Policy, err)
		}
	}
	for _, f := range r.Folded {
		if f.Count < 0 {
			return fmt.Errorf("report folds %d %s", f.Count, f.What)
		}
	}
	if err := r.Totals.checkEqual(r.Count()); err != nil {
		return fmt.Errorf("report totals %w", err)
	}
	return nil
}

// validateIn checks a change against the list that holds it. An output changes no
// object, and what others did has no risk.
func (c *Change) validateIn(list string) error {
	switch {
	case list == SectionKept && c.Action.Destructive():
		return fmt.Errorf("%s is no action for an object that stays", c.Action)
	case list != SectionOutputs && list != SectionDrift && c.Risk < c.Action.Risk():
		return fmt.Errorf("risk %s is too low for %s", c.Risk, c.Action)
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
		if f.Rule == "" || f.Message == "" {
			return errors.New("a finding has no rule or no words")
		}
		if f.Risk < RiskNone || f.Risk > c.Risk {
			return fmt.Errorf("risk %s is lower than rule %q says", c.Risk, f.Rule)
		}
	}
	if c.Renamed && (c.Action != Replace || c.From == "") {
		return fmt.Errorf("%s is no action for an object that another replaces", c.Action)
	}
	for i := range c.Fields {
		if err := c.Fields[i].validate(); err != nil {
			return fmt.Errorf("field %q %w", c.Fields[i].Path, err)
		}
	}
	return nil
}

func (f *FieldChange) validate() error {
	for _, s := range []ShownValue{f.Before, f.After} {
		text := s.Text != "" || s.Sum != "" || s.Type != "" || s.Size != 0 || len(f.Lines) > 0 || f.Outline != ""
		switch {
		case s.Masked && text:
			return errors.New("is masked but has text")
		case (s.Absent || s.Unknown) && (s.Text != "" || s.Sum != "" || s.Type != ""):
			return errors.New("has no value but has text")
		case !s.written():
			return fmt.Errorf("has no valid %.20q", s.Type)
		}
	}
	if e := f.Element; e != nil && e.Change != ElementAdded && e.Change != ElementRemoved {
		return fmt.Errorf("has an element that is %.20q, which is not known", e.Change)
	}
	for _, m := range f.Moved {
		if m.From < 0 || m.To < 0 {
			return fmt.Errorf("has an element that moves from %d to %d", m.From, m.To)
		}
	}
	for _, l := range f.Lines {
		switch l.Op {
		case LineSame, LineRemoved, LineAdded, LineSkipped, LineMore:
		default:
			return fmt.Errorf("has a line that is %.20q, which is not known", l.Op)
		}
		if l.Count < 0 {
			return fmt.Errorf("has a line that counts %d", l.Count)
		}
	}
	return nil
}

// written reports whether a text is valid for its type. All types except strings are shown
// without quotes: a number with the text "(none)" would look like a statement of the report.
func (s *ShownValue) written() bool {
	switch s.Type {
	case "", TypeString:
		return s.Type == TypeString || s.Text == "" || s.Masked
	case TypeNumber, TypeBool, TypeNull, TypeObject, TypeList:
	default:
		return false
	}
	if s.Sum != "" { // a part of a value has no valid form
		return true
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(s.Text))
	dec.UseNumber()
	if dec.Decode(&v) != nil || dec.InputOffset() != int64(len(s.Text)) {
		return false
	}
	_, kind := raw.Text(raw.Of(v))
	return kind == string(s.Type)
}

// changeLess is the sort order of changes in a report.
func changeLess(a, b Change) bool {
	if a.Address != b.Address {
		return a.Address < b.Address
	}
	return a.Deposed < b.Deposed
}

// Sort sorts all lists of the report.
func (r *Report) Sort() {
	for _, l := range r.lists() {
		list := *l.changes
		sort.SliceStable(list, func(i, j int) bool { return changeLess(list[i], list[j]) })
	}
	r.sortPolicies()
	sort.SliceStable(r.Checks, func(i, j int) bool { return r.Checks[i].Address < r.Checks[j].Address })
}
