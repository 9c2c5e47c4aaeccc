package build

// verdict is the decision about an input.
type verdict int

const (
	// verdictKeep: the input is already the component's input and has a build.
	verdictKeep verdict = iota
	// verdictAdopt: the input becomes the component's input again, with its existing build.
	verdictAdopt
	// verdictBuild: the input has no build, so one is created.
	verdictBuild
)

// decide returns what to do about an input. A failed build counts as a build: the same input would
// fail again, so only a person's request rebuilds it.
func decide(currentInput *string, found knownInput) verdict {
	switch {
	case found.build == nil:
		return verdictBuild
	case currentInput == nil || *currentInput != found.input.ID:
		return verdictAdopt
	}
	return verdictKeep
}
