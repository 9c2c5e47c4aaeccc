// Package installs implements `nuon installs`, which manages the installs of an app
// from creation to the deletion of their records, and `nuon deploy`, which deploys
// to one. Its commands show a change before they make it, and require confirmation
// for what cannot be undone. Other commands use its waiting and its rows.
package installs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "installs", Short: "Manage installs: customers' copies of an app"}
	c.AddCommand(newCreate(e), newList(e), newGet(e), newUpdate(e), newSync(e), newManagedBy(e), newGenerateConfig(e),
		newEnable(e), newDisable(e), newStack(e), newSecrets(e), newPin(e), newUnpin(e), newRollback(e), newHistory(e),
		newTrust(e), newTeardown(e), newDeprovision(e), newForget(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var p api.ListInstallsParams
	l := &listing.List[api.InstallSummary]{
		Header: []string{"NAME", "APP", "RELEASE", "STATUS", "REASON"},
		Row:    row,
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.InstallSummary, string, error) {
			p.Cursor, p.Limit = at.Cursor, at.Limit
			l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx, &p))
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List installs and their statuses", Args: cobra.NoArgs,
		Example: "  nuon installs list --app hello --status stalled\n  nuon installs list --label tier=gold --watch",
		PreRunE: func(*cobra.Command, []string) error {
			if p.Status != "" && !api.InstallSummaryStatus(p.Status).Valid() {
				return exitcode.Usagef("--status %s: use one of %s", p.Status, strings.Join(api.InstallStatuses, ", "))
			}
			if name, _, pair := strings.Cut(p.Label, "="); p.Label != "" && (!pair || name == "") {
				return exitcode.Usagef("--label %q: use NAME=VALUE", p.Label)
			}
			return nil
		},
	})
	c.Flags().StringVar(&p.App, "app", "", "only installs of this app")
	c.Flags().StringVar(&p.Status, "status", "", "only these statuses: "+strings.Join(api.InstallStatuses, ", "))
	c.Flags().StringVar(&p.Runner, "runner", "", "only installs of this runner")
	c.Flags().StringVar(&p.Label, "label", "", "only installs with this label, NAME=VALUE")
	complete.Flag(e, c, "app", complete.Apps)
	complete.FlagWords(c, "status", api.InstallStatuses...)
	complete.Flag(e, c, "runner", complete.Runners)
	return c
}

// Rows returns table rows for installs: name, app, release, status, reason.
func Rows(items []api.InstallSummary) [][]string {
	var rows [][]string
	for _, i := range items {
		rows = append(rows, row(i))
	}
	return rows
}

func row(i api.InstallSummary) []string {
	reason := i.Reason
	if len(i.Drift) > 0 {
		reason += "; drift: " + strings.Join(DriftNames(i.Drift), ", ")
	}
	return []string{i.Name, i.App, console.Release(i.Release, i.Commit), string(i.Status), reason}
}

// DriftNames returns the names of the components that others changed.
func DriftNames(all []api.Drift) []string {
	var names []string
	for _, d := range all {
		names = append(names, d.Component)
	}
	return names
}
