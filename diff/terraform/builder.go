package terraform

import (
	"fmt"
	"sort"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// builder turns a decoded plan into a report.
type builder struct {
	masker *diff.Masker
	report *diff.Report
}

// learn teaches the masker every value that the plan marks as sensitive, also in resources that stay as they are, before anything
// is shown.
func (b *builder) learn(p *plan) {
	for name, v := range p.variables {
		if p.config.RootModule.Variables[name].Sensitive {
			b.masker.Learn(v.Value)
		}
	}
	lists := [][]resource{p.resources, p.drift}
	for _, d := range p.deferred {
		if d.Change != nil {
			lists = append(lists, []resource{*d.Change})
		}
	}
	for _, l := range lists {
		for _, r := range l {
			if r.Change != nil {
				b.learnChange(*r.Change)
			}
		}
	}
	for _, c := range p.outputs {
		b.learnChange(c)
	}
}

func (b *builder) learnChange(c change) {
	b.learnMarked(c.Before, mark{c.BeforeSensitive})
	b.learnMarked(c.After, mark{c.AfterSensitive})
}

func (b *builder) learnMarked(v diff.Raw, m mark) {
	switch {
	case m.all():
		b.masker.Learn(v)
	case m.raw.IsObject():
		for _, k := range m.raw.Keys() {
			child, _ := v.Get(k)
			b.learnMarked(child, m.key(k))
		}
	case m.raw.IsList():
		for i := range min(m.raw.Len(), v.Len()) {
			b.learnMarked(v.At(i), m.index(i))
		}
	}
}

func (b *builder) build(p *plan) error {
	unchanged := 0
	for _, r := range p.resources {
		c, err := b.resource(r)
		if err != nil {
			return err
		}
		if c.Action == diff.Noop {
			unchanged++
			continue
		}
		b.report.Changes = append(b.report.Changes, c)
	}
	if err := b.drift(p.drift); err != nil {
		return err
	}
	if err := b.deferred(p.deferred); err != nil {
		return err
	}
	same, err := b.outputs(p.outputs)
	if err != nil {
		return err
	}
	b.report.AddFold(diff.FoldUnchanged, diff.FoldResources, unchanged)
	b.report.AddFold(diff.FoldUnchanged, diff.FoldOutputs, same)
	b.finish(p)
	return nil
}

// finish sorts, counts, and says what is true of the plan as a whole.
func (b *builder) finish(p *plan) {
	r := b.report
	r.Sort()
	r.Totals = r.Count()
	r.Applyable = !p.errored && (len(r.Changes) > 0 || len(r.Outputs) > 0)
	if p.applyable != nil {
		r.Applyable = *p.applyable
	}
	if p.errored {
		r.Notes = append(r.Notes, "Planning ended with an error, so this plan is not complete and cannot be applied. Fix the error and plan again.")
	} else if p.complete != nil && !*p.complete {
		r.Notes = append(r.Notes, "This plan is not complete: more changes follow once it is applied. Plan again afterwards.")
	}
}

func (b *builder) drift(list []resource) error {
	for _, r := range list {
		c, err := b.resource(r)
		if err != nil {
			return err
		}
		if c.Action == diff.Noop {
			continue
		}
		// It has happened already: this plan does nothing to it.
		c.Risk, c.Why = diff.RiskNone, ""
		b.report.Drift = append(b.report.Drift, c)
	}
	return nil
}

func (b *builder) deferred(list []deferred) error {
	for _, d := range list {
		if d.Change == nil {
			return fmt.Errorf("%w: a deferred change has no resource", ErrNotPlan)
		}
		c, err := b.resource(*d.Change)
		if err != nil {
			return err
		}
		c.Why = deferredReason(d.Reason)
		b.report.Deferred = append(b.report.Deferred, c)
	}
	return nil
}

// outputs adds the outputs that change and counts those that do not.
func (b *builder) outputs(outputs map[string]change) (same int, err error) {
	names := make([]string, 0, len(outputs))
	for name := range outputs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		c := outputs[name]
		k, err := kindOf(c.Actions)
		if err != nil {
			return 0, fmt.Errorf("output %.100q: %w", name, err)
		}
		if k.action == diff.Noop {
			same++
			continue
		}
		fields, _ := compare(b.masker, c, k.action)
		out := diff.Change{
			Address: "output." + name, ResourceKind: "output", Name: name,
			Action: k.action, Risk: outputRisk(k.action), Fields: fields,
		}
		b.report.Outputs = append(b.report.Outputs, out)
	}
	return same, nil
}

// outputRisk: an output is a value that others read. No object is touched when it changes or goes.
func outputRisk(a diff.Action) diff.Risk {
	if a == diff.Create {
		return diff.RiskAdditive
	}
	return diff.RiskInPlace
}

// resource describes one resource change. A no-op that moves or is imported is that.
func (b *builder) resource(r resource) (diff.Change, error) {
	if r.Address == "" || r.Change == nil {
		return diff.Change{}, fmt.Errorf("%w: a resource change has no address or no change", ErrNotPlan)
	}
	k, err := kindOf(r.Change.Actions)
	if err != nil {
		return diff.Change{}, fmt.Errorf("%s: %w", diff.Neutral(b.address(r.Address)), err)
	}
	out := diff.Change{
		Address: b.address(r.Address), Module: b.address(r.ModuleAddress),
		ResourceKind: r.Type, Name: r.Name, Deposed: r.Deposed,
		Action: k.action, Order: k.order,
	}
	if r.Mode == "data" {
		out.ResourceKind = "data." + r.Type
	}
	if r.PreviousAddress != "" && r.PreviousAddress != r.Address {
		out.From = b.address(r.PreviousAddress)
	}
	if r.Change.Importing != nil {
		out.Imported, out.ImportID = true, b.masker.Text(r.Change.Importing.ID)
	}
	if out.Action == diff.Noop && out.From != "" {
		out.Action = diff.Move
	}
	if out.Action == diff.Noop && out.Imported {
		out.Action = diff.Import
	}
	out.Risk = out.Action.Risk()
	if out.Action == diff.Noop {
		return out, nil
	}
	var forced []string
	out.Fields, forced = compare(b.masker, *r.Change, out.Action)
	out.Unchanged = unchangedAttributes(*r.Change)
	out.Why = why(r, k, forced)
	return out, nil
}

// unchangedAttributes counts attributes that have a value and keep it.
func unchangedAttributes(c change) int {
	n := 0
	for _, k := range c.Before.Keys() {
		was, _ := c.Before.Get(k)
		is, ok := c.After.Get(k)
		if ok && !was.IsNull() && !(mark{c.AfterUnknown}).key(k).some() && was.Equal(is) {
			n++
		}
	}
	return n
}

// address is a resource address as people may see it. Its names come from the configuration; only the keys of for_each can hold
// values, so only those can be hidden.
func (b *builder) address(address string) string {
	if !b.masker.Knows(address) {
		return address
	}
	var out strings.Builder
	for rest := address; rest != ""; {
		head, tail, found := strings.Cut(rest, `["`)
		out.WriteString(head)
		if !found {
			break
		}
		key, after := quotedKey(tail)
		if b.masker.Knows(key) {
			key = diff.Hidden
		}
		out.WriteString(`["` + key + `"]`)
		rest = after
	}
	return out.String()
}

// quotedKey splits `KEY"]REST`. Terraform escapes a quote inside a key with a backslash. A key that never ends is the whole rest.
func quotedKey(s string) (key, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i], strings.TrimPrefix(s[i+1:], "]")
		}
	}
	return s, ""
}
