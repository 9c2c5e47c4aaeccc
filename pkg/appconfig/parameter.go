package appconfig

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/envname"
)

// ActionInput is a parameter of an action: a value that each run receives. Steps receive it in
// their environment, never as part of a template, so user input is never executed as code.
type ActionInput format.ActionInput

var actionInputTypes = []string{"string", "number", "bool", "json"}

const (
	// maxActionInputs bounds the inputs of an action.
	maxActionInputs = 100
	// maxInputBytes bounds the total size of one run's input values, because they become
	// environment.
	maxInputBytes = 32 << 10
	// inputPrefix is the prefix of the variable that every input has.
	inputPrefix = "NUON_INPUT_"
)

// Variable returns the environment variable that always holds the input: NUON_INPUT_ and its name
// in upper case, with an underscore for every character that a variable name cannot contain.
func (i *ActionInput) Variable() string {
	return inputPrefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, i.Name)
}

// Check returns what is wrong with a value, as a phrase that follows the input's name, or "".
func (i *ActionInput) Check(value string) string {
	if strings.ContainsRune(value, 0) {
		return "holds a NUL character, which no variable can"
	}
	if i.Type == "string" {
		if value == "" && i.Required {
			return "must not be empty"
		}
		return ""
	}
	if value == "" {
		return "must not be empty: it is a " + i.Type
	}
	if number, err := strconv.ParseFloat(value, 64); i.Type == "number" &&
		(err != nil || math.IsNaN(number) || math.IsInf(number, 0)) {
		return "is not a number"
	}
	return (&Input{Type: i.Type}).Check(value)
}

// InputEnvironment returns the environment for input values, which are keyed by input name: each
// value under the input's Variable, and also under the input's own name where envname.Check
// allows that.
func InputEnvironment(values map[string]string) map[string]string {
	env := make(map[string]string, 2*len(values))
	for name, value := range values {
		env[(&ActionInput{Name: name}).Variable()] = value
		if envname.Check(name) == nil && envname.CheckValue(name, value) == nil {
			env[name] = value
		}
	}
	return env
}

// CheckInputs validates the values for a run and returns the values of all inputs by name: each as
// given, or else its default. Optional inputs without a value are absent. problems lists everything
// that is wrong, one sentence each, for a person; values is nil then.
func (a *Action) CheckInputs(given map[string]string) (values map[string]string, problems []string) {
	names, size := make([]string, 0, len(a.Inputs)), 0
	for _, input := range a.Inputs {
		names = append(names, input.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		size += len(name) + len(given[name])
		if !slices.Contains(names, name) {
			problems = append(problems,
				fmt.Sprintf("action %s has no input %s%s", a.Name, diagnostic.Quote(name), otherInputs(name, names)))
		}
	}
	if size > maxInputBytes {
		return nil, append(problems, fmt.Sprintf("the inputs are larger than %d bytes", maxInputBytes))
	}
	values = map[string]string{}
	for _, input := range a.Inputs {
		value, set := given[input.Name]
		switch {
		case set:
			if problem := input.Check(value); problem != "" {
				problems = append(problems, fmt.Sprintf("input %s %s", input.Name, problem))
			}
		case input.Default != nil:
			value, set = *input.Default, true
		case input.Required:
			problems = append(problems, fmt.Sprintf("input %s is required", input.Name))
		}
		if set {
			values[input.Name] = value
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return values, nil
}

// otherInputs returns the hint that follows the name of an unknown input.
func otherInputs(mistaken string, names []string) string {
	if hint := diagnostic.DidYouMean(mistaken, names); hint != "" {
		return ", " + hint
	}
	if len(names) == 0 {
		return "; it has none"
	}
	return "; it has " + strings.Join(names, ", ")
}
