package terraform

import (
	"context"
	"fmt"
	"os"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// readModule reads the module in a workspace.
func readModule(place *workspace) (*tfmodule.Module, error) {
	root, err := os.OpenRoot(place.tree())
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return tfmodule.Read(root.FS(), place.module)
}

// Plan runs Terraform's plan and describes it.
func (s *session) Plan(ctx context.Context) (deploy.Plan, error) {
	varFiles, err := s.prepare(ctx, nil)
	if err != nil {
		return deploy.Plan{}, err
	}
	before, err := snapshot(s.workspace)
	if err != nil {
		return deploy.Plan{}, err
	}
	if err := s.terraform.plan(ctx, s.workspace.plan(), s.Destroy, varFiles); err != nil {
		return deploy.Plan{}, s.causeOf(err)
	}
	after, err := snapshot(s.workspace)
	if err != nil {
		return deploy.Plan{}, err
	}
	// This is the state that Terraform read while it held the lock.
	made := deploy.Plan{Environ: s.variables.environ, Observed: observation(s.endpoint.LastVersion())}
	if made.Report, made.Reviewed.Plan, err = s.report(ctx); err != nil || !made.Report.Applyable {
		return made, err
	}
	changed := overlayFiles(s.workspace.inModule(s.variables.policies), changedFiles(before, after))
	made.Files, err = s.save(withLockFile(changed, after, s.workspace))
	return made, err
}

// observation returns the observation of a state's version.
func observation(version state.Version) deploy.Observation {
	return deploy.Observation{StateSerial: version.Serial, StateLineage: version.Lineage}
}

// save returns the files of the plan bundle. changed are the files of the
// tree that the plan wrote.
func (s *session) save(changed []artifact.File) ([]artifact.File, error) {
	file, err := readBounded(s.workspace.plan(), maxPlan)
	if err != nil {
		return nil, fmt.Errorf("read the plan file: %w", err)
	}
	return savedPlan{
		metadata: planMetadata{Workspace: s.workspace.root, Terraform: s.terraform.tool.Version},
		plan:     file, vars: s.variables.files, tree: changed,
	}.save()
}

// CurrentState returns the outputs of the current state.
func (s *session) CurrentState(context.Context) (made deploy.ComponentState, err error) {
	made.Outputs, err = outputsOf(s.endpoint.LastVersion(), s.Env.Key, s.Deploy, s.Secrets)
	return made, err
}
