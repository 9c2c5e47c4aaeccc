package diff

import "slices"

// ownValue stands in a Gist for a value that each install has of its own. It is unquoted, so that it is not taken for a text.
var ownValue = Shown{Text: "(its own)", Type: TypeNumber}

// Gist is a copy of the report, for comparing it with those of other installs, without the values that each install has of its own by
// nature, whatever they are: those that go with an object that is destroyed or forgotten (but for switches, such as whether a last copy is
// made), and those in whose place comes what is known
// only after apply, such as the id of an object that is replaced. Renderers fold most of them. What stays is which fields they are of,
// and everything that comes. It is for gathering and for display, and no approval binds to it.
func (r *Report) Gist() *Report {
	out := *r
	for _, l := range out.lists() {
		if l.name == SectionDrift { // what others did is what it is
			continue
		}
		changes := slices.Clone(*l.changes)
		for i := range changes {
			changes[i].Fields = gistOf(changes[i].Action, changes[i].Fields)
		}
		*l.changes = changes
	}
	return &out
}

// gistOf are the fields of a change in a Gist.
func gistOf(a Action, fields []FieldChange) []FieldChange {
	out := slices.Clone(fields)
	for i := range out {
		f := &out[i]
		goes := f.After.Absent && (a == Destroy || a == Forget) && f.Before.Type != TypeBool
		if !goes && !f.After.Unknown || f.Before.Absent || f.Before.Masked || f.Before.Unknown {
			continue
		}
		f.Before, f.Lines = ownValue, nil
	}
	return out
}
