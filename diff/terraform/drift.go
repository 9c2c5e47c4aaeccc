package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// foldUnread is the rule that folds drift in attributes that no changed part of the plan depends on. Terraform leaves it out of what it
// prints, too (the plan's relevant_attributes are made for that, since format 1.1): an attribute that the configuration sets is put
// back by a change of the plan, which is listed as one.
const foldUnread = "not read by this plan"

// drift lists what others changed. It has happened already: this plan does nothing to it.
func (b *builder) drift(p *plan) error {
	for _, r := range p.drift.list {
		c, d, err := b.resource(r)
		if err != nil {
			return err
		}
		if c.Action == diff.Noop {
			continue
		}
		b.judgeDrift(&c, &r, d)
		if p.readsSome() {
			p.foldUnread(&c, r.address, d.touched)
		}
		b.report.Drift = append(b.report.Drift, c)
	}
	return nil
}

// judgeDrift adds what the rules about security find in what others did. It has happened, so it risks nothing more.
func (b *builder) judgeDrift(c *diff.Change, r *resource, d differences) {
	action, order, fields := c.Action, c.Order, slices.Clone(c.Fields)
	risk.Judge(c, risk.Subject{
		Engine: diff.KindTerraform, Kind: c.ResourceKind, Before: r.change.before, After: r.change.after, Touched: d.touched, Shown: b.masker.Step,
	})
	c.Action, c.Order, c.Fields = action, order, fields
	all := c.Findings
	c.Risk, c.Why, c.Findings = diff.RiskNone, "", nil
	for _, f := range all {
		if f.Security {
			f.Risk = diff.RiskNone
			c.Judge(f)
		}
	}
}

// readsSome says that the plan tells what it depends on. One that only refreshes has no changes, and is made to see all drift.
func (p *plan) readsSome() bool {
	return p.atLeast(1) && len(p.resources.list)+p.resources.unchanged > 0
}

// foldUnread folds the fields that nothing depends on. What is gone, or came, is always told, and so is what rules about security find.
func (p *plan) foldUnread(c *diff.Change, address string, touched []risk.Touched) {
	if c.Action != diff.Update || c.Security() {
		return
	}
	var read []tree.Path
	for _, a := range p.relevant {
		// An address without the key of an instance stands for all of them.
		if rest, ok := strings.CutPrefix(address, a.resource); ok && (rest == "" || rest[0] == '[') {
			read = append(read, a.path)
		}
	}
	for i := range c.Fields {
		if c.Fields[i].Fold == "" && !anyTouches(read, touched[i].Path) {
			c.Fields[i].Fold = foldUnread
		}
	}
}

func anyTouches(read []tree.Path, p tree.Path) bool {
	for _, r := range read {
		if touches(r, p) {
			return true
		}
	}
	return false
}

// touches says that one path is the other one or lies inside it, whatever the index: elements of a set have none.
func touches(a, b tree.Path) bool {
	for i := range min(len(a), len(b)) {
		if a[i].IsIndex != b[i].IsIndex || !a[i].IsIndex && (a[i].Key != b[i].Key || a[i].Into != b[i].Into) {
			return false
		}
	}
	return true
}
