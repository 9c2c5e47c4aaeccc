package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Restore is a person's request to restore a state version of one component. It is stored with its
// workflow.
type Restore struct {
	Component        string `json:"component"`
	InstallComponent string `json:"install_component"` // id of the install component
	api.Restore
}

// digest identifies the target of a restore, in the place of a desired digest.
func (r Restore) digest() string { return fmt.Sprintf("restore:%d:%s", r.Version, r.Digest) }

// resolve reads the install, once per transaction.
func (x *executor) resolve(ctx context.Context) (ResolvedInstall, error) {
	var err error
	if x.resolvedInstall == nil {
		x.resolvedInstall, err = x.engine.source.Resolve(ctx, x.tx, x.install, x.params.Assumptions)
	}
	return x.resolvedInstall, err
}

// desiredStates returns what the workflow is to achieve, by component: the install's desired
// state, or for a restore only its state version.
func (x *executor) desiredStates(ctx context.Context) (map[string]DesiredState, error) {
	if x.graph.Kind != KindRestore {
		world, err := x.resolve(ctx)
		if err != nil {
			return nil, err
		}
		wants := world.DesiredStates()
		x.params.markRedeployed(wants, x.row.RequestedBy)
		return wants, nil
	}
	r := x.params.Restore
	_, err := x.tx.StateToRestore(ctx, x.tx.Org, r.InstallComponent, int32(r.Version)) //nolint:gosec // it was read from the column
	switch {
	case errors.Is(err, store.ErrNotFound):
		return map[string]DesiredState{r.Component: {WaitReason: fmt.Sprintf("state version %d is no longer stored",
			r.Version),
			Stalled: true}}, nil
	case err != nil:
		return nil, err
	}
	return map[string]DesiredState{r.Component: {Digest: r.digest(), Reason: x.row.Reason}}, nil
}

// markRedeployed marks the components of a redeploy as not current.
func (p WorkflowParams) markRedeployed(wants map[string]DesiredState, by string) {
	for _, name := range p.Redeploy {
		if want, ok := wants[name]; ok && want.Current && !want.Absent {
			want.Current, want.Reason = false, "redeploy requested by "+by
			wants[name] = want
		}
	}
}

// recordRestore records what a restore did. The state has changed, so the component's desired digest is
// unknown until the next plan.
func (e jobEnd) recordRestore(ctx context.Context, installComponent string, target Target, outputs []output) error {
	if err := e.saveOutputs(ctx, "component", e.step.Component, outputs); err != nil {
		return err
	}
	during, err := target.applied(false)
	if err != nil {
		return err
	}
	return setApplied(ctx, e.tx, installComponent, during)
}
