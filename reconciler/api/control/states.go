package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// ListStates implements GET /v1/installs/{install}/states.
func (s *Server) ListStates(ctx context.Context, r ListStatesRequestObject) (ListStatesResponseObject, error) {
	list := api.ComponentStateList{Items: []api.ComponentState{}}
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		versions, err := tx.ViewStatesOfInstall(ctx, tx.Org, install.ID)
		if err != nil {
			return err
		}
		locks, err := tx.ViewLocksOfInstall(ctx, tx.Org, install.ID)
		if err != nil {
			return err
		}
		components, err := tx.ViewInstallComponents(ctx, tx.Org, install.ID)
		for _, c := range components {
			list.Items = append(list.Items, stateOf(c.InstallComponent.Name, versions, locks))
		}
		return err
	})
	return ListStates200JSONResponse(list), err
}

// stateOf selects one component's versions and locks from those of an install.
func stateOf(
	component string, versions []store.ViewStatesOfInstallRow, locks []store.ViewLocksOfInstallRow,
) api.ComponentState {
	state := api.ComponentState{Component: component, Contested: []api.StateVersion{}}
	for _, v := range versions {
		view := viewVersion(store.ViewStateRow{
			Version: v.Version, Status: v.Status, Reason: v.Reason, Serial: v.Serial, Lineage: v.Lineage,
			Digest: v.Digest, KeyID: v.KeyID,
			Bytes: v.Bytes, JobID: v.JobID, Attempt: v.Attempt, CreatedAt: v.CreatedAt, WorkflowID: v.WorkflowID,
		})
		switch {
		case v.Component != component:
		case view.Status == api.Contested, view.Status == api.Withheld:
			state.Contested = append(state.Contested, view)
		default:
			state.Newest = view
		}
	}
	for _, l := range locks {
		if l.Component == component {
			state.Lock = api.HeldLock{
				ID: l.StateLock.LockID, Job: l.StateLock.JobID, Attempt: int(l.StateLock.Attempt),
				Runner: l.Runner, Live: l.Live,
				LockedAt: l.StateLock.LockedAt, Info: l.StateLock.Info,
			}
		}
	}
	return state
}

// ListStateVersions implements GET /v1/installs/{install}/components/{component}/states.
func (s *Server) ListStateVersions(
	ctx context.Context, r ListStateVersionsRequestObject,
) (ListStateVersionsResponseObject, error) {
	var list api.StateVersionList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, component, err := findPlace(ctx, tx, r.Install, r.Component)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewStates(ctx, store.ViewStatesParams{
			OrgID: tx.Org, InstallComponentID: component.ID, Before: beforeNumber(r.Params.Cursor), Most: most,
		})
		rows, list.Next = paged(rows, most, func(v store.ViewStatesRow) string { return strconv.Itoa(int(v.Version)) })
		list.Items = each(rows,
			func(v store.ViewStatesRow) api.StateVersion { return viewVersion(store.ViewStateRow(v)) })
		return err
	})
	return ListStateVersions200JSONResponse(list), err
}

// RestoreState implements POST
// /v1/installs/{install}/components/{component}/states/{version}/restore.
func (s *Server) RestoreState(ctx context.Context, r RestoreStateRequestObject) (RestoreStateResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var place store.InstallComponent
	var install store.Install
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if install, place, err = findPlace(ctx, tx, r.Install, r.Component); err == nil {
			_, err = findVersion(ctx, tx, place, r.Version)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	create := repeatable{
		operation: fmt.Sprintf("restoreState/%s/%d", place.ID, r.Version),
		key:       r.Params.IdempotencyKey, request: r.Body,
	}
	w, err := once(ctx, s, create, func(ctx context.Context, tx *store.Tx) (api.Workflow, error) {
		actor := callerOf(ctx).actor
		id, err := s.services.Rollout.RequestRestore(ctx, tx, install, place.Name, r.Version, r.Body.Reason, actor)
		if err != nil {
			return api.Workflow{}, err
		}
		err = tx.Audit(ctx, actor, "state.restore", place.ID, map[string]any{
			"install": install.Name, "component": place.Name, "version": r.Version,
			"reason": r.Body.Reason, "workflow": id,
		})
		if err != nil {
			return api.Workflow{}, err
		}
		if err := tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: id}); err != nil {
			return api.Workflow{}, err
		}
		return viewWorkflow(ctx, tx, id)
	})
	return RestoreState201JSONResponse(w), err
}

// DismissState implements POST
// /v1/installs/{install}/components/{component}/states/{version}/dismiss.
func (s *Server) DismissState(ctx context.Context, r DismissStateRequestObject) (DismissStateResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var view api.StateVersion
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, place, err := lockPlace(ctx, tx, r.Install, r.Component)
		if err != nil {
			return err
		}
		if view, err = findVersion(ctx, tx, place, r.Version); err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		err = s.services.Rollout.Dismiss(ctx, tx, install, place.Name, view.Version, r.Body.Reason, actor)
		if errors.Is(err, tfstate.ErrNotContested) {
			return problem.New(http.StatusConflict, "not_contested",
				fmt.Sprintf("version %d of the state of %s is %s, neither contested nor withheld",
					view.Version, place.Name, view.Status),
				"No decision is needed.")
		}
		if err != nil {
			return err
		}
		if view, err = findVersion(ctx, tx, place, r.Version); err != nil {
			return err
		}
		return tx.Audit(ctx, actor, "state.dismiss", place.ID, map[string]any{
			"install": install.Name, "component": place.Name, "version": view.Version, "reason": r.Body.Reason,
		})
	})
	return DismissState200JSONResponse(view), err
}

// AbandonState implements POST /v1/installs/{install}/components/{component}/abandon.
func (s *Server) AbandonState(ctx context.Context, r AbandonStateRequestObject) (AbandonStateResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var view api.ComponentState
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, place, err := lockPlace(ctx, tx, r.Install, r.Component)
		if err != nil {
			return err
		}
		newest, err := tx.ViewStatesOfInstall(ctx, tx.Org, install.ID)
		if err != nil {
			return err
		}
		was, actor := stateOf(place.Name, newest, nil).Newest, callerOf(ctx).actor
		if err := s.services.Rollout.Abandon(ctx, tx, install, place.Name, r.Body.Reason, actor); err != nil {
			return err
		}
		view = stateOf(place.Name, nil, nil)
		return tx.Audit(ctx, actor, "state.abandon", place.ID, map[string]any{
			"install": install.Name, "component": place.Name, "version": was.Version, "key": was.KeyID,
			"reason": r.Body.Reason,
		})
	})
	return AbandonState200JSONResponse(view), err
}

// FreeStateLock implements DELETE /v1/installs/{install}/components/{component}/lock.
func (s *Server) FreeStateLock(ctx context.Context, r FreeStateLockRequestObject) (FreeStateLockResponseObject, error) {
	if err := checkReason(r.Params.Reason); err != nil {
		return nil, err
	}
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, place, err := lockPlace(ctx, tx, r.Install, r.Component)
		if err != nil {
			return err
		}
		err = tfstate.FreeLock(ctx, tx, place)
		var locked *tfstate.LockedError
		switch {
		case errors.As(err, &locked):
			return problem.New(http.StatusConflict, "locked",
				fmt.Sprintf("the state of %s is locked by %s, which may still be running", place.Name, locked.Holder),
				"Cancel its workflow (`nuon workflows cancel`), or if the runner's machine is permanently gone, "+
					"`nuon runners replace`: the lock is released with the attempt.")
		case errors.Is(err, tfstate.ErrNotLocked):
			return problem.New(http.StatusNotFound, "not_locked", "the state of "+place.Name+" is not locked",
				"There is nothing to do.")
		case err != nil:
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "state.unlock", place.ID, map[string]any{
			"install": install.Name, "component": place.Name, "reason": r.Params.Reason,
		})
	})
	return FreeStateLock204Response{}, err
}

// findPlace finds a component of an install by the names that a person uses.
func findPlace(
	ctx context.Context, tx *store.Tx, installKey, component string,
) (store.Install, store.InstallComponent, error) {
	install, _, err := findInstall(ctx, tx, installKey)
	if err != nil {
		return install, store.InstallComponent{}, err
	}
	place, err := tx.InstallComponentNamed(ctx, tx.Org, install.ID, component)
	if isNotFound(err) {
		err = problem.New(http.StatusNotFound, "not_found",
			"install "+install.Name+" has no component "+quoted(component),
			"Use a name that `nuon installs get` shows.")
	}
	return install, place, err
}

// lockPlace is findPlace for changes of a state, which it serializes.
func lockPlace(
	ctx context.Context, tx *store.Tx, installKey, component string,
) (store.Install, store.InstallComponent, error) {
	install, place, err := findPlace(ctx, tx, installKey, component)
	if err == nil {
		install, err = tx.LockInstall(ctx, tx.Org, install.ID)
	}
	return install, place, err
}

func findVersion(
	ctx context.Context, tx *store.Tx, place store.InstallComponent, version int,
) (api.StateVersion, error) {
	if version < 1 || version > math.MaxInt32 {
		return api.StateVersion{}, noVersion(place, version)
	}
	row, err := tx.ViewState(ctx, tx.Org, place.ID, int32(version))
	if isNotFound(err) {
		err = noVersion(place, version)
	}
	return viewVersion(row), err
}

func noVersion(place store.InstallComponent, version int) error {
	return problem.New(http.StatusNotFound, "not_found",
		fmt.Sprintf("the state of %s has no version %d", place.Name, version), "Use one that `nuon state show` lists.")
}

func viewVersion(v store.ViewStateRow) api.StateVersion {
	return api.StateVersion{
		Version: int(v.Version), Status: api.StateVersionStatus(v.Status), Reason: v.Reason,
		Serial: v.Serial, Lineage: v.Lineage,
		Digest: v.Digest, KeyID: v.KeyID, Bytes: int(v.Bytes), Job: v.JobID, Attempt: int(v.Attempt),
		Workflow: v.WorkflowID, CreatedAt: v.CreatedAt,
	}
}
