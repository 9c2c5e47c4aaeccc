package installs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/releases"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newPin(e *cmdenv.Env) *cobra.Command {
	var reason string
	var s waitOptions
	c := &cobra.Command{
		Use: "pin INSTALL [RELEASE]", Short: "Pin an install to a release of the app", Args: cobra.RangeArgs(1, 2),
		Long: `Pin an install to a complete release of the app: it gets no new code and no new config until it is
unpinned.

Without RELEASE, the install is pinned to the applied release. What differs from the release is
planned and approved like any other update.`,
		Example:           "  nuon installs pin acme --reason 'freeze over the holidays'\n  nuon installs pin acme 7",
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.Releases),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			release := 0
			if len(args) == 2 {
				var err error
				if release, err = releases.Number(args[1]); err != nil {
					return err
				}
			} else {
				i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
				if err != nil {
					return err
				}
				if release = i.Release; release == 0 {
					return exitcode.Usagef("the components of %s are at different releases: name the release, such "+
						"as `nuon installs pin %s %d`", i.Name, address(i.App, i.Name), max(i.Latest, 1))
				}
			}
			return pinInstall(ctx, e, client, args[0], api.NewPin{Release: release, Reason: reason}, &s)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, shown to everyone who views the install")
	s.flags(c)
	return c
}

// pinInstall pins an install and prints the consequences.
func pinInstall(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, install string, p api.NewPin,
	s *waitOptions) error {
	i, err := apiclient.Decode[api.Install](client.PinInstall(ctx, install, p))
	if err != nil {
		return err
	}
	return s.end(ctx, e.Console, client, i, func(i api.Install) error {
		return e.Console.Result(i, func(w io.Writer) error { return showPinned(w, i) })
	})
}

// showPinned prints the release that an install is pinned to, the consequences, and the
// commands to run next.
func showPinned(w io.Writer, i api.Install) error {
	lines := []string{fmt.Sprintf("pinned %s/%s to release %s (the newest is %d)%s",
		i.App, i.Name, console.Release(i.Pinned, i.Commit), i.Latest, reasonSuffix(i.PinReason))}
	if i.Pinned == 0 {
		lines[0] = fmt.Sprintf("unpinned %s/%s: it follows the newest release, %s",
			i.App, i.Name, console.Release(i.Target, i.Commit))
	}
	lines = append(lines, fmt.Sprintf("  %s: %s", i.Status, i.Reason))
	if len(i.Behind) > 0 {
		lines = append(lines, "  behind: "+strings.Join(i.Behind, ", ")+"; review their plans with `nuon review`")
	}
	if i.Pinned > 0 {
		lines = append(lines, "  to follow the newest release again: `nuon installs unpin "+i.Name+"`")
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, console.Line(l)); err != nil {
			return err
		}
	}
	return nil
}

func newUnpin(e *cmdenv.Env) *cobra.Command {
	var s waitOptions
	c := &cobra.Command{
		Use: "unpin INSTALL", Short: "Unpin an install, so that it follows the newest release", Args: cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			i, err := apiclient.Decode[api.Install](client.UnpinInstall(ctx, args[0]))
			if err != nil {
				return err
			}
			return s.end(ctx, e.Console, client, i, func(i api.Install) error {
				return e.Console.Result(i, func(w io.Writer) error { return showPinned(w, i) })
			})
		}),
	}
	s.flags(c)
	return c
}

func newRollback(e *cmdenv.Env) *cobra.Command {
	var to, reason string
	var s waitOptions
	interactive := false
	c := &cobra.Command{
		Use:   "rollback [INSTALL]",
		Short: "Roll back an install to an earlier release and pin it there",
		Args:  cobra.MaximumNArgs(1),
		Long: `Roll back an install to an earlier release of the app and pin it there, until "nuon installs unpin".

Without --to, this is the last complete release before the current one. A rollback is an ordinary
update to the code and config of that release, with plans and approvals. It does not restore
Terraform states or data.

On a terminal, without INSTALL or with --interactive (-i), the command asks for the install, the release
and the reason.`,
		Example: "  nuon installs rollback acme --wait\n  nuon installs rollback acme --to 4 --reason 'release 5 " +
			"loses sessions'",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			args, err := askRollback(c.Context(), e, c, args, interactive)
			if err != nil {
				return err
			}
			return rollBack(c.Context(), e, args[0], to, reason, &s)
		},
	}
	interactiveFlag(c, &interactive, "ask for the release and the reason if no flag sets them")
	c.Flags().StringVar(&to, "to", "", "release to roll back to (default: the previous complete one)")
	c.Flags().StringVar(&reason, "reason", "", "reason, shown to everyone who views the install")
	s.flags(c)
	complete.Flag(e, c, "to", complete.Releases)
	return c
}

// rollBack pins an install to a release; to the previous one if to is empty.
func rollBack(ctx context.Context, e *cmdenv.Env, install, to, reason string, s *waitOptions) error {
	client, err := e.Client()
	if err != nil {
		return err
	}
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, install))
	if err != nil {
		return err
	}
	release := 0
	if to != "" {
		release, err = releases.Number(to)
	} else {
		release, err = previousRelease(ctx, client, i)
	}
	if err != nil {
		return err
	}
	if reason == "" {
		reason = fmt.Sprintf("rolled back from release %d", i.Target)
	}
	return pinInstall(ctx, e, client, i.ID, api.NewPin{Release: release, Reason: reason}, s)
}

// previousRelease returns the release to roll back to: the newest complete one older than the
// install's target.
func previousRelease(ctx context.Context, client *apiclient.Client, i api.Install) (int, error) {
	found := 0
	_, err := apiclient.ListAll(func(cursor string) ([]api.Release, string, error) {
		l, err := apiclient.Decode[api.ReleaseList](client.ListReleases(ctx, i.App, &api.ListReleasesParams{Cursor: cursor}))
		for _, r := range l.Items {
			if found == 0 && r.Number < i.Target && r.Status == api.ReleaseComplete {
				found = r.Number
			}
		}
		if found > 0 {
			l.Next = "" // older releases do not matter
		}
		return nil, l.Next, err
	})
	if err == nil && found == 0 {
		err = noEarlierRelease(i)
	}
	return found, err
}

// noEarlierRelease returns the error for an install that cannot be rolled back.
func noEarlierRelease(i api.Install) error {
	return exitcode.Usagef("%s has no complete release before %d; list its releases with `nuon releases list %s`",
		i.App, i.Target, i.App)
}
