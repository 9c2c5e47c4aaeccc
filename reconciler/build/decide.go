package build

// verdict is what is to be done about an input.
type verdict int

const (
	// keep: it is the component's input already, and has its build.
	keep verdict = iota
	// adopt: it becomes the component's input again, with the build that it has.
	adopt
	// makeBuild: it has no build, so one is made.
	makeBuild
)

// decide says what follows from an input that was found. A failed build counts as one: the same input would fail again, so it is
// built anew only when a person asks.
func decide(currentInput *string, found known) verdict {
	switch {
	case found.build == nil:
		return makeBuild
	case currentInput == nil || *currentInput != found.input.ID:
		return adopt
	}
	return keep
}
