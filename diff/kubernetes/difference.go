package kubernetes

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// difference is one place at which two objects differ, before anything is masked or put into words.
type difference struct {
	path                tree.Path
	typ                 *schema.Type
	before, after       raw.Value
	hasBefore, hasAfter bool
	// parent is the object that leaves the field out, when only one side has it: some defaults hang on what else that says. In what is
	// added or goes as a whole it is the whole.
	parent raw.Value
	// place is where an element of a list is: in after, or in before when it is only there.
	place int
	// order is set for a list of which elements that both sides have change places: for each element of after its place in before, -1 for
	// none. Before and after then are what names the elements, and the elements' own differences stand beside this one.
	order []int
	// atomic: the difference lies inside a list that an apply writes as a whole.
	atomic bool
	// was is the type that the place has before the change; see comparison.earlier.
	was *schema.Type
	// authored: the place lies in a status that the author of a manifest writes.
	authored bool
	// read: pods of the object read their own labels or annotations. used: something in the set reads this label.
	read bool
	used map[string]bool
	// builtin: the place belongs to the API itself, not to a custom resource or to a document inside a string.
	builtin bool
	// sensitive: what is around the value says that it must not be shown.
	sensitive bool
	holds     holding
	// cutBefore and cutAfter are what is shown in the place of the values, where a part of them is secret; null shows the values. Changed says
	// that such a part is new or another one.
	cutBefore, cutAfter raw.Value
	changed             bool
	// runs: the value is that of a variable which a command of its container runs.
	runs bool
	// fold is the rule that folds the difference away, owner who else manages the field.
	fold, owner string
	// outline is what to show of a value that is too long for its line; null shows the value.
	outline raw.Value
	// regenerated: the value is made anew at each rendering.
	regenerated bool
}

// shownBefore and shownAfter are the values without their secret parts.
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

// values are the sides that are there.
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
