package terraform

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/state"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// outputsOf returns the outputs of a state in the form that may leave the
// runner, sorted by name.
func outputsOf(version state.Version, key seal.Identity, from api.DeploySpec,
	known *values.Secrets) ([]api.Output, error) {
	found, err := version.Outputs()
	if err != nil {
		return nil, err
	}
	producer, secret := values.ComponentProducer(from), known.Contains()
	made := make([]api.Output, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		output, err := values.SealOutput(producer, name, found[name].Value.Reveal(), found[name].Sensitive, key, secret)
		if err != nil {
			return nil, err
		}
		made = append(made, output)
	}
	return made, nil
}
