// Package status implements `nuon status`, which prints what waits for a person and why, then
// the state of each app's installs, then a line about the control plane. With --system it
// prints only the control plane, part by part. It reads a few lists and computes the rest; it
// changes nothing. The output as data has the same content as the output for people.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/watch"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// options are the flags of the command.
type options struct {
	app      string
	system   bool
	exitCode bool
	watch    bool
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "status", Short: "Show what needs attention, and the status of all installs", Args: cobra.NoArgs,
		Long: `Show what needs a person, each with the reason and the command to run next: waiting approvals, plans that a
policy denies, failures, rejected changes, deploys that are not progressing, offline runners, repositories
that cannot be read, failed builds. Then the installs of each app: their release, what is behind, their
health and their last workflow; installs in the same state share a row. Then the control plane in one line.

With --watch, a terminal also shows the steps of what runs.

The exit code is 0 if all of this could be read. With --exit-code it is as for "nuon sync --wait": 1 if
something failed, 4 if a change was rejected, 3 if only approvals are waiting.

--system shows the control plane itself, part by part: its replicas, database and registry, its running
work, and this org's runners. The exit code is then 1 if something is wrong, and 5 if the control plane is
unreachable.`,
		Example: "  nuon status\n  nuon status --app hello --watch\n  nuon status --exit-code -o json\n  nuon " +
			"status --system",
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, _ []string) error {
			// The command reports an unhealthy control plane instead of retrying until it recovers.
			ctx = apiclient.WithoutRetries(ctx)
			if !o.watch {
				return o.look(ctx, e.Console, client, nil)
			}
			var now running
			err := watch.Run(ctx, e.Console, func(ctx context.Context, onto *console.Console) error {
				return unreachableError(o.look(ctx, onto, client, &now))
			})
			now.continues(e.Console, o)
			return err
		}),
	}
	c.Flags().StringVar(&o.app, "app", "", "only this app and its installs")
	c.Flags().BoolVar(&o.system, "system", false, "show the parts of the control plane")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false,
		"exit with 1 if something failed, 3 if an approval is waiting, 4 if a change was rejected")
	watch.Flag(c, &o.watch)
	c.MarkFlagsMutuallyExclusive("system", "app")
	c.MarkFlagsMutuallyExclusive("system", "exit-code")
	c.MarkFlagsMutuallyExclusive("watch", "exit-code")
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// look reads the state and prints it once. With --watch, it reads the running workflows that a terminal shows into
// now.
func (o options) look(ctx context.Context, c *console.Console, client *apiclient.Client, now *running) error {
	if o.system {
		err := showSystem(ctx, c, client)
		if o.watch && exitcode.CodeOf(err) == exitcode.Failed && !isProblem(err) {
			return nil // the output contains the problem, which may be temporary
		}
		return err
	}
	at := time.Now()
	read, err := read(ctx, client, o.app)
	if err != nil {
		return err
	}
	if now != nil && c.OutIsTerminal {
		work, err := read.running(ctx, client)
		if err != nil {
			return err
		}
		*now = work
	}
	s := read.status(at)
	if err := c.Result(s, func(w io.Writer) error { return s.print(w, c, at, now) }); err != nil {
		return err
	}
	if o.exitCode {
		return s.verdict()
	}
	return nil
}

// unreachableError converts the error of an unavailable control plane, such as one without its
// database, into the error of an unreachable one: with --watch, the command waits for both.
func unreachableError(err error) error {
	var p *apiclient.Problem
	if errors.As(err, &p) && p.Status == http.StatusServiceUnavailable {
		return exitcode.With(exitcode.Unreachable, errors.New(p.Error()))
	}
	return err
}

// isProblem reports whether the control plane returned an error.
func isProblem(err error) bool {
	var p *apiclient.Problem
	return errors.As(err, &p)
}

// Status is the output of the command as data.
type Status struct {
	Waiting []ActionItem `json:"waiting"`
	Apps    []App        `json:"apps"`
	System  *System      `json:"system,omitempty"` // nil if the token is for one app
}

// System is the summary of the control plane.
type System struct {
	Version  string           `json:"version"`
	Replicas int              `json:"replicas"` // number of those seen recently
	Runners  api.RunnerCounts `json:"runners"`  // of this org
	Troubles []string         `json:"troubles"` // what is wrong and what to do, as printed by `nuon status --system`
}

// verdict returns the exit code for the action items: a failure takes precedence over
// a rejection, and that over a waiting approval.
func (s Status) verdict() error {
	failed, refused, asked := 0, 0, 0
	for _, m := range s.Waiting {
		switch m.Kind {
		case KindApproval, KindBlocked: // who waits for it waits for a person
			asked++
		case KindRejected:
			refused++
		case KindStalled, KindHealth, KindBuild, KindApp, KindSystem:
			failed++
		}
	}
	switch {
	case failed > 0:
		return exitcode.With(exitcode.Failed, errors.New(
			diff.Plural(failed, "failure", "failures")+"; list them with `nuon status`"))
	case refused > 0:
		return exitcode.With(exitcode.Rejected, fmt.Errorf("%s rejected", diff.Plural(refused, "update", "updates")))
	case asked > 0:
		return exitcode.With(exitcode.Waiting, errors.New("waiting for an approval; review it with `nuon review`"))
	}
	return nil
}
