package kubernetes

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Health returns the health of a component's objects. It is a health.Look.
func Health(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	session, err := openDeployed(env, part)
	if err != nil {
		return api.Health{}, err
	}
	return session.cluster.Health(ctx, part.Inventory)
}

// Objects returns the objects of the inventory that exist and carry the component's label. The inventory comes from
// the control plane; the label is what this component's applies write. It is a podlogs.Finder.
func Objects(ctx context.Context, env *job.Env, part api.HealthPart) (*cluster.Cluster, []api.ObjectRef, error) {
	session, err := openDeployed(env, part)
	if err != nil {
		return nil, nil, err
	}
	found, err := session.cluster.Objects(ctx, part.Inventory)
	if err != nil {
		return nil, nil, err
	}
	var own []api.ObjectRef
	for _, object := range found {
		if object.GetLabels()[labelComponent] == part.Deploy.InstallComponent {
			own = append(own, cluster.RefOf(object))
		}
	}
	return session.cluster, own, nil
}

// openDeployed connects to the component's cluster.
func openDeployed(env *job.Env, part api.HealthPart) (*session, error) {
	opened, err := values.Open(part.Deploy.InstallID, part.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return nil, err
	}
	return open(env, part.Deploy, opened, opened.Secrets)
}
