package installs

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newHistory(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.Workflow]{
		Header: []string{"ID", "KIND", "RELEASE", "STATUS", "STARTED", "DURATION", "ACTOR", "OUTCOME"}, Limit: 20,
		Row: func(w api.Workflow) []string {
			took, outcome := "-", w.Outcome
			if !w.EndedAt.IsZero() {
				took = w.EndedAt.Sub(w.CreatedAt).Round(time.Second).String()
			}
			kind := string(w.Kind)
			if w.PlanOnly {
				kind += " (plan only)"
			}
			return []string{w.ID, kind, console.Release(w.Release, w.Commit), string(w.Status),
				w.CreatedAt.Local().Format(time.DateTime), took, cmp.Or(w.RequestedBy, "-"), cmp.Or(outcome, w.Reason)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Workflow, string, error) {
			l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
				&api.ListWorkflowsParams{Install: at.Args[0], Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.Command(e, &cobra.Command{
		Use:               "history INSTALL",
		Short:             "List the workflows of an install with their releases and outcomes, newest first",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon installs history acme --limit 5",
		ValidArgsFunction: complete.Args(e, complete.Installs),
	})
}
