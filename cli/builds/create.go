package builds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/components"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newCreate(e *cmdenv.Env) *cobra.Command {
	w := waitOptions{env: e}
	dry := false
	c := &cobra.Command{
		Use: "create APP [COMPONENT…]", Short: "Build the components of an app that have no build",
		Args: cobra.MinimumNArgs(1),
		Long: `Build the components of an app whose newest input has no successful build.

A component whose newest build failed is built again from the same input; a build that is already
running is listed. An input that was built is not built again. You rarely need this command: the
control plane builds what a push changes.`,
		Example: `  nuon builds create hello --wait
  nuon builds create hello web --dry-run`,
		ValidArgsFunction: complete.Rest(e, complete.Apps, complete.Components),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := e.Client()
			if err != nil {
				return err
			}
			chosen, err := selectComponents(c.Context(), client, args[0], args[1:])
			if err != nil {
				return err
			}
			return create(c.Context(), client, chosen, dry, &w)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be built, and build nothing")
	w.flags(c)
	return c
}

// selectComponents returns the components with these names, or all components of the app without names.
func selectComponents(ctx context.Context, client *apiclient.Client, app string,
	names []string) ([]api.Component, error) {
	l, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, app))
	if err != nil || len(names) == 0 {
		return l.Items, err
	}
	var chosen []api.Component
	for _, name := range names {
		k, err := components.Find(l.Items, app, name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, k)
	}
	return chosen, nil
}

// componentResult is the result for one component.
type componentResult struct {
	Component string     `json:"component"`
	Done      string     `json:"done"` // built, building, retried, would be retried, blocked
	Reason    string     `json:"reason,omitempty"`
	Build     *api.Build `json:"build,omitempty"`
}

func create(ctx context.Context, client *apiclient.Client, chosen []api.Component, dry bool, w *waitOptions) error {
	all, blocked := []componentResult{}, []string(nil)
	for _, k := range chosen {
		d, err := build(ctx, client, k, dry)
		if err != nil {
			return err
		}
		if all = append(all, d); d.Done == "blocked" {
			blocked = append(blocked, k.Name)
		}
	}
	failed := error(nil)
	if !dry {
		failed = w.waitForBuilds(ctx, client, all)
	}
	err := w.env.Console.Result(all, func(out io.Writer) error { return showDone(w.env.Console, out, all) })
	if err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if len(blocked) > 0 {
		return exitcode.With(exitcode.Failed, fmt.Errorf("cannot be built from what is in git: %s",
			strings.Join(blocked, ", ")))
	}
	return nil
}

// build retries the build of a component if it failed.
func build(ctx context.Context, client *apiclient.Client, k api.Component, dry bool) (componentResult, error) {
	d := componentResult{Component: k.Name, Reason: cmp.Or(k.Problem, k.Build.Error, k.Build.Waits)}
	if k.Build.ID != "" {
		d.Build = &k.Build
	}
	switch {
	case k.Problem != "" || k.Build.ID == "":
		d.Done, d.Reason = "blocked", cmp.Or(k.Problem,
			"its input is not known yet: the app's repository was not read")
	case k.Build.Status == api.BuildStatusSucceeded:
		d.Done = "built"
	case k.Build.Status != api.BuildStatusFailed:
		d.Done = "building"
	case dry:
		d.Done = "would be retried"
	default:
		b, err := apiclient.Decode[api.Build](client.RetryBuild(ctx, k.Build.ID))
		if err != nil {
			return d, err
		}
		d.Done, d.Reason, d.Build = "retried", b.Reason, &b
	}
	return d, nil
}

func showDone(c *console.Console, w io.Writer, all []componentResult) error {
	var rows [][]string
	for _, d := range all {
		number := "-"
		if d.Build != nil {
			number = fmt.Sprintf("%d %s", d.Build.Number, d.Build.Status)
		}
		rows = append(rows, []string{d.Component, d.Done, number, d.Reason})
	}
	return c.Table(w, []string{"COMPONENT", "RESULT", "BUILD", "REASON"}, rows)
}
