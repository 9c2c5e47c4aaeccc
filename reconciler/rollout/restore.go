package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file is about the state versions that a person decides about: a contested version stops its
// component, and any version may be restored.

// contestedReason returns why a component is stopped, with the commands that resolve it, or
// "" if none of its versions is contested.
func (s *snapshot) contestedReason(p *installComponent) string {
	if len(p.contested) == 0 {
		return ""
	}
	first, name := p.contested[0], p.row.Name
	more := ""
	if n := len(p.contested) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	at := fmt.Sprintf("%s %s %d", s.address(), name, first.Version)
	if tfstate.Status(first.Status) == tfstate.StatusWithheld {
		return fmt.Sprintf(
			"state version %d of %s could not be stored%s: %s; dismiss contested versions of this install that are not needed "+
				"(nuon state list %s), or ask the operator of the control plane to raise the limit (reconciler serve "+
				"--max-state-…), and the runner delivers it; if the runner's disk is lost, dismiss it (nuon state dismiss %s "+
				"--reason …)", first.Version, name, more,
			first.Reason, s.address(), at)
	}
	return fmt.Sprintf(
		"state version %d of %s is contested%s: %s; see it (nuon state show %[5]s), then restore it (nuon state restore "+
			"%[5]s --reason …) or dismiss it (nuon state dismiss %[5]s --reason …)",
		first.Version, name, more, orDefault(first.Reason, "two attempts wrote at the same time"), at)
}

func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// RequestRestore starts a workflow that makes a state version of a component the newest
// one, and returns the workflow's id. The workflow plans the restore and requests
// approval. The component's refusals are deleted, since its next plan starts from
// another state; for the same reason approvers' rules for running workflows end.
// Errors: store.ErrNotFound, *refusal.Error.
func (r *Rollout) RequestRestore(ctx context.Context, tx *store.Tx, install store.Install, component string,
	version int,
	reason, actor string) (workflowID string, err error) {
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", install.Name, err)
	}
	s, err := loadLocked(ctx, tx, locked, r.configs)
	if err != nil {
		return "", err
	}
	p := s.components[component]
	if p == nil {
		return "", conflict(CodeUnknownComponent, "Name one of those that `nuon installs get` shows.",
			"install %s has no component %.60q", locked.Name, component)
	}
	state, err := tx.StateToRestore(ctx, tx.Org, p.row.ID, int32(min(version, 1<<30))) //nolint:gosec // bounded
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", conflict(CodeUnknownVersion, fmt.Sprintf("Use one that `nuon state show %s %s` lists.", locked.Name,
			component), "the state of %s has no version %d", component, version)
	case err != nil:
		return "", err
	case !state.Here:
		return "", conflict(CodeStateNotHere, "Wait until its runner has delivered it, or restore another version.",
			"version %d of the state of %s is not stored here", version, component)
	case state.Newest:
		return "", conflict(CodeNewestVersion, "There is nothing to do.", "version %d is the newest of the state of "+
			"%s already",
			version, component)
	}
	var cannot *workflow.Unavailable
	if _, err := s.restoreTarget(p); errors.As(err, &cannot) {
		return "", conflict(CodeNotRestorable, "Put the component back into the app and sync it first.", "%s", cannot.Reason)
	} else if err != nil {
		return "", err
	}
	if err := RecordInstallChange(ctx, tx, locked.ID, actor, stateOf(component)); err != nil {
		return "", err
	}
	if err := tx.DeleteRejections(ctx, tx.Org, locked.ID, []string{component}); err != nil {
		return "", err
	}
	why := fmt.Sprintf("%s requested the restore of version %d of the state of %s: %s", actor, version,
		component, reason)
	return workflow.Start(ctx, tx, workflow.Request{
		Install: locked.ID, Kind: workflow.KindRestore, Reason: why, RequestedBy: actor,
		Parts:      []workflow.ComponentPart{{Component: component, Reason: why}},
		Components: map[string]string{component: p.row.ID},
		Restore: workflow.Restore{Component: component, InstallComponent: p.row.ID,
			Restore: api.Restore{Version: version, Digest: state.Digest}},
	})
}

// Dismiss records a person's decision that a contested or withheld version of a component's state is not needed. The
// component's next plan starts from an older state and may create again what exists, so a person must approve it: an
// install that approves plans automatically is refused, and approvers' rules for running workflows end. The caller
// audits the call. Errors: store.ErrNotFound, tfstate.ErrNotContested, *refusal.Error.
func (r *Rollout) Dismiss(ctx context.Context, tx *store.Tx, install store.Install, component string, version int,
	reason, actor string) error {
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
		return fmt.Errorf("component %s of install %s: %w", component, locked.Name, store.ErrNotFound)
	}
	words := fmt.Sprintf("dismissed by %s: %s", actor, reason)
	if err := tfstate.Dismiss(ctx, tx, p.row, int32(min(version, 1<<30)), words); err != nil { //nolint:gosec // bounded
		return err
	}
	if err := s.checkNextPlanIsRead(component); err != nil {
		return err
	}
	return RecordInstallChange(ctx, tx, locked.ID, actor, stateOf(component))
}

// stateOf names the state of a component as what a person changed (RecordInstallChange).
func stateOf(component string) string { return "the state of " + component }

// RestoreTarget returns the module whose state a restore changes (workflow.ResolvedInstall).
func (r *resolved) RestoreTarget(installComponent string) (workflow.Target, error) {
	p, err := r.componentByID(installComponent)
	if err != nil {
		return workflow.Target{}, err
	}
	return r.restoreTarget(p)
}

// restoreTarget returns the applied target unchanged: a restore changes only the state, and
// the record of the apply must stay valid for a destroy. If nothing is deployed, it returns
// what would be deployed now, so that the restored state has a module that manages it.
func (s *snapshot) restoreTarget(p *installComponent) (workflow.Target, error) {
	if p.mayBeDeployed() {
		return s.appliedTarget(p)
	}
	if p.config == nil || p.artifact == nil {
		return workflow.Target{},
			&workflow.Unavailable{
				Reason: fmt.Sprintf(
					"%s is not deployed, and the app has no build of it, so nothing could manage what its state describes",
					p.row.Name)}
	}
	return s.deployTarget(p, s.desiredStates()[p.row.Name].digestInputs)
}
