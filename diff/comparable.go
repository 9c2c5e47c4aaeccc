package diff

import "slices"

// ownValue replaces in a ComparableForm a value that is specific to an install. Its type is not a string, so
// that it is shown without quotes and differs from any text.
var ownValue = ShownValue{Text: "(its own)", Type: TypeNumber}

// ComparableForm returns a copy of the report for comparison with those of other installs. It replaces
// the values that always differ between installs: those that are removed with a destroyed or
// forgotten object (but not switches, such as whether a final snapshot is made), and those that
// are replaced by a value known only after apply, such as the id of a replaced object. Renderers
// fold most of them. The names of these fields stay, and so do all new values. It is for grouping
// and display; no approval binds to it.
func (r *Report) ComparableForm() *Report {
	out := *r
	for _, l := range out.lists() {
		if l.name == SectionDrift { // drift is compared as it is
			continue
		}
		changes := slices.Clone(*l.changes)
		for i := range changes {
			changes[i].Fields = comparableFields(changes[i].Action, changes[i].Fields)
		}
		*l.changes = changes
	}
	return &out
}

// comparableFields returns the fields of a change as in a ComparableForm.
func comparableFields(a Action, fields []FieldChange) []FieldChange {
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
