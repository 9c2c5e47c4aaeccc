// Package repos implements `nuon repos`, which shows the git branches that the control plane polls.
package repos

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
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

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "repos", Short: "Inspect the git branches that the control plane polls"}
	c.AddCommand(newList(e), newGet(e), newLook(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	var app string
	var problems bool
	l := &listing.List[api.Repo]{
		Header: []string{"ID", "REPOSITORY", "REF", "COMMIT", "LAST POLL", "APPS", "PROBLEM"},
		Row: func(r api.Repo) []string {
			return []string{r.ID, r.URL, r.Ref, console.Short(r.Commit), ago(r.PolledAt),
				strings.Join(r.Apps, " "), r.Problem}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Repo, string, error) {
			l, err := apiclient.Decode[api.RepoList](client.ListRepos(ctx,
				&api.ListReposParams{Cursor: at.Cursor, Limit: at.Limit}))
			fit := slices.DeleteFunc(l.Items, func(r api.Repo) bool {
				return app != "" && !slices.Contains(r.Apps, app) || problems && r.Problem == ""
			})
			return fit, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List polled branches with their apps and last poll",
		Args:    cobra.NoArgs,
		Example: `  nuon repos list
  nuon repos list --problems`,
	})
	c.Flags().StringVar(&app, "app", "", "only branches that this app needs")
	c.Flags().BoolVar(&problems, "problems", false, "only branches that cannot be read")
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// ago describes how long ago a time was.
func ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return max(0, time.Since(at).Round(time.Second)).String() + " ago"
}

// lastPoll describes when a branch was last polled, and when it was last read if that
// is another time.
func lastPoll(r api.Repo) string {
	if r.PolledAt.Equal(r.CheckedAt) {
		return ago(r.PolledAt)
	}
	return ago(r.PolledAt) + ", last read: " + ago(r.CheckedAt)
}

// nextPoll describes when a branch is polled next, and why not at the usual interval.
func nextPoll(r api.Repo) string {
	wait := time.Until(r.NextPollAt).Round(time.Second)
	next := "in " + wait.String()
	switch {
	case r.NextPollAt.IsZero():
		return "none"
	case wait <= 0:
		next = "now"
	}
	switch {
	case r.Problem != "":
		return next + " (backing off: it cannot be read)"
	case r.Webhook != "":
		return next + " (reduced: webhook " + r.Webhook + " announces pushes)"
	}
	return next
}

// lastDelivery describes the last webhook delivery for a branch.
func lastDelivery(r api.Repo) string {
	d := r.LastDelivery
	if d == nil {
		return "none (see docs/git.md to set up a webhook)"
	}
	return strings.TrimRight(ago(d.At)+", "+d.Forge+" "+d.ID, " ")
}

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "get REPO",
		Short:             "Show a polled branch with its deliveries and newest commits",
		Args:              cobra.ExactArgs(1),
		Long:              repoHelp,
		Example:           `  nuon repos get https://git.example/acme/hello`,
		ValidArgsFunction: complete.Args(e, complete.Repos),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			id, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			r, err := apiclient.Decode[api.Repo](client.GetRepo(ctx, id))
			if err != nil {
				return err
			}
			return e.Console.Result(r, func(w io.Writer) error { return show(w, r) })
		}),
	}
}

func newLook(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "poll REPO", Short: "Poll a branch now", Args: cobra.ExactArgs(1),
		Long: `Poll a branch now, as a webhook delivery would, and return when it was read.

` + repoHelp,
		Example:           `  nuon repos poll https://git.example/acme/hello`,
		ValidArgsFunction: complete.Args(e, complete.Repos),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			id, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			r, err := apiclient.Decode[api.Repo](client.LookAtRepo(ctx, id))
			if err != nil {
				return err
			}
			if err := e.Console.Result(r,
				func(w io.Writer) error { return show(w, r) }); err != nil || r.Problem == "" {
				return err
			}
			return &exitcode.Error{Code: exitcode.Failed} // the output contains the reason
		}),
	}
}

const repoHelp = "REPO is the ID of a branch, or the URL of a repository with only one polled branch."

// find returns the id of a repository named by its id or URL.
func find(ctx context.Context, client *apiclient.Client, name string) (string, error) {
	if !strings.Contains(name, "://") {
		return name, nil
	}
	all, err := apiclient.ListAll(func(cursor string) ([]api.Repo, string, error) {
		l, err := apiclient.Decode[api.RepoList](client.ListRepos(ctx, &api.ListReposParams{Cursor: cursor, Limit: 500}))
		return l.Items, l.Next, err
	})
	if err != nil {
		return "", err
	}
	var ids, words []string
	for _, r := range all {
		if r.URL == name {
			ids, words = append(ids, r.ID), append(words, r.ID+" ("+r.Ref+")")
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("no polled branch of %s; list the polled branches with `nuon repos list`", name)
	case 1:
		return ids[0], nil
	}
	return "", exitcode.Usagef("%d branches of %s are polled; name one: %s", len(ids), name, strings.Join(words, ", "))
}

func show(w io.Writer, r api.Repo) error {
	_, err := fmt.Fprintf(w, "%s, %s (%s)\n  apps           %s\n  credential     %s\n  commit         %s\n",
		console.Line(r.URL), console.Line(r.Ref), r.ID,
		console.Line(cmp.Or(strings.Join(r.Apps, " "), "none")),
		console.Line(cmp.Or(r.Credential, "none")), cmp.Or(console.Short(r.Commit), "-"))
	if err == nil {
		_, err = fmt.Fprintf(w, "  last delivery  %s\n  last poll      %s\n  next poll      %s\n",
			console.Line(lastDelivery(r)), lastPoll(r), nextPoll(r))
	}
	if err == nil && r.Problem != "" {
		_, err = fmt.Fprintf(w, "  problem        %s\n", console.Line(r.Problem))
	}
	for _, v := range r.Revisions {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(w, "\n  %.12s  %s  %s\n",
			v.Commit, v.ObservedAt.Local().Format(time.DateTime), console.Line(v.Subject))
		for line := range strings.Lines(v.Outcome) {
			fmt.Fprintf(w, "    %s\n", console.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	return err
}
