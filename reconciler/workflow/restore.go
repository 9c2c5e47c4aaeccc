package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Restore is a person's wish to have a state version of one component back. It is kept with its workflow.
type Restore struct {
	Component string `json:"component"`
	Place     string `json:"place"` // id of the install component
	api.Restore
}

// digest is what a restore leads to, in the place of a desired digest.
func (r Restore) digest() string { return fmt.Sprintf("restore:%d:%s", r.Version, r.Digest) }

// wants gives what a workflow is to bring about, by component: what its install wants, or of a restore just that.
func (e *Engine) wants(ctx context.Context, tx *store.Tx, install store.Install, row store.Workflow, asked Asked) (map[string]Want, error) {
	if Kind(row.Kind) != KindRestore {
		wants, err := e.world.Desire(ctx, tx, install, asked.Supposed)
		asked.redo(wants, row.RequestedBy)
		return wants, err
	}
	r := asked.Restore
	_, err := tx.StateToRestore(ctx, tx.Org, r.Place, int32(r.Version)) //nolint:gosec // it was read from the column
	switch {
	case errors.Is(err, store.ErrNotFound):
		return map[string]Want{r.Component: {Waits: fmt.Sprintf("state version %d is not kept any more", r.Version), Stuck: true}}, nil
	case err != nil:
		return nil, err
	}
	return map[string]Want{r.Component: {Digest: r.digest(), Reason: row.Reason}}, nil
}

// redo makes what a person wants done again count as not done.
func (a Asked) redo(wants map[string]Want, by string) {
	for _, name := range a.Redeploy {
		if want, ok := wants[name]; ok && want.Current && !want.Absent {
			want.Current, want.Reason = false, "redeploy asked by "+by
			wants[name] = want
		}
	}
}

// restored records what a restore did: the state is another, so what its component is made of is not known until it is planned.
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
