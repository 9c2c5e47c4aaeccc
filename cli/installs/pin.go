package installs

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newPin(e *env.Env) *cobra.Command {
	var reason string
	var s settling
	c := &cobra.Command{
		Use: "pin INSTALL [VERSION]", Short: "Hold an install at one version of the app", Args: cobra.RangeArgs(1, 2),
		Long: `Holds an install at one version of the app: it does not follow the newest until it is unpinned. Without a VERSION it is
the one that is applied. What differs from that version is planned and asked for like any other update.`,
		Example:           "  nuon installs pin acme --reason 'freeze over the holidays'\n  nuon installs pin acme 7",
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.Versions),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			version := 0
			if len(args) == 2 {
				var err error
				if version, err = versionOf(args[1]); err != nil {
					return err
				}
			} else {
				i, err := remote.Get[api.Install](client.GetInstall(ctx, args[0]))
				if err != nil {
					return err
				}
				if version = i.Version; version == 0 {
					return exit.Usagef("%s is not at one version throughout: say at which to hold it, such as `nuon installs pin %s %d`", i.Name, i.Name, max(i.Latest, 1))
				}
			}
			return hold(ctx, e, client, args[0], api.NewPin{Version: version, Reason: reason}, &s)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why; shown to everybody who looks")
	s.flags(c)
	return c
}

// versionOf reads the number of an app version.
func versionOf(text string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "v"), 10, 32)
	if err != nil || n < 1 {
		return 0, exit.Usagef("%q is no version: versions are numbers from 1 up, as `nuon apps versions` lists them", text)
	}
	return int(n), nil
}

// hold pins an install and says what that means for it.
func hold(ctx context.Context, e *env.Env, client *remote.Client, install string, p api.NewPin, s *settling) error {
	i, err := remote.Get[api.Install](client.PinInstall(ctx, install, p))
	if err != nil {
		return err
	}
	return s.end(ctx, e.Console, client, i, func(i api.Install) error {
		return e.Console.Result(i, func(w io.Writer) error { return showHeld(w, i) })
	})
}

// showHeld prints what an install is held at, what follows from it, and what to type next.
func showHeld(w io.Writer, i api.Install) error {
	lines := []string{fmt.Sprintf("%s/%s is held at version %d (the newest is %d)%s", i.App, i.Name, i.Pinned, i.Latest, because(i.PinReason))}
	if i.Pinned == 0 {
		lines[0] = fmt.Sprintf("%s/%s follows the newest version (%d)", i.App, i.Name, i.Latest)
	}
	lines = append(lines, fmt.Sprintf("  %s: %s", i.Status, i.Reason))
	if len(i.Behind) > 0 {
		lines = append(lines, "  behind: "+strings.Join(i.Behind, ", ")+"; `nuon review` shows their plans")
	}
	if i.Pinned > 0 {
		lines = append(lines, "  `nuon installs unpin "+i.Name+"` has it follow the newest again")
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, console.Line(l)); err != nil {
			return err
		}
	}
	return nil
}

func newUnpin(e *env.Env) *cobra.Command {
	var s settling
	c := &cobra.Command{
		Use: "unpin INSTALL", Short: "Have an install follow the newest version again", Args: cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			i, err := remote.Get[api.Install](client.UnpinInstall(ctx, args[0]))
			if err != nil {
				return err
			}
			return s.end(ctx, e.Console, client, i, func(i api.Install) error {
				return e.Console.Result(i, func(w io.Writer) error { return showHeld(w, i) })
			})
		}),
	}
	s.flags(c)
	return c
}

func newRollback(e *env.Env) *cobra.Command {
	var to, reason string
	var s settling
	c := &cobra.Command{
		Use: "rollback INSTALL", Short: "Go back to an earlier version of the app, by ordinary plans, and stay there", Args: cobra.ExactArgs(1),
		Long: `Holds an install at an earlier version of the app: the one before that which is applied or, where an update got stuck half
way, the last that was applied throughout. It is an ordinary update to what that version was, with plans and approvals,
and not a return of states or data. The install stays there until ` + "`nuon installs unpin`" + `.`,
		Example:           "  nuon installs rollback acme --wait\n  nuon installs rollback acme --to 4 --reason 'version 5 loses sessions'",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			i, err := remote.Get[api.Install](client.GetInstall(ctx, args[0]))
			if err != nil {
				return err
			}
			version := 0
			if to != "" {
				version, err = versionOf(to)
			} else {
				version, err = before(ctx, client, i)
			}
			if err != nil {
				return err
			}
			if reason == "" {
				reason = fmt.Sprintf("rolled back from version %d", target(i))
			}
			return hold(ctx, e, client, i.ID, api.NewPin{Version: version, Reason: reason}, &s)
		}),
	}
	c.Flags().StringVar(&to, "to", "", "version to go back to (default: the one before)")
	c.Flags().StringVar(&reason, "reason", "", "why; shown to everybody who looks")
	s.flags(c)
	complete.Flag(e, c, "to", complete.Versions)
	return c
}

// target is the version that an install is to be at.
func target(i api.Install) int {
	if i.Pinned > 0 {
		return i.Pinned
	}
	return i.Latest
}

// before is the version to roll back to: the one before the applied one or, when an update is under way or got stuck, the newest
// below its target that a workflow has finished with.
func before(ctx context.Context, client *remote.Client, i api.Install) (int, error) {
	if i.Version > 1 {
		return i.Version - 1, nil
	}
	if i.Version == 1 {
		return 0, exit.Usagef("%s is at version 1: there is none before it", i.Name)
	}
	found := 0
	_, err := remote.All(func(cursor string) ([]api.Workflow, string, error) {
		l, err := remote.Get[api.WorkflowList](client.ListWorkflows(ctx, &api.ListWorkflowsParams{Install: i.ID, Status: string(api.WorkflowStatusSucceeded), Cursor: cursor}))
		for _, w := range l.Items {
			if found == 0 && finished(w) && w.Version < target(i) {
				found = w.Version
			}
		}
		if found > 0 {
			l.Next = "" // what is older does not matter
		}
		return nil, l.Next, err
	})
	if err == nil && found == 0 {
		err = exit.Usagef("%[1]s was at no version before: `nuon installs history %[1]s` shows what happened; say which with --to", i.Name)
	}
	return found, err
}

// finished says that a workflow brought its install to a version.
func finished(w api.Workflow) bool {
	return w.Version > 0 && !w.PlanOnly && (w.Kind == api.WorkflowKindDeploy || w.Kind == api.WorkflowKindProvision)
}
