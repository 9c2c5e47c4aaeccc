// Package workflow is the screen of the newest workflows, and that of one: its steps as a tree,
// with what each waits for.
package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Screen is the screen of a workflow.
type Screen struct {
	name     string // as the user gave it
	workflow api.Workflow
}

// New returns the screen of a workflow, by its id or latest:INSTALL.
func New(name string) *Screen { return &Screen{name: name} }

// Load fetches the workflow once.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	w, err := workflows.Find(ctx, client, s.name)
	return func() { s.workflow = w }, err
}

// Follow receives each state of the workflow until it ends.
func (s *Screen) Follow(ctx context.Context, client *apiclient.Client, feed page.Feed) error {
	w, err := workflows.Find(ctx, client, s.name)
	if err != nil {
		return err
	}
	feed.Send(func() { s.workflow = w })
	return apiclient.Follow(ctx, func(last string) (*http.Response, error) {
		r, err := client.StreamWorkflow(ctx, w.ID, &api.StreamWorkflowParams{LastEventID: last})
		feed.Heard(err)
		return r, err
	}, func(e apiclient.Event) (bool, error) {
		if e.Name != "workflow" {
			return false, nil
		}
		var now api.Workflow
		if err := json.Unmarshal(e.Data, &now); err != nil {
			return true, fmt.Errorf("read workflow %s: %w", w.ID, err)
		}
		feed.Send(func() { s.workflow = now })
		return now.Status != api.WorkflowStatusRunning, nil
	})
}
