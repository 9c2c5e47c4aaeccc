package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// foldIrrelevant is the rule that folds drift in attributes that no changed part of the plan depends
// on. Terraform hides such drift, too; relevant_attributes in the plan, since format 1.1, exist for
// this. An attribute that the configuration sets is restored by a change of the plan, which is
// listed.
const foldIrrelevant = "not read by this plan"

// drift lists the changes that others made outside of Terraform. The plan does not affect them.
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
			p.foldIrrelevant(&c, r.address, d.touched)
		}
		b.report.Drift = append(b.report.Drift, c)
	}
	return nil
}

// judgeDrift adds the findings of security rules to drift. It has already happened, so it has no
// further risk.
func (b *builder) judgeDrift(c *diff.Change, r *resource, d differences) {
	action, order, fields := c.Action, c.Order, slices.Clone(c.Fields)
	risk.Judge(c, risk.Subject{
		Engine: diff.KindTerraform, Kind: c.ResourceKind, Before: r.change.before, After: r.change.after,
		Differences: d.touched, Shown: b.masker.Step,
	})
	c.Action, c.Order, c.Fields = action, order, fields
	all := c.Findings
	c.Risk, c.Why, c.Findings = diff.RiskNone, "", nil
	for _, f := range all {
		if f.Security {
			f.Risk = diff.RiskNone
			c.AddFindings(f)
		}
	}
}

// readsSome reports whether the plan lists its dependencies. A refresh-only plan has no changes and
// is made to show all drift.
func (p *plan) readsSome() bool {
	return p.atLeast(1) && len(p.resources.list)+p.resources.unchanged > 0
}

// foldIrrelevant folds the fields that no changed part depends on. It never folds created or removed
// objects, nor drift with a security finding.
func (p *plan) foldIrrelevant(c *diff.Change, address string, touched []risk.Difference) {
	if c.Action != diff.Update || c.HasSecurityFinding() {
		return
	}
	var read []tree.Path
	for _, a := range p.relevant {
		// An address without an instance key refers to all instances.
		if rest, ok := strings.CutPrefix(address, a.resource); ok && (rest == "" || rest[0] == '[') {
			read = append(read, a.path)
		}
	}
	for i := range c.Fields {
		if c.Fields[i].Fold == "" && !anyTouches(read, touched[i].Path) {
			c.Fields[i].Fold = foldIrrelevant
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

// touches reports whether one path equals or contains the other, ignoring indexes: set elements have
// none.
func touches(a, b tree.Path) bool {
	for i := range min(len(a), len(b)) {
		if a[i].IsIndex != b[i].IsIndex || !a[i].IsIndex && (a[i].Key != b[i].Key || a[i].Into() != b[i].Into()) {
			return false
		}
	}
	return true
}
