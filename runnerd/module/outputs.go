package module

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/state"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// outputsOf gives the outputs of a state as they may leave, in the order of their names.
func outputsOf(version state.Version, key seal.Identity, component string, known *values.Secrets) ([]api.Output, error) {
	found, err := version.Outputs()
	if err != nil {
		return nil, err
	}
	secret := known.Contains()
	made := make([]api.Output, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		output, err := values.Output(name, found[name].Value.Reveal(), found[name].Sensitive, component, key, secret)
		if err != nil {
			return nil, err
		}
		made = append(made, output)
	}
	return made, nil
}
