// Package install is the screen of all installs, and that of one: its components with their
// health, outputs, inputs, and history.
package install

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// history is the number of workflows that the screen shows.
const history = 20

// Screen is the screen of an install.
type Screen struct {
	name      string // as the user gave it
	install   api.Install
	workflows []api.Workflow
}

// New returns the screen of an install, by its name, APP/NAME or id.
func New(name string) *Screen { return &Screen{name: name} }

// Load fetches the install and its newest workflows.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, s.name))
	if err != nil {
		return nil, err
	}
	w, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
		&api.ListWorkflowsParams{Install: i.ID, Limit: history}))
	return func() { s.install, s.workflows = i, w.Items }, err
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
