// Package apps implements `nuon apps`, which manages the apps of the org and shows
// their versions and configs.
package apps

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "apps", Short: "Manage apps"}
	c.AddCommand(newCreate(e), newList(e), newGet(e), newVersions(e), newConfig(e), newVariables(e), newDelete(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.App]{
		Header: []string{"NAME", "RELEASE", "REPOSITORY", "PROBLEM"},
		Row:    row,
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.App, string, error) {
			l, err := apiclient.Decode[api.AppList](client.ListApps(ctx,
				&api.ListAppsParams{Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List apps", Args: cobra.NoArgs,
		Example: `  nuon apps list
  nuon apps list -o name`,
	})
}

func row(a api.App) []string {
	return []string{a.Name, console.Release(a.Release.Number, a.Release.Commit), a.Repository, Problem(a)}
}

// Problem describes why an app is not at its newest revision.
func Problem(a api.App) string {
	errors := 0
	for _, d := range a.Diagnostics {
		if d.Severity == "error" {
			errors++
		}
	}
	switch {
	case a.Problem != "":
		return a.Problem
	case errors > 0:
		count := "1 error"
		if errors > 1 {
			count = fmt.Sprintf("%d errors", errors)
		}
		return fmt.Sprintf("%s in the config%s; list them with `nuon apps get %s`", count, commitOf(a), a.Name)
	}
	return ""
}

// commitOf names the commit at which an app's config was last read.
func commitOf(a api.App) string {
	if a.Revision.Commit == "" {
		return ""
	}
	return fmt.Sprintf(" at %.7s", a.Revision.Commit)
}

// Outcome returns the effect of an app's newest revision on the app itself. The revision can
// have effects on other apps of the same branch. It is empty for an app without a repository.
func Outcome(a api.App) string {
	for line := range strings.Lines(a.Revision.Outcome) {
		if own, found := strings.CutPrefix(line, "app "+a.Name+": "); found {
			return strings.TrimSuffix(own, "\n")
		}
	}
	return ""
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "get APP",
		Short:             "Show an app and the errors in its config",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			app, err := apiclient.Decode[api.App](client.GetApp(ctx, args[0]))
			if err != nil {
				return err
			}
			components, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, app.ID))
			if err != nil {
				return err
			}
			return e.Console.Result(app, func(w io.Writer) error { return show(w, app, components.Items) })
		}),
	}
}

// imageRefreshes describes when the images of an app were resolved again, and when that is due.
func imageRefreshes(r api.ImageRefreshes) string {
	var parts []string
	if !r.LastAt.IsZero() {
		parts = append(parts, "resolved again "+r.LastAt.Local().Format(time.DateTime))
	}
	if !r.NextAt.IsZero() {
		parts = append(parts, "next "+r.NextAt.Local().Format(time.DateTime))
	}
	return strings.Join(parts, ", ")
}

func show(w io.Writer, a api.App, components []api.Component) error {
	fmt.Fprintf(w, "%s (%s)\n", a.Name, a.ID)
	if a.Repository == "" {
		fmt.Fprintln(w, "  uploaded by nuon sync")
	} else {
		fmt.Fprintf(w, "  repository %s, %s, directory %s\n", a.Repository, a.Ref, a.Directory)
	}
	if a.Revision.ID != "" {
		fmt.Fprintf(w, "  revision   %.12s %s\n             %s\n",
			a.Revision.Commit, console.Line(a.Revision.Subject), console.Line(a.Revision.Reason))
		if outcome := Outcome(a); outcome != "" && len(a.Diagnostics) == 0 {
			fmt.Fprintf(w, "             %s\n", console.Line(outcome))
		}
	}
	if a.Version.ID != "" {
		fmt.Fprintf(w, "  version    %d %s\n             %s\n",
			a.Version.Number, console.Short(a.Version.Digest), console.Line(a.Version.Reason))
	}
	if r := a.Release; r.Number > 0 {
		fmt.Fprintf(w, "  release    %s %s\n             %s\n",
			console.Release(r.Number, r.Commit), r.Status, console.Line(r.Cause))
		if r.Reason != "" {
			fmt.Fprintf(w, "             %s\n", console.Line(r.Reason))
		}
	}
	if text := imageRefreshes(a.Images); text != "" {
		fmt.Fprintf(w, "  images     %s\n", text)
	}
	if a.Images.LastError != "" {
		fmt.Fprintf(w, "             %s\n", console.Line(a.Images.LastError))
	}
	if a.Problem != "" {
		fmt.Fprintf(w, "  problem    %s\n", console.Line(a.Problem))
	}
	for _, c := range components {
		if c.Problem != "" {
			fmt.Fprintf(w, "  problem    %s cannot be built: %s\n", c.Name, console.Line(c.Problem))
		}
	}
	for _, d := range a.Diagnostics {
		fmt.Fprintf(w, "  %s\n", console.Line(apiclient.Diagnosis(d)))
	}
	return nil
}
