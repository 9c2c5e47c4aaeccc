package approvals

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

const assigneeUsage = "only those assigned to this approver: a NAME, me, or none for those that nobody has"

// newAssign returns the command `nuon approvals assign`.
func newAssign(e *cmdenv.Env) *cobra.Command {
	to, instead := "", ""
	c := &cobra.Command{
		Use:   "assign INSTALL/COMPONENT|INSTALL|APPROVAL…",
		Short: "Assign waiting approvals to an approver",
		Args:  cobra.MinimumNArgs(1),
		Long: `Assign waiting approvals to an approver, by default to you.

An assignment tells a team who reads what. It forbids no answer. An approval that somebody else took in
the meantime is not taken from them if --instead-of names whom you expect.`,
		Example: "  nuon approvals assign acme/web\n  nuon approvals assign acme --to bob\n" +
			"  nuon approvals assign apr_… --to none",
		ValidArgsFunction: complete.Rest(e, complete.Approvals),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			assignment := api.Assignment{Assignee: to}
			if to == review.Nobody {
				assignment.Assignee = ""
			}
			if instead != "" {
				if instead == review.Nobody {
					instead = ""
				}
				assignment.Expected = &instead
			}
			return assign(ctx, e, client, args, assignment)
		}),
	}
	c.Flags().StringVar(&to, "to", review.Me, "NAME of an approver, me, or none for nobody")
	c.Flags().StringVar(&instead, "instead-of", "", "fail unless this approver (or none) has it now")
	complete.FlagWords(c, "to", review.Me, review.Nobody)
	return c
}

func assign(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, args []string, to api.Assignment) error {
	found, err := chosen(ctx, client, args, true)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return exitcode.Usagef("no approval is waiting there; list them with `nuon approvals list`")
	}
	var errs []error
	done := []api.Approval{}
	for _, a := range found {
		now, err := apiclient.Decode[api.Approval](client.AssignApproval(ctx, a.ID, to))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		now.Report = nil
		done = append(done, now)
	}
	printed := e.Console.Result(done, func(w io.Writer) error {
		for _, a := range done {
			who := a.Assignee
			if who == "" {
				who = "nobody"
			}
			if _, err := fmt.Fprintf(w, "assigned to %s: %s on %s/%s\n", who, review.Subject(a), a.App,
				a.Install); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(append(errs, printed)...)
}
