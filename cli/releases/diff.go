package releases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newDiff(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "diff APP FROM [TO]", Short: "Compare two releases", Args: cobra.RangeArgs(2, 3),
		Long: `Compare two releases: show what an install would get that goes from one to the other. That is, which
components are built from other inputs, which are deployed again, and what changes in the config.

Without TO, this is the newest release. FROM may be newer than TO, which shows what a rollback would do.
Code is compared by directories; "nuon diff app COMMIT COMMIT" lists the files.

The inputs and toggles of an install also decide what is deployed there, and are not part of a release.`,
		Example:           "  nuon releases diff hello 3\n  nuon releases diff hello 3 5 -o json",
		ValidArgsFunction: complete.Args(e, complete.Apps, complete.ReleasesOf, complete.ReleasesOf),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			from, err := Number(args[1])
			if err != nil {
				return err
			}
			to, err := releaseOf(ctx, client, args[0], args[2:])
			if err != nil {
				return err
			}
			d, err := apiclient.Decode[api.ReleaseDiff](client.DiffRelease(ctx, args[0], to,
				&api.DiffReleaseParams{From: from}))
			if err != nil {
				return err
			}
			return e.Console.Result(d, func(w io.Writer) error { return showDiff(w, e.Console, d) })
		}),
	}
}

// releaseOf returns the given number, or that of the app's newest release.
func releaseOf(ctx context.Context, client *apiclient.Client, app string, given []string) (int, error) {
	if len(given) > 0 {
		return Number(given[0])
	}
	a, err := apiclient.Decode[api.App](client.GetApp(ctx, app))
	if err == nil && a.Release.Number == 0 {
		err = exitcode.Usagef("%s has no release yet; see why with `nuon apps get %s`", a.Name, a.Name)
	}
	return a.Release.Number, err
}

// showDiff prints the components that change, and then the changes of config and code.
func showDiff(w io.Writer, c *console.Console, d api.ReleaseDiff) error {
	from, to := console.Release(d.From.Number, d.From.Commit), console.Release(d.To.Number, d.To.Commit)
	fmt.Fprintf(w, "from release %s to release %s\n", from, to)
	var rows [][]string
	for _, one := range d.Components {
		if one.Change != api.ReleaseDiffComponentChangeNone {
			rows = append(rows, []string{one.Name, effect(one), builds(one), console.Line(one.Problem)})
		}
	}
	if len(rows) > 0 {
		if err := c.Table(w, []string{"COMPONENT", "CHANGE", "BUILD", "PROBLEM"}, rows); err != nil {
			return err
		}
	}
	var report diff.Report
	if err := json.Unmarshal(d.Report, &report); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	if err := report.Validate(); err != nil {
		return fmt.Errorf("the report is inconsistent: %w", err)
	}
	o := terminal.Options{Color: c.Color}
	if c.OutIsTerminal {
		o.Width = c.Width
	}
	return terminal.Render(w, &report, o)
}

// effect describes the effect on a component of an install.
func effect(c api.ReleaseDiffComponent) string {
	switch {
	case c.Change == api.ReleaseDiffComponentChangeAdded:
		return "added"
	case c.Change == api.ReleaseDiffComponentChangeRemoved:
		return "removed"
	case c.Rebuilt && c.Redeployed:
		return "rebuilt, redeployed"
	case c.Rebuilt:
		return "rebuilt"
	case c.Redeployed:
		return "redeployed"
	}
	return "unchanged on installs"
}

func builds(c api.ReleaseDiffComponent) string {
	number := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	if c.FromBuild == c.ToBuild {
		return number(c.ToBuild)
	}
	return number(c.FromBuild) + " → " + number(c.ToBuild)
}
