package values

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Producer is the source of outputs: a component on an install, or an action.
type Producer struct {
	install   string
	component string // id of the install component; empty for an action
	outputs   render.Path
}

// ComponentProducer returns the component of a spec as a producer of outputs.
func ComponentProducer(spec api.DeploySpec) Producer {
	path := render.Path{"components", spec.Component, "outputs"}
	if spec.Component == "sandbox" {
		path = render.Path{"sandbox", "outputs"}
	}
	return Producer{install: spec.InstallID, component: spec.InstallComponent, outputs: path}
}

// ActionProducer returns the action of a spec as a producer of outputs.
func ActionProducer(spec api.ActionSpec) Producer {
	return Producer{install: spec.InstallID, outputs: render.Path{"actions", "workflows", spec.Action, "outputs"}}
}

// context returns the seal context of one output.
func (p Producer) context(name string) seal.Context {
	return seal.Context{Install: p.install, Kind: seal.KindOutput, Component: p.component, Path: joinPath(p.outputs, name)}
}

// joinPath formats the path of an output as one text. Keys that contain a dot are quoted,
// so that different paths have different texts; the name comes last and is never quoted.
func joinPath(prefix render.Path, name string) string {
	var text strings.Builder
	for _, key := range prefix {
		if strings.ContainsAny(key, `."`) {
			key = strconv.Quote(key)
		}
		text.WriteString(key + ".")
	}
	return text.String() + name
}

// valueContext returns the seal context that the value at a path must have. Only inputs, variables
// of the app and outputs are ever sealed.
func valueContext(install string, path render.Path, component string) (seal.Context, error) {
	if install == "" {
		return seal.Context{}, errors.New("the job names no install; this is a bug in the control plane; report it")
	}
	from := Producer{install: install, component: component}
	depth := 0
	switch {
	case path.HasPrefix("inputs", "inputs") && len(path) == 3 && component == "":
		return seal.InputContext(install, path[2]), nil
	case path.HasPrefix("app", "variables") && len(path) == 3 && component == "":
		return seal.InstallVariableContext(install, path[2]), nil
	case path.HasPrefix("sandbox", "outputs") && len(path) == 3:
		depth = 2
	case path.HasPrefix("components") && len(path) == 4 && path[1] != "sandbox" && path[2] == "outputs":
		depth = 3
	case path.HasPrefix("actions", "workflows") && len(path) >= 5 && path[3] == "outputs" && component == "":
		depth = 4
	default:
		return seal.Context{}, errors.New("no sealed value belongs there; this is a bug in the control plane; report it")
	}
	from.outputs = path[:depth]
	return from.context(strings.Join(path[depth:], ".")), nil
}

// verifyPlain records the plain outputs whose keyed hashes match. The others can be rendered
// like any value of the control plane, but are not authentic. It runs before sealed values
// are added to the tree.
func (v *Values) verifyPlain(install string, proofs []api.ValueProof, key seal.Identity) {
	for _, proof := range proofs {
		path := render.Canonical(render.Path(proof.Path))
		context, err := valueContext(install, path, proof.Component)
		if err != nil || context.Kind != seal.KindOutput {
			continue
		}
		value, found := v.tree.Get(path)
		if !found {
			continue
		}
		if plain, err := canonicalJSON(value); err == nil && sameHash(context.Hash(key, plain), proof.Hash) {
			v.authenticPaths = append(v.authenticPaths, path)
		}
	}
}

// sameHash compares two keyed hashes. An empty hash equals none.
func sameHash(made, given string) bool {
	return made != "" && subtle.ConstantTimeCompare([]byte(made), []byte(given)) == 1
}

// IsAuthentic reports whether a holder of the install key reported every value at and below
// a path: outputs, plain or sealed, whose keyed hashes match. It returns false for inputs,
// for values that the control plane adds, and for a path without a value.
//
// A control plane cannot forge an authentic value. It can still omit one, or send an older
// value of the same output.
func (v *Values) IsAuthentic(path render.Path) bool {
	path = render.Canonical(path)
	value, found := v.tree.Get(path)
	return found && v.isAuthentic(path, value)
}

func (v *Values) isAuthentic(path render.Path, value any) bool {
	if slices.ContainsFunc(v.authenticPaths, func(p render.Path) bool { return path.HasPrefix(p...) }) {
		return true
	}
	below, isMap := value.(map[string]any)
	if !isMap || len(below) == 0 {
		return false
	}
	for key, each := range below {
		if !v.isAuthentic(append(slices.Clone(path), key), each) {
			return false
		}
	}
	return true
}

// canonicalJSON returns the same JSON text for equal values, independent of their encoding:
// sorted keys, and numbers as exact fractions. The control plane stores plain values as jsonb,
// which changes whitespace, the order of keys and the spelling of numbers.
func canonicalJSON(value any) ([]byte, error) {
	switch value := value.(type) {
	case json.Number:
		exact, ok := new(big.Rat).SetString(boundedNumber(value.String()))
		if !ok {
			return nil, fmt.Errorf("%.40s is not a number that can be kept", value)
		}
		return []byte(exact.RatString()), nil
	case []any:
		text := []byte{'['}
		for _, each := range value {
			item, err := canonicalJSON(each)
			if err != nil {
				return nil, err
			}
			text = append(append(text, item...), ',')
		}
		return append(text, ']'), nil
	case map[string]any:
		text := []byte{'{'}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			name, err := json.Marshal(key)
			if err != nil {
				return nil, err
			}
			item, err := canonicalJSON(value[key])
			if err != nil {
				return nil, err
			}
			text = append(append(append(append(text, name...), ':'), item...), ',')
		}
		return append(text, '}'), nil
	}
	return json.Marshal(value) // a string, a boolean or null
}

// boundedNumber returns a number's text, or "" when the number is outside the range of a double:
// as a fraction it could fill the memory.
func boundedNumber(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return ""
	}
	if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found {
		if power, err := strconv.Atoi(exponent); err != nil || power < -400 || power > 400 {
			return ""
		}
	}
	return text
}
