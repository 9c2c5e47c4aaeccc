package breakglass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// request is one request, with what the customer granted.
type request struct {
	row        store.ViewBreakGlassRow
	stackOn    bool
	stackUntil string // as the stack reported it
	now        time.Time
}

// view returns the request for the API, without the steps of the customer.
func (r *request) view() api.BreakGlassRequest {
	b := r.row.BreakGlassRequest
	view := api.BreakGlassRequest{
		ID: b.ID, Install: r.row.Install.Name, InstallID: b.InstallID, App: r.row.App, Role: b.Role, Reason: b.Reason,
		RequestedBy: b.RequestedBy, CreatedAt: b.CreatedAt, Until: b.Until, RevokedBy: b.RevokedBy,
		StackUntil: r.stackUntil, Status: api.BreakGlassWaiting,
	}
	switch {
	case b.RevokedAt != nil:
		view.RevokedAt, view.Status = *b.RevokedAt, api.BreakGlassRevoked
		r.addAftermath(&view, *b.RevokedAt)
	case !b.Until.After(r.now):
		view.Status = api.BreakGlassEnded
		r.addAftermath(&view, b.Until)
	}
	return view
}

// addAftermath states what is still to do after the end of a request.
func (r *request) addAftermath(view *api.BreakGlassRequest, ended time.Time) {
	how := "it ended at "
	if view.Status == api.BreakGlassRevoked {
		how = "it was revoked at "
	}
	how += ended.UTC().Format(time.RFC3339)
	end, err := time.Parse(time.RFC3339, r.stackUntil)
	switch {
	case r.stackOn && (err != nil || end.After(r.now)):
		view.Note = "the role is still switched on in the customer's stack; the customer switches it off there, and " +
			"removes the grant on the runner (runnerd grants remove)"
		view.Reminder = how + ", and " + view.Note
	case r.now.Sub(ended) < remindAfter:
		view.Reminder = how
	}
}

// addSteps adds what the customer does, and what is missing of it.
func (r *request) addSteps(ctx context.Context, tx *store.Tx, view *api.BreakGlassRequest) error {
	roles, err := rollout.BreakGlassRoles(ctx, tx, r.row.Install)
	if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
		err = nil // the app has lost all its roles
	}
	if err != nil {
		return err
	}
	role, found := installstack.FindBreakGlass(roles, view.InstallID, view.Role)
	if !found {
		view.Note = "the app no longer has this role"
		view.Reminder = view.Note
		return nil
	}
	for _, step := range role.Steps(view.Until, view.Reason) {
		view.Steps = append(view.Steps, api.BreakGlassStep{What: step.What, Command: step.Command})
	}
	granted, is := runners.ReportedPolicy(r.row.Runner).Roles.GrantedUntil(role.Machine(), r.now)
	var missing []string
	if !r.stackOn {
		missing = append(missing, "the role is off in the customer's stack")
	}
	if is {
		view.RunnerUntil = granted
	} else {
		missing = append(missing, "the runner's owner has not granted it")
	}
	if len(missing) > 0 {
		view.Note = strings.Join(missing, ", and ")
		view.Reminder = "it waits for the customer: " + view.Note
		return nil
	}
	view.Status = api.BreakGlassGranted
	ends := view.Until
	for _, other := range []string{r.stackUntil, granted.Format(time.RFC3339)} {
		if at, err := time.Parse(time.RFC3339, other); err == nil && at.Before(ends) {
			ends = at
		}
	}
	if ends.Before(view.Until) {
		view.Note = "the customer granted it until " + ends.UTC().Format(time.RFC3339)
	}
	if left := ends.Sub(r.now); left < remindBefore {
		view.Reminder = fmt.Sprintf("it ends at %s, in %s", ends.UTC().Format(time.RFC3339),
			max(left, 0).Round(time.Minute))
	}
	return nil
}
