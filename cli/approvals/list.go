package approvals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command `nuon approvals` with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "approvals",
		Short: "List and assign approvals of plans, scripts and settings"}
	c.AddCommand(newList(e), newAssign(e))
	return c
}

// maxInRow is the maximum number of installs that a table row names.
const maxInRow = 3

func newList(e *cmdenv.Env) *cobra.Command {
	var each bool
	p := api.ListApprovalsParams{Brief: true}
	status := ""
	l := &listing.List[api.Approval]{
		Header: []string{"ID", "PLAN", "APP", "INSTALL", "CHANGES", "STATUS", "ASSIGNEE", "REASON"},
		Row:    func(a api.Approval) []string { return cells([]api.Approval{a}) },
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Approval, string, error) {
			p.Cursor, p.Limit, p.Status = at.Cursor, at.Limit, api.ListApprovalsParamsStatus(status)
			l, err := apiclient.Decode[api.ApprovalList](client.ListApprovals(ctx, &p))
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List approvals, newest first",
		Args:    cobra.NoArgs,
		Long: `List approvals, newest first.

On a terminal, plans that are alike share one row that counts their installs; --each prints a row for
each. In a pipe, and with -o json, yaml or name, every plan has a row.`,
		Example: "  nuon approvals list\n  nuon approvals list --each --install acme\n  nuon approvals list -o json | jq " +
			"'group_by(.group)'",
		PreRunE: func(*cobra.Command, []string) error {
			if status != "" && !slices.Contains(api.ApprovalStatuses, status) {
				return exitcode.Usagef("--status %s: use one of %s", status, strings.Join(api.ApprovalStatuses, ", "))
			}
			if !each {
				l.Rows = func(all []api.Approval) [][]string { return groupRows(e, all) }
			}
			return nil
		},
	})
	c.Flags().BoolVar(&each, "each", false, "list every plan, including those that are alike")
	c.Flags().StringVar(&p.Install, "install", "", "only this install")
	c.Flags().StringVar(&p.Group, "group", "", "only plans of this group (group in -o json)")
	c.Flags().StringVar(&p.Assignee, "assignee", "", assigneeUsage)
	complete.FlagWords(c, "assignee", review.Me, review.Nobody)
	c.Flags().StringVar(&status, "status", "",
		"only these statuses: "+strings.Join(api.ApprovalStatuses, ", ")+" (default: waiting)")
	complete.Flag(e, c, "install", complete.Installs)
	complete.FlagWords(c, "status", api.ApprovalStatuses...)
	return c
}

// groupRows returns table rows with one row for each group of plans that are alike.
func groupRows(e *cmdenv.Env, all []api.Approval) [][]string {
	var rows [][]string
	for _, alike := range review.Gather(all) {
		rows = append(rows, cells(alike))
	}
	if len(rows) < len(all) {
		e.Console.Messagef("%d plans in %d rows; list every plan with --each", len(all), len(rows))
	}
	return rows
}

// cells returns the row of a group of plans that are alike.
func cells(alike []api.Approval) []string {
	a, at := alike[0], alike[0].Install
	if len(alike) > 1 {
		at = fmt.Sprintf("%d: %s", len(alike), review.Names(alike, maxInRow))
	}
	why := cmp.Or(a.Because, a.Reason)
	if a.Status != api.ApprovalStatusWaiting {
		why = review.Verdict(a)
	}
	changes := totals(a).Brief()
	if totals(a).Denied > 0 {
		changes = strings.TrimSuffix("denied, "+changes, ", ")
	}
	if scripts := review.Scripts(a); scripts != "" && a.Kind == api.ApprovalKindPlan {
		changes = strings.TrimPrefix(changes+", "+scripts, ", ")
	} else if scripts != "" {
		changes = scripts
	}
	return []string{a.ID, review.Verb(a) + " " + review.Subject(a), a.App, at, cmp.Or(changes, "-"),
		string(a.Status), cmp.Or(review.Assignee(alike), "-"), why}
}
