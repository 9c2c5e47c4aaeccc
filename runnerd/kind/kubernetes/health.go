package kubernetes

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Health returns the health of a component's objects. It is a health.Look.
func Health(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	opened, err := values.Open(part.Deploy.InstallID, part.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.Health{}, err
	}
	session, err := open(env, part.Deploy, opened, opened.Secrets)
	if err != nil {
		return api.Health{}, err
	}
	return session.cluster.Health(ctx, part.Inventory)
}
