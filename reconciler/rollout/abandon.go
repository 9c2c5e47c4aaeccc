package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Abandon records a person's decision that the key which a component's state is sealed to is
// lost for good. Existing resources stay; the component counts as not deployed, its outputs
// are deleted, and its next plan starts from an empty state. That plan may create existing
// resources a second time, so a person must approve it: an install that approves plans
// automatically is refused, and approvers' rules for running workflows end. All state versions
// stay listed, and one may still be restored if its key is found. The caller audits the call.
// Errors: store.ErrNotFound, *refusal.Error.
func (r *Rollout) Abandon(ctx context.Context, tx *store.Tx, install store.Install, component, reason,
	actor string) error {
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return fmt.Errorf("install %s: %w", install.Name, err)
	}
	s, err := loadLocked(ctx, tx, locked, r.configs)
	if err != nil {
		return err
	}
	p := s.components[component]
	if p == nil {
		return conflict(CodeUnknownComponent, "Name one of those that `nuon installs get` shows.",
			"install %s has no component %.60q", locked.Name, component)
	}
	if err := s.checkAbandonable(ctx, tx, p); err != nil {
		return err
	}
	words := fmt.Sprintf("abandoned by %s: %s", actor, reason)
	if err := tfstate.Abandon(ctx, tx, p.row, words); err != nil {
		return err
	}
	for _, forget := range []func() error{
		func() error { return RecordInstallChange(ctx, tx, locked.ID, actor, stateOf(component)) },
		func() error { return tx.DeleteRejections(ctx, tx.Org, locked.ID, []string{component}) },
		func() error {
			return tx.DeleteOutputs(ctx, store.DeleteOutputsParams{OrgID: tx.Org, InstallID: locked.ID, Scope: "component",
				Owner: component})
		},
		func() error {
			_, err := tx.AbandonComponent(ctx, words, tx.Org, p.row.ID)
			return err
		},
	} {
		if err := forget(); err != nil {
			return fmt.Errorf("abandon %s on install %s: %w", component, locked.Name, err)
		}
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: locked.ID})
}

// checkAbandonable returns an error if a component's state must not be abandoned, because
// the runner can open it or a workflow is changing it.
func (s *snapshot) checkAbandonable(ctx context.Context, tx *store.Tx, p *installComponent) error {
	name := p.row.Name
	newest, err := tx.NewestState(ctx, tx.Org, p.row.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return conflict(CodeNoState, "There is nothing to abandon.", "%s has no state", name)
	case err != nil:
		return err
	case s.runnerKey == "":
		return conflict(CodeKeyUnknown, "Start it first: it may have the key.",
			"the runner of install %s has not registered, so it is not known yet whether it has the key of %s's state",
			s.install.Name, name)
	case newest.KeyID == s.runnerKey:
		return conflict(CodeReadable,
			"Its runner can open it, so plan with it: `nuon deploy`, or `nuon installs deprovision` to remove what is there.",
			"the state of %s is sealed to the key %s, which the runner has", name, newest.KeyID)
	}
	if err := s.checkNextPlanIsRead(name); err != nil {
		return err
	}
	busy, err := tx.BusyComponents(ctx, tx.Org, []string{s.install.ID})
	for _, b := range busy {
		if b.Component == name {
			return conflict(workflow.CodeBusy, "Wait until it has ended, or cancel it (nuon workflows cancel).",
				"workflow %d (%s) is running on %s", b.Number, b.Kind, name)
		}
	}
	return err
}

// checkNextPlanIsRead returns an error if the install's rule could approve the next plan of a component whose next
// plan starts from an older state or from none.
func (s *snapshot) checkNextPlanIsRead(component string) error {
	if s.install.Approval != "approve-all" {
		return nil
	}
	return conflict(CodeApproveAll, fmt.Sprintf("Require approvals first: nuon installs update %s --approval prompt.",
		s.address()),
		"plans of install %s are applied without a person, and the next one of %s may create again what exists",
		s.install.Name, component)
}
