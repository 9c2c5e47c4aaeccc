package terraform

import (
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// builder turns a decoded plan into a report.
type builder struct {
	masker *diff.Masker
	report *diff.Report
	// learned holds the texts that the masker has learned, because many resources mark the same
	// ones.
	learned map[string]bool
}

// learn teaches the masker every value that the plan marks as sensitive, also in unchanged
// resources, before anything is rendered.
func (b *builder) learn(p *plan) {
	for name, v := range p.variables {
		if p.sensitive[name] || secret.Value(name, v, secret.Name) {
			b.learnValue(v)
		}
	}
	for _, l := range []elements{p.resources, p.drift, p.deferred} {
		for _, secret := range l.secrets {
			b.learnValue(secret)
		}
		for i := range l.list {
			one := &l.list[i]
			b.learnChange(&one.change)
			secretsOfKind(one.kind, one.change.before, b.learnValue)
			secretsOfKind(one.kind, one.change.after, b.learnValue)
		}
	}
	for name, c := range p.outputs {
		b.learnChange(&c)
		for _, v := range []diff.Raw{c.before, c.after} {
			if secret.Value(name, v, secret.Name) {
				b.learnValue(v)
			}
		}
	}
	for _, secret := range p.marked {
		b.learnValue(secret)
	}
	for _, i := range p.invoked {
		marked(i.values, mark{i.sensitive}, b.learnValue)
	}
}

func (b *builder) learnChange(c *change) {
	marked(c.before, mark{c.beforeSensitive}, b.learnValue)
	marked(c.after, mark{c.afterSensitive}, b.learnValue)
	b.learnNamed(c.before)
	b.learnNamed(c.after)
}

// learnNamed learns the texts that have the name of a secret, and the passwords in URLs.
func (b *builder) learnNamed(v diff.Raw) {
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if text, isText := raw.String(child); isText && isSecretKey(v, k, child) {
				b.learnValue(raw.Of(text))
			}
			b.learnNamed(child)
		}
	case v.IsList():
		for i := range v.Len() {
			b.learnNamed(v.At(i))
		}
	default:
		text, _ := raw.String(v)
		for _, password := range secret.Passwords(text) {
			b.learnValue(raw.Of(password))
		}
	}
}

func (b *builder) learnValue(secret diff.Raw) {
	raw.Leaves(secret, func(text string, isKey bool) bool {
		if !isKey && !b.learned[text] {
			b.learned[text] = true
			b.masker.Learn(raw.Of(text))
		}
		return true
	})
}

func (b *builder) build(p *plan) error {
	unchanged := p.resources.unchanged
	generated := 0
	changes, err := b.changes(p)
	if err != nil {
		return err
	}
	for i := range changes {
		if changes[i].Action == diff.Noop {
			unchanged++
			continue
		}
		if p.resources.list[i].generated {
			generated++
		}
		b.report.Changes = append(b.report.Changes, changes[i])
	}
	if err := b.drift(p); err != nil {
		return err
	}
	if err := b.deferred(p.deferred.list); err != nil {
		return err
	}
	same, err := b.outputs(p.outputs)
	if err != nil {
		return err
	}
	b.report.AddFold(diff.FoldUnchanged, diff.FoldResources, unchanged)
	b.report.AddFold(diff.FoldUnchanged, diff.FoldOutputs, same)
	b.checks(p)
	b.notes(p, generated)
	b.finish(p)
	return nil
}

// changesAtATime is the number of changes in one task of a goroutine.
const changesAtATime = 64

// changes describes the changes of resources. It runs several goroutines and waits for them; each
// writes to its own index, so the order is stable. The masker is read-only at this point.
func (b *builder) changes(p *plan) ([]diff.Change, error) {
	list := p.resources.list
	out := make([]diff.Change, len(list))
	errs := make([]error, len(list))
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for start := 0; start < len(list); start += changesAtATime {
		workers.Go(func() error {
			for i := start; i < min(start+changesAtATime, len(list)); i++ {
				var d differences
				out[i], d, errs[i] = b.resource(list[i])
				b.judge(&out[i], p, &list[i], d)
				// The report now has everything; release the values.
				list[i].change = change{}
			}
			return nil
		})
	}
	_ = workers.Wait() // errs has the errors in the order of the plan
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// judge adds the findings of the rules to a change.
func (b *builder) judge(c *diff.Change, p *plan, r *resource, d differences) {
	if c.Action == "" || c.Action == diff.Noop {
		return
	}
	k, _ := kindOf(r.change.actions) // b.resource has already parsed the actions
	risk.Judge(c, risk.Subject{
		Engine: diff.KindTerraform, Kind: c.ResourceKind, Before: r.change.before, After: r.change.after,
		Differences: d.touched,
		Unknown:     p.unknownBySetting(r), Shown: b.masker.Step, KeepsOld: k.keepsOld,
		Programs: p.programs[withoutKeys(r.address)],
	})
	unfoldFound(c, d.touched)
	for i, t := range d.touched {
		if f, ok := diff.LookAlikeFinding(c.Fields[i].Path, t.Before, t.After); ok {
			c.AddFindings(f)
		}
	}
	for _, path := range d.masked {
		c.AddFindings(diff.MaskedChangeFinding(path))
	}
}

// unfoldFound unfolds the fields that a finding is about: formatting that causes a restart is
// relevant.
func unfoldFound(c *diff.Change, touched []risk.Difference) {
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Fold == foldFormatting && isCited(c, touched[i]) {
			f.Fold = ""
		}
	}
}

// isCited reports whether a finding is about a difference.
func isCited(c *diff.Change, t risk.Difference) bool {
	return slices.ContainsFunc(c.Findings, func(f diff.Finding) bool {
		r, known := risk.Find(f.Rule)
		return known && r.Touches(t)
	})
}

// notes adds the notes about the plan as a whole.
func (b *builder) notes(p *plan, generated int) {
	add := func(sentence string) { b.report.Notes = append(b.report.Notes, sentence) }
	if p.errored {
		add("Planning ended with an error, so this plan is not complete and cannot be applied. Fix the error and plan again.")
	} else if p.complete != nil && !*p.complete {
		add("This plan is not complete: more changes follow once it is applied. Plan again afterwards.")
	}
	if generated > 0 {
		add("Terraform generated configuration for " + diff.Plural(generated, "object that is imported",
			"objects that are imported") +
			": read it before it is applied.")
	}
	b.addInvocations(p.invoked)
}

// finish sorts the report and counts its changes.
func (b *builder) finish(p *plan) {
	r := b.report
	for _, list := range [][]diff.Change{r.Changes, r.Outputs, r.Drift, r.Deferred} {
		for i := range list {
			for j := range list[i].Fields {
				if rule := list[i].Fields[j].Fold; rule != "" {
					r.AddFold(rule, diff.FoldFields, 1)
				}
			}
		}
	}
	r.AddCutFindings()
	r.Sort()
	r.Totals = r.Count()
	r.Applyable = !p.errored && (len(r.Changes) > 0 || len(r.Outputs) > 0)
	if p.applyable != nil {
		r.Applyable = *p.applyable
	}
}

func (b *builder) deferred(list []resource) error {
	for _, r := range list {
		c, _, err := b.resource(r)
		if err != nil {
			return err
		}
		c.Why = deferredReason(r.reason)
		b.report.Deferred = append(b.report.Deferred, c)
	}
	return nil
}

// outputs adds the outputs that change and returns the number of unchanged ones.
func (b *builder) outputs(outputs map[string]change) (same int, err error) {
	names := make([]string, 0, len(outputs))
	for name := range outputs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		c := outputs[name]
		k, err := kindOf(c.actions)
		if err != nil {
			return 0, fmt.Errorf("output %.100q: %w", name, err)
		}
		if k.action == diff.Noop {
			same++
			continue
		}
		if hidesName(b.masker, c) {
			c.beforeSensitive, c.afterSensitive = raw.Of(true), raw.Of(true)
		}
		out := diff.Change{
			Address: "output." + name, ResourceKind: "output", Name: name,
			Action: k.action, Risk: outputRisk(k.action),
		}
		byName := secret.Value(name, c.before, secret.Name) || secret.Value(name, c.after, secret.Name)
		d := compareOutput(b.masker, c, k.action, byName)
		out.Fields = d.fields
		risk.Judge(&out, risk.Subject{
			Engine: diff.KindTerraform, Kind: out.ResourceKind, Before: c.before, After: c.after, Differences: d.touched,
		})
		b.report.Outputs = append(b.report.Outputs, out)
	}
	return same, nil
}

// outputRisk returns the risk of an output's change. Others read the value, but no object is
// touched.
func outputRisk(a diff.Action) diff.Risk {
	if a == diff.Create {
		return diff.RiskAdditive
	}
	return diff.RiskInPlace
}

// resource describes one resource change. A no-op with a new address becomes a move, and one that
// imports becomes an import.
func (b *builder) resource(r resource) (diff.Change, differences, error) {
	if r.address == "" || !r.hasChange {
		return diff.Change{}, differences{}, fmt.Errorf("%w: a resource change has no address or no change", ErrNotPlan)
	}
	k, err := kindOf(r.change.actions)
	if err != nil {
		return diff.Change{}, differences{}, fmt.Errorf("%s: %w", diff.EscapeText(b.address(r.address)), err)
	}
	out := diff.Change{
		Address: b.address(r.address), Module: b.address(r.moduleAddress),
		ResourceKind: r.kind, Name: r.name, Deposed: r.deposed,
		Action: k.action, Order: k.order,
	}
	if r.mode == "data" {
		out.ResourceKind = "data." + r.kind
	}
	if r.previousAddress != "" && r.previousAddress != r.address {
		out.From = b.address(r.previousAddress)
	}
	if i := r.change.importing; i != nil {
		out.Imported, out.ImportID = true, b.importID(*i)
	}
	if out.Action == diff.Noop && out.From != "" {
		out.Action = diff.Move
	}
	if out.Action == diff.Noop && out.Imported {
		out.Action = diff.Import
	}
	out.Risk = out.Action.Risk()
	if out.Action == diff.Noop {
		return out, differences{}, nil
	}
	d := compare(b.masker, r.kind, r.change, out.Action)
	out.Fields = d.fields
	out.Unchanged = unchangedAttributes(r.change)
	out.Why = replaceReason(r, k, d.forced)
	return out, d, nil
}

// importID returns the id of an imported object, or the attributes of its identity.
func (b *builder) importID(i importing) string {
	switch {
	case i.unknown:
		return "(known after apply)"
	case i.id != "":
		return b.masker.Text(i.id)
	}
	var parts []string
	for _, k := range i.identity.Keys() {
		v, _ := i.identity.Get(k)
		if text, _ := raw.Text(v); !v.IsNull() {
			parts = append(parts, k+"="+text)
		}
	}
	return b.masker.Text(strings.Join(parts, ", "))
}

// unchangedAttributes counts attributes with a value that does not change.
func unchangedAttributes(c change) int {
	n := 0
	for _, k := range c.before.Keys() {
		was, _ := c.before.Get(k)
		is, ok := c.after.Get(k)
		if ok && !was.IsNull() && !(mark{c.afterUnknown}).key(k).some() && was.Equal(is) {
			n++
		}
	}
	return n
}
