package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Retry starts a new workflow for what failed in a workflow that has ended: its
// components, planned again for their current desired state, or only the action. It
// returns the new workflow's id. Errors: store.ErrNotFound, *refusal.Error.
func (r *Rollout) Retry(ctx context.Context, tx *store.Tx, f workflow.Failure, actor string) (workflowID string,
	err error) {
	install, err := tx.LockInstall(ctx, tx.Org, f.Workflow.InstallID)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", f.Workflow.InstallID, err)
	}
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return "", err
	}
	if f.Action.Action != "" {
		return s.retryAction(ctx, tx, f, actor)
	}
	if err := RecordDesiredBy(ctx, tx, install.ID, actor); err != nil {
		return "", err
	}
	if err := tx.DeleteRejectionsOfWorkflow(ctx, tx.Org, f.Workflow.ID, f.Components); err != nil {
		return "", err
	}
	if len(f.FailedComponents) > 0 { // an empty list would mean all
		if err := tx.DeleteRejections(ctx, tx.Org, install.ID, f.FailedComponents); err != nil {
			return "", err
		}
	}
	if s, err = loadLocked(ctx, tx, install, r.configs); err != nil {
		return "", err
	}
	all, err := s.ensureInstall(ctx, tx, nil, actor)
	if err != nil {
		return "", err
	}
	for _, w := range all {
		if slices.ContainsFunc(w.components, func(name string) bool { return slices.Contains(f.Components, name) }) {
			return w.id, nil
		}
	}
	return "", s.nothingToRetry(ctx, tx, f)
}

// nothingToRetry returns the error for a retry that starts nothing.
func (s *snapshot) nothingToRetry(ctx context.Context, tx *store.Tx, f workflow.Failure) error {
	busy, err := tx.BusyComponents(ctx, tx.Org, []string{s.install.ID})
	if err != nil {
		return err
	}
	for _, b := range busy {
		if slices.Contains(f.Components, b.Component) {
			return conflict(workflow.CodeBusy, "Wait until it has ended, or cancel it (nuon workflows cancel).",
				"workflow %d (%s) is already running on %s", b.Number, b.Kind, b.Component)
		}
	}
	states := s.desiredStates()
	var words []string
	for _, name := range f.Components {
		switch w := states[name]; {
		case w == nil:
			words = append(words, name+" is no longer part of the install")
		case w.Current:
			words = append(words, name+" is up to date")
		default:
			words = append(words, name+" waits: "+w.WaitReason)
		}
	}
	return conflict(workflow.CodeNotRetryable, "See `nuon installs get "+s.address()+"`.", "there is nothing to retry: %s",
		strings.Join(words, "; "))
}

func (s *snapshot) retryAction(ctx context.Context, tx *store.Tx, f workflow.Failure, actor string) (string, error) {
	if s.config == nil {
		return "", conflict(CodeNoVersion, "Sync it first.", "app %s has no version yet", s.app.Name)
	}
	if _, ok := s.config.Action(f.Action.Action); !ok {
		return "", s.unknownAction(f.Action.Action)
	}
	runs, err := tx.RunningAction(ctx, store.RunningActionParams{
		OrgID: tx.Org, InstallID: s.install.ID, Action: f.Action.Action, Trigger: f.Action.Trigger, Component: f.OfComponent,
	})
	if err != nil {
		return "", err
	}
	if len(runs) > 0 {
		return "", conflict(workflow.CodeBusy, "Wait until it has ended, or cancel it (nuon workflows cancel).",
			"workflow %d runs action %s already", runs[0], f.Action.Action)
	}
	return workflow.Start(ctx, tx, workflow.Request{
		Install: s.install.ID, Kind: workflow.KindAction, Release: s.release.Number, RequestedBy: actor,
		Reason: fmt.Sprintf("%s retries action %s of workflow %d", actor, f.Action.Action, f.Workflow.Number),
		Action: f.Action, OfComponent: f.OfComponent, Env: f.Params.Env, Inputs: f.Params.Inputs, Role: f.Params.Role,
	})
}
