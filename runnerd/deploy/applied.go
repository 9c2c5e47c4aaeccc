package deploy

import (
	"crypto/subtle"
	"errors"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// AppliedEnv returns env for a job that only reads what was deployed of a component: it reaches no other cluster than
// the one of the last apply, and where the runner file allows no apply, it runs no login program that a cluster's
// outputs name. It returns an error unless this install's runner has applied the component, under this name, to the
// cluster of the part. It opens no value and sends no request.
func AppliedEnv(env *job.Env, part api.HealthPart) (*job.Env, error) {
	known := ClusterIdentity(env.Key, part.Deploy.InstallComponent, part.Deploy.Component, part.Cluster.Identity)
	if part.Cluster.Identity == "" || known.Hash == "" ||
		subtle.ConstantTimeCompare([]byte(known.Hash), []byte(part.Cluster.Hash)) != 1 {
		return nil, errors.New("this runner, with the install key that it has, has not applied it to the cluster that the " +
			"control plane names")
	}
	scoped := *env
	scoped.OnlyCluster = part.Cluster.Identity
	if env.Policy.Check(string(api.JobSpecKindApply), part.Deploy.ComponentKind) != nil {
		scoped.Policy = env.Policy.WithoutExec()
	}
	return &scoped, nil
}
