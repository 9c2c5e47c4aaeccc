// Package builds is `nuon builds`: what was made from the components of an app.
package builds

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command with its verbs.
func New(e *env.Env) *cobra.Command {
	c := &cobra.Command{Use: "builds", Short: "The builds of an app's components"}
	c.AddCommand(newList(e), newGet(e), newRetry(e))
	return c
}

func newList(e *env.Env) *cobra.Command {
	var p api.ListBuildsParams
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List builds, the newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if p.Limit < 1 {
				return exit.Usagef("--limit %d: use a number from 1 up", p.Limit)
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			l, err := remote.Get[api.BuildList](client.ListBuilds(c.Context(), &p))
			if err != nil {
				return err
			}
			var rows [][]string
			for _, b := range l.Items {
				rows = append(rows, []string{b.ID, b.Component, fmt.Sprint(b.Number), string(b.Status), console.Short(b.ArtifactDigest), why(b)})
			}
			return e.Console.List(l.Items, []string{"ID", "COMPONENT", "BUILD", "STATUS", "ARTIFACT", "WHY"}, rows)
		},
	}
	c.Flags().StringVar(&p.App, "app", "", "app whose builds to list")
	c.Flags().StringVar(&p.Component, "component", "", "only this component")
	c.Flags().IntVar(&p.Limit, "limit", 20, "most builds to list")
	_ = c.MarkFlagRequired("app") // fails only for a flag that is not there
	return c
}

func why(b api.Build) string {
	switch {
	case b.Error != "":
		return b.Error
	case b.Waits != "":
		return b.Waits
	}
	return b.Reason
}

func newGet(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get BUILD", Short: "Show one build", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			b, err := remote.Get[api.Build](client.GetBuild(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(b, func(w io.Writer) error { return show(w, b) })
		}),
	}
}

func show(w io.Writer, b api.Build) error {
	_, err := fmt.Fprintf(w, "build %d of %s (%s): %s\n  %s\n  input     %s\n  artifact  %s\n  source    %s at %.12s\n",
		b.Number, b.Component, b.ID, b.Status, console.Line(why(b)), b.InputDigest, b.ArtifactDigest, b.Repository, b.Commit)
	if err == nil && b.Job != "" {
		_, err = fmt.Fprintf(w, "  log       nuon logs %s\n", b.ID)
	}
	return err
}

func newRetry(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "retry BUILD", Short: "Build the same input again after a failure", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			b, err := remote.Get[api.Build](client.RetryBuild(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(b, func(w io.Writer) error { return show(w, b) })
		}),
	}
}
