// Package repos is `nuon repos`: the git branches that the control plane watches.
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

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "repos", Short: "The git branches that are watched"}
	c.AddCommand(newList(e), newGet(e), newLook(e))
	return c
}

func newList(e *env.Env) *cobra.Command {
	var app string
	var problems bool
	l := &listing.List[api.Repo]{
		Header: []string{"ID", "REPOSITORY", "REF", "COMMIT", "LOOKED", "APPS", "PROBLEM"},
		Row: func(r api.Repo) []string {
			return []string{r.ID, r.URL, r.Ref, console.Short(r.Commit), looked(r), strings.Join(r.Apps, " "), r.Problem}
		},
		Page: func(ctx context.Context, client *remote.Client, at listing.Page) ([]api.Repo, string, error) {
			l, err := remote.Get[api.RepoList](client.ListRepos(ctx, &api.ListReposParams{Cursor: at.Cursor, Limit: at.Limit}))
			fit := slices.DeleteFunc(l.Items, func(r api.Repo) bool {
				return app != "" && !slices.Contains(r.Apps, app) || problems && r.Problem == ""
			})
			return fit, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the branches, what they are for, and when they were looked at", Args: cobra.NoArgs,
		Example: `  nuon repos list
  nuon repos list --problems`,
	})
	c.Flags().StringVar(&app, "app", "", "only those that this app needs")
	c.Flags().BoolVar(&problems, "problems", false, "only those that cannot be read")
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// looked is when a branch was last looked at.
func looked(r api.Repo) string {
	if r.CheckedAt.IsZero() {
		return "never"
	}
	return time.Since(r.CheckedAt).Round(time.Second).String() + " ago"
}

func newGet(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get REPO", Short: "Show one branch with its newest commits and what came of them", Args: cobra.ExactArgs(1),
		Long:              whichRepo,
		Example:           `  nuon repos get https://git.example/acme/hello`,
		ValidArgsFunction: complete.Args(e, complete.Repos),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			id, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			r, err := remote.Get[api.Repo](client.GetRepo(ctx, id))
			if err != nil {
				return err
			}
			return e.Console.Result(r, func(w io.Writer) error { return show(w, r) })
		}),
	}
}

func newLook(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "look REPO", Short: "Look at one branch now", Args: cobra.ExactArgs(1),
		Long:              "Looks at the branch now, as a webhook would make the control plane do, and returns when it was looked at.\n\n" + whichRepo,
		Example:           `  nuon repos look https://git.example/acme/hello`,
		ValidArgsFunction: complete.Args(e, complete.Repos),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			id, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			r, err := remote.Get[api.Repo](client.LookAtRepo(ctx, id))
			if err != nil {
				return err
			}
			if err := e.Console.Result(r, func(w io.Writer) error { return show(w, r) }); err != nil || r.Problem == "" {
				return err
			}
			return &exit.Error{Code: exit.Failed} // what is shown says it
		}),
	}
}

const whichRepo = "A branch is named by its id, or by the repository's URL when one branch of it alone is watched."

// find gives the id of what is named by an id or a URL.
func find(ctx context.Context, client *remote.Client, name string) (string, error) {
	if !strings.Contains(name, "://") {
		return name, nil
	}
	all, err := remote.All(func(cursor string) ([]api.Repo, string, error) {
		l, err := remote.Get[api.RepoList](client.ListRepos(ctx, &api.ListReposParams{Cursor: cursor, Limit: 500}))
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
		return "", fmt.Errorf("no branch of %s is watched: `nuon repos list` shows those that are", name)
	case 1:
		return ids[0], nil
	}
	return "", exit.Usagef("%d branches of %s are watched; say which: %s", len(ids), name, strings.Join(words, ", "))
}

func show(w io.Writer, r api.Repo) error {
	_, err := fmt.Fprintf(w, "%s, %s (%s)\n  apps        %s\n  credential  %s\n  commit      %s\n  looked      %s\n", console.Line(r.URL), console.Line(r.Ref), r.ID,
		console.Line(cmp.Or(strings.Join(r.Apps, " "), "none")), console.Line(cmp.Or(r.Credential, "none")), cmp.Or(console.Short(r.Commit), "-"), looked(r))
	if err == nil && r.Problem != "" {
		_, err = fmt.Fprintf(w, "  problem     %s\n", console.Line(r.Problem))
	}
	for _, v := range r.Revisions {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(w, "\n  %.12s  %s  %s\n", v.Commit, v.ObservedAt.Local().Format(time.DateTime), console.Line(v.Subject))
		for line := range strings.Lines(v.Outcome) {
			fmt.Fprintf(w, "    %s\n", console.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	return err
}
