package kubernetes

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// difference is one place at which two objects differ, before it is masked or described.
type difference struct {
	path tree.Path
	// typ is the type of the place, and was the one before the change; see comparison.earlier.
	typ, was      *schema.Type
	before, after raw.Value
	// parent is the object without the field, if only one side has it: some
	// defaults depend on other fields of that object. Inside a value that is
	// added or removed as a whole, it is that value.
	parent raw.Value
	// place is the index of a list element in after, or in before if only before has it.
	place int
	// order is set for a list in which elements of both sides change places:
	// for each element of after its index in before, or -1. Before and After
	// are then the names of the elements, whose own differences are separate.
	order []int
	// used are the labels that something in the set reads.
	used *labelReaders
	// cutBefore and cutAfter are shown instead of the values if a part of them is secret;
	// null shows the values.
	cutBefore, cutAfter raw.Value
	// fold is the rule that folds the difference, and owner another manager of the field.
	fold, owner string
	// outline is shown instead of a value that is too long for its line; null shows the value.
	outline             raw.Value
	hasBefore, hasAfter bool
	// atomic: the difference is inside a list that an apply replaces as a whole.
	atomic bool
	// authored: the place is in a status that the author of a manifest writes.
	authored bool
	// read: pods of the object read their own labels or annotations.
	read bool
	// builtin: the place belongs to the API itself, not to a custom resource
	// or to a document inside a string.
	builtin bool
	// sensitive: the context of the value marks it as one that must not be shown.
	sensitive bool
	holds     secretScope
	// changed: the secret part of the value is new or changed.
	changed bool
	// runs: the value is that of a variable that a command of its container runs.
	runs bool
	// regenerated: the value is generated on each rendering.
	regenerated bool
}

// shownBefore and shownAfter return the values without their secret parts.
func (d *difference) shownBefore() raw.Value {
	if d.cutBefore.IsNull() {
		return d.before
	}
	return d.cutBefore
}

func (d *difference) shownAfter() raw.Value {
	if d.cutAfter.IsNull() {
		return d.after
	}
	return d.cutAfter
}

// values returns the values of the sides that have one.
func (d *difference) values() []raw.Value {
	var out []raw.Value
	if d.hasBefore {
		out = append(out, d.before)
	}
	if d.hasAfter {
		out = append(out, d.after)
	}
	return out
}
