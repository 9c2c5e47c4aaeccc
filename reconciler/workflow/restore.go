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
	Component string `json:"component"`
	Place     string `json:"place"` // id of the install component
	api.Restore
}

// digest identifies the target of a restore, in the place of a desired digest.
func (r Restore) digest() string { return fmt.Sprintf("restore:%d:%s", r.Version, r.Digest) }

// resolve reads the install, once per transaction.
func (f *flow) resolve(ctx context.Context) (Resolved, error) {
	var err error
	if f.world == nil {
		f.world, err = f.engine.world.Resolve(ctx, f.tx, f.install, f.asked.Supposed)
	}
	return f.world, err
}

// wants returns what the workflow is to achieve, by component: the install's desired
// state, or for a restore only its state version.
func (f *flow) wants(ctx context.Context) (map[string]Want, error) {
	if f.graph.Kind != KindRestore {
		world, err := f.resolve(ctx)
		if err != nil {
			return nil, err
		}
		wants := world.Wants()
		f.asked.redo(wants, f.row.RequestedBy)
		return wants, nil
	}
	r := f.asked.Restore
	_, err := f.tx.StateToRestore(ctx, f.tx.Org, r.Place, int32(r.Version)) //nolint:gosec // it was read from the column
	switch {
	case errors.Is(err, store.ErrNotFound):
		return map[string]Want{r.Component: {Waits: fmt.Sprintf("state version %d is not kept any more", r.Version),
			Stuck: true}}, nil
	case err != nil:
		return nil, err
	}
	return map[string]Want{r.Component: {Digest: r.digest(), Reason: f.row.Reason}}, nil
}

// redo marks the components of a redeploy as not current.
func (a Asked) redo(wants map[string]Want, by string) {
	for _, name := range a.Redeploy {
		if want, ok := wants[name]; ok && want.Current && !want.Absent {
			want.Current, want.Reason = false, "redeploy asked by "+by
			wants[name] = want
		}
	}
}

// restored records what a restore did. The state has changed, so the component's desired digest is
// unknown until the next plan.
func (e jobEnd) restored(ctx context.Context, installComponent string, target Target, outputs []output) error {
	if err := e.keepOutputs(ctx, "component", e.step.Component, outputs); err != nil {
		return err
	}
	during, err := target.landed(false)
	if err != nil {
		return err
	}
	return setApplied(ctx, e.tx, installComponent, during)
}
