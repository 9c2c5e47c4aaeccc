// Package orgs implements `nuon orgs`, which shows the org, role and identity of the caller.
package orgs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "orgs", Short: "Inspect your org and your access to it"}
	c.AddCommand(newGet(e))
	return c
}

// org is the control plane's description of the caller, with the org as the name that
// -o name prints.
type org struct {
	Name string `json:"name"`
	api.Whoami
	URL string `json:"url"`
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "get",
		Aliases: []string{"whoami"},
		Short:   "Show your org, your role and the control plane",
		Args:    cobra.NoArgs,
		Example: `  nuon orgs get
  nuon orgs get -o name`,
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, _ []string) error {
			me, err := apiclient.Decode[api.Whoami](client.Whoami(ctx))
			if err != nil {
				return err
			}
			return e.Console.Result(org{me.Org, me, client.URL}, func(w io.Writer) error {
				return show(w, client.URL, me)
			})
		}),
	}
}

func show(w io.Writer, url string, me api.Whoami) error {
	until := ""
	if !me.ExpiresAt.IsZero() {
		until = ", until " + me.ExpiresAt.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(w, `org %s (%s)
  you are       %s, %s%s
  apps          %s
  control plane %s, version %s
`, console.Line(me.Org), me.OrgID, console.Line(me.Actor), me.Role, until,
		console.Line(cmp.Or(me.App, "all")), console.Line(url), console.Line(me.ServerVersion))
	return err
}
