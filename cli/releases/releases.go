// Package releases implements `nuon releases`, which lists releases, the sets of
// digests that result from pushes, and compares them.
package releases

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "releases", Short: "Inspect the releases of apps", Args: cobra.NoArgs,
		Long: `Inspect the releases of apps.

Installs get releases: a config together with one artifact for each component. A push that changes one
of these creates a new release. Installs follow the newest complete release, or are pinned to one
("nuon installs pin").`,
	}
	c.AddCommand(newList(e), newGet(e), newDiff(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.Release]{
		Header: []string{"RELEASE", "STATUS", "CREATED", "COMMIT", "REASON"},
		Row: func(r api.Release) []string {
			return []string{
				fmt.Sprint(r.Number), Status(r), r.CreatedAt.Local().Format(time.DateTime), console.Short(r.Commit),
				console.Line(r.Cause),
			}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Release, string, error) {
			l, err := apiclient.Decode[api.ReleaseList](client.ListReleases(ctx, at.Args[0],
				&api.ListReleasesParams{Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.OfApp(e, &cobra.Command{
		Use: "list APP", Aliases: []string{"ls"}, Short: "List the releases of an app, newest first",
		Long: `List the releases of an app, newest first, with the commit and the reason of each.

An incomplete release has a component that cannot be built; no install gets it.`,
		Example: "  nuon releases list hello --limit 5",
	})
}

// Status describes the status of a release in a list.
func Status(r api.Release) string {
	if r.Partial {
		return string(r.Status) + ", partial"
	}
	return string(r.Status)
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get APP [RELEASE]", Short: "Show a release with its components", Args: cobra.RangeArgs(1, 2),
		Long: `Show a release: the commit of every repository that it was made from, and the artifact of each component.
Without RELEASE, this is the newest.`,
		Example:           "  nuon releases get hello\n  nuon releases get hello 7 -o json",
		ValidArgsFunction: complete.Args(e, complete.Apps, complete.ReleasesOf),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			number, err := releaseOf(ctx, client, args[0], args[1:])
			if err != nil {
				return err
			}
			r, err := apiclient.Decode[api.Release](client.GetRelease(ctx, args[0], number))
			if err != nil {
				return err
			}
			return e.Console.Result(r, func(w io.Writer) error { return show(w, r) })
		}),
	}
}

// Number parses the number of a release.
func Number(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, exitcode.Usagef("invalid release %q: use a number from 1 up; list the releases with `nuon "+
			"releases list`",
			text)
	}
	return int(n), nil
}

func show(w io.Writer, r api.Release) error {
	lines := []string{fmt.Sprintf("release %d, %s (%s)", r.Number, Status(r), r.ID)}
	if r.Reason != "" {
		lines = append(lines, "  "+r.Reason)
	}
	lines = append(lines, "  created    "+r.CreatedAt.Local().Format(time.DateTime), "  because    "+r.Cause,
		fmt.Sprintf("  config     version %d", r.Version))
	for _, c := range r.Commits {
		if c.Upload != "" {
			lines = append(lines, "  upload     "+console.Short(c.Upload))
			continue
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  commit     %s %s (%s, %s)",
			console.Short(c.Commit), c.Subject, c.Repository, c.Ref), " "))
	}
	lines = append(lines, "components")
	for _, c := range r.Components {
		lines = append(lines, fmt.Sprintf("  %-18s %s", c.Name, ComponentText(c)))
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, console.Line(l)); err != nil {
			return err
		}
	}
	return nil
}

// ComponentText describes the build of one component in a release.
func ComponentText(c api.ReleasedComponent) string {
	switch {
	case c.Problem != "":
		return "cannot be built: " + c.Problem
	case c.Build == 0:
		return "has no build yet"
	}
	words := fmt.Sprintf("build %d %s", c.Build, c.Status)
	if c.Artifact != "" {
		words += " " + console.Short(c.Artifact)
	}
	if c.Commit != "" {
		words += " from " + console.Short(c.Commit)
	}
	if c.KeptFrom > 0 {
		words += fmt.Sprintf(", as in release %d", c.KeptFrom)
	}
	return words
}
