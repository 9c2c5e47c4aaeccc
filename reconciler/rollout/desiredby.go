package rollout

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file records who changed the desired state of an install. What starts later because of it is in nobody's name,
// and yet nobody may approve their own change on an install with approvals_by_others.

// RecordDesiredBy records that a person changed the desired state of a locked install. It is recorded until the install
// has reached that state.
func RecordDesiredBy(ctx context.Context, tx *store.Tx, installID, by string) error {
	if err := tx.AddDesiredBy(ctx, by, tx.Org, installID); err != nil {
		return fmt.Errorf("record who changed the desired state of install %s: %w", installID, err)
	}
	return nil
}

// RecordInstallChange records that a person changed what the workflows of a locked install plan, such as its pin.
// Approvers' rules for running workflows end with it. changed names what was changed.
func RecordInstallChange(ctx context.Context, tx *store.Tx, installID, by, changed string) error {
	if err := workflow.VoidRules(ctx, tx, installID, by, changed); err != nil {
		return err
	}
	return RecordDesiredBy(ctx, tx, installID, by)
}

// clearDesiredBy deletes who changed the desired states of the installs that have reached them.
func clearDesiredBy(ctx context.Context, tx *store.Tx, installs []*snapshot, states []map[string]*desiredState,
	now map[string]runningWorkflows) error {
	var reached []string
	for i, s := range installs {
		if len(s.install.DesiredBy) > 0 && s.reached(states[i], now[s.install.ID]) {
			reached = append(reached, s.install.ID)
		}
	}
	if len(reached) == 0 {
		return nil
	}
	if err := tx.ClearDesiredBy(ctx, tx.Org, reached); err != nil {
		return fmt.Errorf("clear who changed the desired state of %d installs: %w", len(reached), err)
	}
	return nil
}

// reached reports whether an install has reached its desired state: no workflow changes a component, and every
// component is current. One that waits is not.
func (s *snapshot) reached(states map[string]*desiredState, now runningWorkflows) bool {
	if now.overComponents || s.config == nil && s.install.DesiredPresence != "absent" {
		return false
	}
	for _, w := range states {
		if !w.Current {
			return false
		}
	}
	return true
}
