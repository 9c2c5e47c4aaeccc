// Package install is the screen of all installs, and that of one: its components with their
// health, outputs, inputs, and history.
package install

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// history is the number of workflows that the screen shows.
const history = 20

// Screen is the screen of an install.
type Screen struct {
	name      string // as the user gave it
	install   api.Install
	workflows []api.Workflow
	states    []api.ComponentState
	approvals map[string]string // the IDs of the approvals that wait, by component
}

// New returns the screen of an install, by its name, APP/NAME or id.
func New(name string) *Screen { return &Screen{name: name} }

// Load fetches the install, its newest workflows, the newest versions of its Terraform states, and
// its approvals if some wait.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, s.name))
	if err != nil {
		return nil, err
	}
	w, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
		&api.ListWorkflowsParams{Install: i.ID, Limit: history}))
	if err != nil {
		return nil, err
	}
	states, err := apiclient.Decode[api.ComponentStateList](client.ListStates(ctx, i.ID))
	if err != nil {
		return nil, err
	}
	approvals := map[string]string{}
	if i.Status == api.InstallStatusWaitingForApproval {
		l, err := apiclient.Decode[api.ApprovalList](client.ListApprovals(ctx,
			&api.ListApprovalsParams{Install: i.ID, Brief: true}))
		if err != nil {
			return nil, err
		}
		for _, a := range l.Items {
			approvals[review.Subject(a)] = a.ID
		}
	}
	return func() { s.install, s.workflows, s.states, s.approvals = i, w.Items, states.Items, approvals }, nil
}

// full returns the name of the install for commands.
func (s *Screen) full() string {
	if s.install.ID == "" {
		return s.name
	}
	return s.install.App + "/" + s.install.Name
}

// moved returns when a workflow ended, else when it was created.
func moved(w api.Workflow) time.Time {
	if !w.EndedAt.IsZero() {
		return w.EndedAt
	}
	return w.CreatedAt
}
