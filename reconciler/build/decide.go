package build

// verdict is the decision about an input.
type verdict int

const (
	// keep: the input is already the component's input and has a build.
	keep verdict = iota
	// adopt: the input becomes the component's input again, with its existing build.
	adopt
	// makeBuild: the input has no build, so one is created.
	makeBuild
)

// decide returns what to do about an input. A failed build counts as a build: the same input would
// fail again, so only a person's request rebuilds it.
func decide(currentInput *string, found known) verdict {
	switch {
	case found.build == nil:
		return makeBuild
	case currentInput == nil || *currentInput != found.input.ID:
		return adopt
	}
	return keep
}
