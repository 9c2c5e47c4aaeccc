// Package runners is `nuon runners`: the programs that build, and that work in customers' accounts.
package runners

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "runners", Short: "The runners of this org"}
	c.AddCommand(newList(e), newCreate(e))
	return c
}

func newList(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the runners", Args: cobra.NoArgs,
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			l, err := remote.Get[api.RunnerList](client.ListRunners(ctx))
			if err != nil {
				return err
			}
			var rows [][]string
			for _, r := range l.Items {
				rows = append(rows, []string{r.Name, string(r.Kind), status(r), seen(r), r.Version})
			}
			return e.Console.List(l.Items, []string{"NAME", "KIND", "STATUS", "LAST SEEN", "VERSION"}, rows)
		}),
	}
}

func status(r api.Runner) string {
	switch {
	case !r.Registered:
		return "not registered"
	case r.Online:
		return "online"
	}
	return "offline"
}

func seen(r api.Runner) string {
	if r.LastSeen.IsZero() {
		return "never"
	}
	return time.Since(r.LastSeen).Round(time.Second).String() + " ago"
}

func newCreate(e *env.Env) *cobra.Command {
	var kind string
	var shared bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a runner and print how to start it", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			made, err := remote.Get[api.CreatedRunner](client.CreateRunner(ctx, api.NewRunner{Name: args[0], Kind: api.NewRunnerKind(kind), Shared: shared}))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error { return HowToStart(w, made) })
		}),
	}
	c.Flags().StringVar(&kind, "kind", "install", "install (works in a customer's account) or build")
	c.Flags().BoolVar(&shared, "shared", false, "takes the installs that name no runner")
	return c
}

// HowToStart tells what to do with a registration token.
func HowToStart(w io.Writer, made api.CreatedRunner) error {
	_, err := fmt.Fprintf(w, `runner %s made. Start it where it is to work, within the hour:

  NUON_REGISTRATION_TOKEN=%s \
  runnerd run --url <the runner API's address> --dir /var/lib/nuon --name %s
`, made.Runner.Name, made.RegistrationToken, made.Runner.Name)
	return err
}
