package helm

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Health returns the health of the deployed release's objects, or unknown if no
// release is deployed. It is a health.Look.
func Health(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	s, found, err := openDeployed(ctx, env, part)
	if err != nil {
		return api.Health{}, err
	}
	if found == nil {
		return api.Health{Status: api.HealthStatusUnknown, Objects: []api.ObjectHealth{}, At: time.Now().UTC()}, nil
	}
	refs, err := s.refs(found)
	if err != nil {
		return api.Health{}, err
	}
	return s.cluster.Health(ctx, refs)
}

// Objects returns the objects of the release, which must be one that the component's own apply made. It is a
// podlogs.Finder.
func Objects(ctx context.Context, env *job.Env, part api.HealthPart) (*cluster.Cluster, []api.ObjectRef, error) {
	s, found, err := openDeployed(ctx, env, part)
	switch {
	case err != nil:
		return nil, nil, err
	case found == nil:
		return nil, nil, fmt.Errorf("no revision of the release %s is deployed", s.Release)
	case found.Component() != part.Deploy.InstallComponent:
		return nil, nil, fmt.Errorf("the release %s was not deployed by this component; deploy the component again",
			s.Release)
	}
	refs, err := s.refs(found)
	return s.cluster, refs, err
}

// openDeployed connects to the component's cluster and returns the deployed revision of its release, or nil.
func openDeployed(ctx context.Context, env *job.Env, part api.HealthPart) (*session, *helmsdk.Release, error) {
	opened, err := values.Open(part.Deploy.InstallID, part.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return nil, nil, err
	}
	at, err := renderLocation(part.Deploy.Helm, opened)
	if err != nil {
		return nil, nil, err
	}
	s, err := open(ctx, env, part.Deploy, at, opened, opened.Secrets)
	if err != nil {
		return nil, nil, err
	}
	return s, deployed(s.history), nil
}
