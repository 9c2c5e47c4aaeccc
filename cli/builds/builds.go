// Package builds implements `nuon builds`, which lists, shows and starts the builds of
// an app's components.
package builds

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	c := &cobra.Command{Use: "builds", Short: "Manage builds of components"}
	c.AddCommand(newList(e), newGet(e), newCreate(e), newRetry(e), newRefresh(e), newCancelRefresh(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var p api.ListBuildsParams
	var status string
	l := &listing.List[api.Build]{
		Limit:  20,
		Header: []string{"ID", "COMPONENT", "BUILD", "STATUS", "ARTIFACT", "REASON"},
		Row: func(b api.Build) []string {
			return []string{b.ID, b.Component, fmt.Sprint(b.Number), string(b.Status),
				console.Short(b.ArtifactDigest), Reason(b)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Build, string, error) {
			p.Cursor, p.Limit = at.Cursor, at.Limit
			l, err := apiclient.Decode[api.BuildList](client.ListBuilds(ctx, &p))
			fit := slices.DeleteFunc(l.Items, func(b api.Build) bool {
				return status != "" && string(b.Status) != status
			})
			return fit, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List builds, newest first", Args: cobra.NoArgs,
		Example: `  nuon builds list --app hello
  nuon builds list --app hello --status failed -o name`,
		PreRunE: func(*cobra.Command, []string) error {
			if status != "" && !slices.Contains(api.BuildStatuses, status) {
				return exitcode.Usagef("--status %s: use one of %s", status, strings.Join(api.BuildStatuses, ", "))
			}
			return nil
		},
	})
	c.Flags().StringVar(&p.App, "app", "", "app whose builds to list")
	c.Flags().StringVar(&p.Component, "component", "", "only this component")
	c.Flags().StringVar(&status, "status", "", "only these statuses: "+strings.Join(api.BuildStatuses, ", "))
	_ = c.MarkFlagRequired("app") // fails only for an unknown flag
	complete.Flag(e, c, "app", complete.Apps)
	complete.FlagWords(c, "status", api.BuildStatuses...)
	complete.Flag(e, c, "component",
		func(ctx context.Context, client *apiclient.Client, _ []string) ([]complete.Name, error) {
			return complete.ComponentsOf(ctx, client, p.App)
		})
	return c
}

// Reason returns the error of a build, else what it waits for, else why it was made.
func Reason(b api.Build) string {
	switch {
	case b.Error != "":
		return b.Error
	case b.Waits != "":
		return b.Waits
	}
	return b.Reason
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "get BUILD",
		Short:             "Show a build",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Builds),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			b, err := apiclient.Decode[api.Build](client.GetBuild(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(b, func(w io.Writer) error { return show(w, b) })
		}),
	}
}

func show(w io.Writer, b api.Build) error {
	_, err := fmt.Fprintf(w, "build %d of %s (%s): %s\n  %s\n  input     %s\n  artifact  %s\n  source    %s at %.12s\n",
		b.Number, b.Component, b.ID, b.Status, console.Line(Reason(b)), b.InputDigest, b.ArtifactDigest,
		b.Repository, b.Commit)
	for _, line := range ResolvedLines(b.Modules) {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %-8s  %s\n", line.Kind, line.Text)
		}
	}
	if err == nil && b.Job != "" {
		_, err = fmt.Fprintf(w, "  log       nuon logs %s\n", b.ID)
	}
	return err
}
