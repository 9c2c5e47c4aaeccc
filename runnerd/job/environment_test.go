package job

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestRegistriesOfClouds: a job logs in to the runner's registry with the runner's identity if the registry is one of a
// cloud, and the runner has no user name for it.
func TestRegistriesOfClouds(t *testing.T) {
	const ecr = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/nuon"
	for _, test := range []struct {
		env  environment
		want bool
	}{
		{environment{registry: ecr}, true},
		{environment{registry: ecr, registryUsername: "AWS"}, false},
		{environment{registry: "ghcr.io/acme"}, false},
	} {
		vendor, _, err := test.env.registries(api.JobSpec{Kind: api.JobSpecKindBuild})
		if err != nil || (vendor.Login != nil) != test.want {
			t.Errorf("%s: a login %v, %v", test.env.registry, vendor.Login != nil, err)
		}
	}
}
