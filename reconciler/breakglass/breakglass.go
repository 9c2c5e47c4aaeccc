// Package breakglass stores the vendor's requests to act under the break-glass roles of installs. A request states why
// and until when; the customer grants it, in the stack and on the runner. Package rollout gives a job such a role only
// while it is requested, and package jobs offers the job only while the runner's owner has granted it. The control API
// calls this package.
package breakglass

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The bounds of a request's duration. The runner grants no more at once.
const (
	minDuration = time.Minute
	maxDuration = 7 * 24 * time.Hour
)

// Reminders: this long before the end of a request, and this long after it.
const (
	remindBefore = 30 * time.Minute
	remindAfter  = time.Hour
)

// lately is how long lists show a request after its end.
const lately = 7 * 24 * time.Hour

var (
	errDuration  = refusal.New(refusal.Invalid, "bad_duration", "a role is requested for one minute to seven days", "")
	errUnknown   = refusal.New(refusal.NotFound, "not_found", "there is no such break-glass role", "")
	errRequested = refusal.New(refusal.Conflict, "already_requested", "the role is requested already",
		"Use the open request, or end it first: nuon break-glass revoke INSTALL ROLE.")
	errNotRequested = refusal.New(refusal.NotFound, "not_found", "there is no open request for the role",
		"List the requests: nuon break-glass list.")
)

// Request stores a request. The caller has locked the install. Errors: *refusal.Error.
func Request(ctx context.Context, tx *store.Tx, install store.Install, actor string,
	ask api.NewBreakGlassRequest) (api.BreakGlassRequest, error) {
	lasts := time.Duration(min(max(ask.Seconds, 0), int(maxDuration/time.Second)+1)) * time.Second
	if lasts < minDuration || lasts > maxDuration {
		return api.BreakGlassRequest{}, errDuration
	}
	role, err := findRole(ctx, tx, install, ask.Role)
	if err != nil {
		return api.BreakGlassRequest{}, err
	}
	open, err := list(ctx, tx, store.ViewBreakGlassParams{InstallID: install.ID, Most: maxPage})
	if err != nil {
		return api.BreakGlassRequest{}, err
	}
	for _, r := range open {
		if r.Role == role.Key && isOpen(r.Status) {
			return api.BreakGlassRequest{}, errRequested.With("%s until %s, by %s", role.Key,
				r.Until.UTC().Format(time.RFC3339), r.RequestedBy)
		}
	}
	row, err := tx.AddBreakGlass(ctx, store.AddBreakGlassParams{
		OrgID: tx.Org, ID: id.New("bgl"), InstallID: install.ID, Role: role.Key,
		Reason: runners.Printable(strings.Join(strings.Fields(ask.Reason), " "), maxReason), RequestedBy: actor,
		Until: tx.Now().Add(lasts).UTC().Truncate(time.Second),
	})
	if err != nil {
		return api.BreakGlassRequest{}, fmt.Errorf("request role %s on install %s: %w", role.Key, install.Name, err)
	}
	return changed(ctx, tx, row, "break_glass.request", actor, row.Reason)
}

// maxReason bounds a reason, in runes.
const maxReason = 500

// maxPage is more than the open requests of an install.
const maxPage = 1000

// Revoke ends the open request for a role. The caller has locked the install. Errors: *refusal.Error.
func Revoke(ctx context.Context, tx *store.Tx, install store.Install, actor string,
	ask api.BreakGlassRevocation) (api.BreakGlassRequest, error) {
	open, err := list(ctx, tx, store.ViewBreakGlassParams{InstallID: install.ID, Most: maxPage})
	if err != nil {
		return api.BreakGlassRequest{}, err
	}
	var roles []installstack.BreakGlassRole // of the requests: the app may have lost the role since
	for _, r := range open {
		if isOpen(r.Status) {
			roles = append(roles, installstack.BreakGlassRole{Key: r.Role})
		}
	}
	role, found := installstack.FindBreakGlass(roles, install.ID, ask.Role)
	if !found {
		return api.BreakGlassRequest{}, errNotRequested.With("%.100q on install %s", ask.Role, install.Name)
	}
	rows, err := tx.RevokeBreakGlass(ctx, store.RevokeBreakGlassParams{
		RevokedBy: actor, OrgID: tx.Org, InstallID: install.ID, Role: role.Key,
	})
	if err != nil {
		return api.BreakGlassRequest{}, fmt.Errorf("revoke role %s on install %s: %w", role.Key, install.Name, err)
	}
	if len(rows) == 0 { // it ended at this moment
		return api.BreakGlassRequest{}, errNotRequested.With("%.100q on install %s", ask.Role, install.Name)
	}
	return changed(ctx, tx, rows[0], "break_glass.revoke", actor, ask.Reason)
}

// changed audits a change of a request, has the install reconciled, and returns the request.
func changed(ctx context.Context, tx *store.Tx, row store.BreakGlassRequest, what, actor, reason string) (
	view api.BreakGlassRequest, err error) {
	if err := tx.Audit(ctx, actor, what, row.InstallID, map[string]any{
		"role": row.Role, "until": row.Until, "reason": reason, "request": row.ID,
	}); err != nil {
		return view, err
	}
	if err := tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: row.InstallID}); err != nil {
		return view, err
	}
	all, err := list(ctx, tx, store.ViewBreakGlassParams{InstallID: row.InstallID, Most: maxPage})
	if err != nil {
		return view, err
	}
	for _, r := range all {
		if r.ID == row.ID {
			return r, nil
		}
	}
	return view, fmt.Errorf("request %s: %w", row.ID, store.ErrNotFound)
}

func isOpen(status api.BreakGlassRequestStatus) bool {
	return status == api.BreakGlassWaiting || status == api.BreakGlassGranted
}

// findRole returns the break-glass role of an install that a person means.
func findRole(ctx context.Context, tx *store.Tx, install store.Install, name string) (installstack.BreakGlassRole,
	error) {
	all, err := rollout.BreakGlassRoles(ctx, tx, install)
	if err != nil {
		return installstack.BreakGlassRole{}, err
	}
	role, found := installstack.FindBreakGlass(all, install.ID, name)
	if found {
		return role, nil
	}
	var known []string
	for _, r := range all {
		known = append(known, r.Key)
	}
	unknown := errUnknown.With("%.100q on install %s", name, install.Name)
	unknown.Remedy = "It has: " + strings.Join(known, ", ") + "."
	return role, unknown
}

// Filter selects requests.
type Filter struct {
	Install string // id; empty for all
	All     bool   // also those that ended earlier
	Before  string // id of a request
	Most    int32
}

// List returns requests, the newest first.
func List(ctx context.Context, tx *store.Tx, f Filter) ([]api.BreakGlassRequest, error) {
	return list(ctx, tx, store.ViewBreakGlassParams{InstallID: f.Install, Everything: f.All, Before: f.Before,
		Most: f.Most})
}

func list(ctx context.Context, tx *store.Tx, asked store.ViewBreakGlassParams) ([]api.BreakGlassRequest, error) {
	asked.OrgID, asked.LatelySeconds = tx.Org, lately.Seconds()
	rows, err := tx.ViewBreakGlass(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("list requests for break-glass roles: %w", err)
	}
	stacks := map[string]map[string]string{} // the ends that stacks reported, by install and role
	made := make([]api.BreakGlassRequest, 0, len(rows))
	for _, row := range rows {
		ends, read := stacks[row.Install.ID]
		if !read {
			_, outputs, err := stackoutputs.Current(ctx, tx, row.Install.ID)
			if err != nil {
				return nil, err
			}
			ends = rollout.StackBreakGlass(outputs.Values())
			stacks[row.Install.ID] = ends
		}
		r := request{row: row, now: tx.Now()}
		r.stackUntil, r.stackOn = ends[row.BreakGlassRequest.Role]
		view := r.view()
		if isOpen(view.Status) {
			if err := r.addSteps(ctx, tx, &view); err != nil {
				return nil, err
			}
		}
		made = append(made, view)
	}
	return made, nil
}
