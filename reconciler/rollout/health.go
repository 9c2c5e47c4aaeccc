package rollout

import (
	"context"
	"encoding/json"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// HealthSpec returns what to check on an install: what was or may have been deployed
// into a cluster that the runner has named, under which role, and why there is no such role now (health.World).
func (r *Rollout) HealthSpec(ctx context.Context, tx *store.Tx, install store.Install) (spec api.JobSpec, why string,
	err error) {
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return spec, "", err
	}
	spec.Health = s.health()
	spec.Role, why = s.operationRole(installstack.Operation{Verb: installstack.VerbHealth})
	return spec, why, nil
}

// health returns the parts of a health job.
func (s *snapshot) health() api.HealthSpec {
	install := s.install
	spec := api.HealthSpec{Install: install.Name, InstallID: install.ID, Parts: []api.HealthPart{}}
	for _, name := range s.names() {
		p := s.components[name]
		if !p.mayBeDeployed() {
			continue
		}
		target, err := s.appliedTarget(p)
		if err != nil || len(target.Deploy.Cluster.Path) == 0 {
			continue // a deploy of it reports the error
		}
		part := api.HealthPart{Deploy: target.Deploy, Inventory: append([]api.ObjectRef{}, target.Existing...)}
		if json.Unmarshal(p.row.AppliedCluster, &part.Cluster) != nil || part.Cluster.Hash == "" {
			continue // its next apply returns the cluster
		}
		spec.Parts = append(spec.Parts, part)
	}
	return spec
}

// DebugSpec returns what a debug command on an install reads to find its cluster, under which role, and why there is no
// such role now (inspection.SpecSource). Before the sandbox was deployed there are no values.
func (r *Rollout) DebugSpec(ctx context.Context, tx *store.Tx, install store.Install) (spec api.JobSpec, why string,
	err error) {
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return spec, "", err
	}
	spec.Debug = api.DebugSpec{Install: install.Name, InstallID: install.ID, Cluster: clusterNamed(s.config, "")}
	var reads []render.Path
	sandbox := s.components[appconfig.SandboxName]
	if sandbox != nil && sandbox.row.AppliedDigest != "" {
		reads = append(reads, render.Path(spec.Debug.Cluster.Path))
	}
	if spec.Debug.Values, err = s.values(reads); err != nil {
		return spec, "", err
	}
	spec.Role, why = s.operationRole(installstack.Operation{Verb: installstack.VerbHealth})
	return spec, why, nil
}
