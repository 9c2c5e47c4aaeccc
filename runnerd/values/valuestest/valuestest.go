// Package valuestest seals values for the tests of job handlers, as the CLI seals inputs and a runner outputs.
package valuestest

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// SealValue returns the value at a path such as inputs.inputs.token or components.db.outputs.url,
// sealed for an install. An output is JSON and belongs to the install component named `ic_`
// and its component's name.
func SealValue(t testing.TB, key seal.Identity, install, path, value string) api.SealedValue {
	t.Helper()
	keys := strings.Split(path, ".")
	made := api.SealedValue{Path: keys}
	var err error
	switch keys[0] {
	case "inputs":
		made.Sealed, err = key.Recipient().Seal(seal.InputContext(install, keys[2]), []byte(value))
	case "components", "sandbox":
		name, spec := keys[len(keys)-1], api.DeploySpec{InstallID: install, Component: keys[max(len(keys)-3, 0)]}
		if keys[0] == "sandbox" {
			spec.Component = keys[0]
		}
		spec.InstallComponent = "ic_" + spec.Component
		var output api.Output
		output, err = values.SealOutput(values.ComponentProducer(spec), name, []byte(value), true, key,
			func(string) bool { return false })
		made.Component, made.Hash, made.Sealed = spec.InstallComponent, output.Hash, output.Sealed
	default:
		t.Fatalf("no test seals %s", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Proof returns the proof of a plain output at a path such as sandbox.outputs.cluster, as the
// runner of the install component named `ic_` and its component's name makes it. value is JSON.
func Proof(t testing.TB, key seal.Identity, install, path, value string) api.ValueProof {
	t.Helper()
	keys := strings.Split(path, ".")
	spec := api.DeploySpec{InstallID: install, Component: keys[len(keys)-3]}
	spec.InstallComponent = "ic_" + spec.Component
	output, err := values.SealOutput(values.ComponentProducer(spec), keys[len(keys)-1], []byte(value), false, key,
		func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return api.ValueProof{Path: keys, Component: spec.InstallComponent, Hash: output.Hash}
}
