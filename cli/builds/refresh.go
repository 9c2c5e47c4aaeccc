package builds

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newRefresh(e *cmdenv.Env) *cobra.Command {
	var request api.NewModuleRefresh
	var timeout time.Duration
	c := &cobra.Command{
		Use: "refresh APP [COMPONENT…]", Short: "Resolve the images and Terraform modules of components again",
		Args: cobra.MinimumNArgs(1),
		Long: `Resolves the container images of components, and the modules that Terraform components call from
registries, git and archives, again. A build keeps the versions of the build before it as long as source
and version are unchanged in the config or the code; this command takes the newest versions that
update_policy or the constraints allow, and the present content of tags and branches. What changes is
built, and is a new release with the same commit. The command waits until everything is resolved, and
does not wait for the builds.`,
		Example: `  nuon builds refresh hello --dry-run
  nuon builds refresh hello network -o json`,
		ValidArgsFunction: complete.Rest(e, complete.Apps, complete.Components),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := e.Client()
			if err != nil {
				return err
			}
			request.Components = args[1:]
			started, err := apiclient.Decode[api.ModuleRefresh](client.CreateModuleRefresh(c.Context(), args[0], request))
			if err != nil {
				return err
			}
			ended, err := awaitRefresh(c.Context(), e, client, started, timeout)
			if err != nil {
				return err
			}
			err = e.Console.Result(ended, func(out io.Writer) error { return showRefresh(e.Console, out, ended) })
			if err == nil && ended.Status == api.RefreshFailed {
				err = exitcode.With(exitcode.Failed, fmt.Errorf("nothing was changed: %s", ended.Error))
			}
			return err
		},
	}
	c.Flags().BoolVar(&request.DryRun, "dry-run", false, "show what would change, and change nothing")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Minute, "stop waiting after this long")
	return c
}

func newCancelRefresh(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "cancel-refresh APP REFRESH", Short: "Cancel a running refresh of modules", Args: cobra.ExactArgs(2),
		Long: `Cancels a refresh that "nuon builds refresh" started. The refresh fails once the build runner has stopped, and
changes nothing. "nuon builds refresh" prints the ID when it is interrupted.`,
		Example:           "  nuon builds cancel-refresh hello mrf_06gvn3e82qfnps3l02b9i1pa6k",
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			r, err := apiclient.Decode[api.ModuleRefresh](client.CancelModuleRefresh(ctx, args[0], args[1]))
			if err != nil {
				return err
			}
			return e.Console.Result(r, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "refresh %s of %s is being cancelled; it changes nothing\n", console.Line(r.ID),
					console.Line(r.App))
				return err
			})
		}),
	}
}

// awaitRefresh polls a refresh until it has ended.
func awaitRefresh(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, r api.ModuleRefresh,
	timeout time.Duration) (api.ModuleRefresh, error) {
	err := progress.Wait(ctx, e.Console, progress.Work{
		Poll: func(ctx context.Context) error {
			now, err := apiclient.Decode[api.ModuleRefresh](client.GetModuleRefresh(ctx, r.App, r.ID))
			if err == nil {
				r = now
			}
			return err
		},
		Ended:     func() bool { return r.Status != api.RefreshRunning },
		Lines:     func() []progress.Line { return refreshLines(r) },
		Timeout:   timeout,
		OnTimeout: fmt.Errorf("not resolved within %s; the refresh continues on the build runner", timeout),
		Continues: func() (string, []progress.Next) {
			return "the refresh continues on the build runner",
				[]progress.Next{{Command: "nuon releases list " + r.App, To: "see what it changes"},
					{Command: "nuon builds cancel-refresh " + r.App + " " + r.ID, To: "cancel it"}}
		},
	})
	return r, err
}

func refreshLines(r api.ModuleRefresh) []progress.Line {
	var out []progress.Line
	for _, c := range r.Components {
		mark := "✓"
		if c.Status == api.ComponentRefreshFailed {
			mark = "✗"
		}
		out = append(out, progress.Line{Mark: mark, Busy: c.Status == api.ComponentRefreshRunning,
			Text: fmt.Sprintf("%-16s %s  %s", c.Component, c.Status, c.Waits)})
	}
	return out
}

func showRefresh(c *console.Console, w io.Writer, r api.ModuleRefresh) error {
	var rows [][]string
	for _, component := range r.Components {
		for _, change := range component.Changes {
			rows = append(rows, []string{component.Component, change.Key, moduleText(change.Before),
				moduleText(change.After), component.Build})
		}
	}
	if len(rows) > 0 {
		if err := c.Table(w, []string{"COMPONENT", "OF", "BEFORE", "AFTER", "BUILD"}, rows); err != nil {
			return err
		}
	}
	var err error
	switch {
	case r.Status == api.RefreshFailed: // the error has the cause
	case len(rows) == 0:
		_, err = fmt.Fprintf(w,
			"nothing changed: the images and modules of %s are the newest that its config and code allow\n",
			console.Line(r.App))
	case r.DryRun:
		_, err = fmt.Fprintf(w, "nothing was changed; without --dry-run this is built and released\n")
	case r.Release > 0:
		_, err = fmt.Fprintf(w, "release %d has these changes, as soon as they are built\n", r.Release)
	}
	return err
}

// moduleText returns the version of a module with the digest of its content, which may change under
// the same version; "-" for none.
func moduleText(m api.ResolvedModule) string {
	switch {
	case m.Key == "":
		return "-"
	case m.Version != "":
		return m.Version + " " + console.Short(m.Tree)
	case m.Commit != "":
		return fmt.Sprintf("%.12s", m.Commit)
	}
	return console.Short(m.Tree)
}
