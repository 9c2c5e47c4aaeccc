package helm

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Health returns the health of the deployed release's objects, or unknown if no
// release is deployed. It is a health.Look.
func Health(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	opened, err := values.Open(part.Deploy.InstallID, part.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.Health{}, err
	}
	at, err := renderLocation(part.Deploy.Helm, opened)
	if err != nil {
		return api.Health{}, err
	}
	s, err := open(ctx, env, part.Deploy, at, opened, opened.Secrets)
	if err != nil {
		return api.Health{}, err
	}
	found := deployed(s.history)
	if found == nil {
		return api.Health{Status: api.HealthStatusUnknown, Objects: []api.ObjectHealth{}, At: time.Now().UTC()}, nil
	}
	refs, err := s.refs(found)
	if err != nil {
		return api.Health{}, err
	}
	return s.cluster.Health(ctx, refs)
}
