package installs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newSecrets(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "secrets", Short: "Show the secrets of the customer, without their values"}
	c.AddCommand(newListSecrets(e), newCheckSecrets(e))
	return c
}

func newListSecrets(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.InstallSecret]{
		Header: []string{"NAME", "SOURCE", "STATE", "VERSION", "SINCE", "COPIES", "PROBLEM"},
		Row:    secretRow,
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.InstallSecret, string, error) {
			l, err := apiclient.Decode[api.InstallSecretList](client.ListInstallSecrets(ctx, at.Args[0]))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list INSTALL", Aliases: []string{"ls"}, Args: cobra.ExactArgs(1),
		Short: "List the secrets of an install as its runner reported them last",
		Long: `List the secrets of an install as its runner reported them last.

The customer sets them in the install stack or with "runnerd secrets set" on the runner's machine.
nuon stores the id of a version, never a value. The state is present, missing, not_permitted (the
runner may not read it) or unknown (not reported yet, or the store did not answer).`,
		Example:           "  nuon installs secrets list acme\n  nuon installs secrets list acme --watch",
		ValidArgsFunction: complete.Args(e, complete.Installs),
	})
}

func secretRow(s api.InstallSecret) []string {
	since := "-"
	if !s.Since.IsZero() {
		since = s.Since.Local().Format(time.DateTime)
	}
	var copies []string
	for _, c := range s.Copies {
		copies = append(copies, c.Namespace+"/"+c.Name)
	}
	where := strings.Join(copies, ", ")
	if len(copies) > 0 && !s.Copied {
		where += " (pending)"
	}
	return []string{s.Name, string(s.Source), string(s.State), cmp.Or(s.Version, "-"), since, cmp.Or(where, "-"),
		s.Problem}
}

func newCheckSecrets(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "check INSTALL", Args: cobra.ExactArgs(1),
		Short: "Let the runner report the secrets of an install now",
		Long: `Let the runner report the secrets of an install now, and copy changed ones into the cluster. Otherwise it
does so every five minutes.`,
		Example:           "  nuon installs secrets check acme",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			before, err := apiclient.Decode[api.InstallSecretList](client.CheckInstallSecrets(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(before, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "requested; see: nuon installs secrets list %s\n", args[0])
				return err
			})
		}),
	}
}
