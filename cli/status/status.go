// Package status is `nuon status`: what waits for a person and why, then how each app's installs stand, then the control plane
// itself in a line; with --system that alone, part by part. It reads a handful of lists and works the rest out from them; it changes
// nothing. What it prints as data is what it prints for people.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/watch"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// options are the command's flags.
type options struct {
	app      string
	system   bool
	exitCode bool
	watch    bool
}

// New is the command.
func New(e *env.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "status", Short: "Show what waits for you and why, and how all installs stand", Args: cobra.NoArgs,
		Long: `Shows what waits for a person, each with the reason and the command to type next: plans that wait for a yes, what failed, what
somebody said no to, what does not get on, runners that are away, repositories that cannot be read, builds that failed. Then the
installs of each app: their version, what is behind, their health and what was done last; equal ones together. Then the control plane
in a line.

It ends with 0 when all of that could be read, whatever it says. With --exit-code it ends as ` + "`nuon sync --wait`" + ` does: 1 when something
failed or is broken, 4 when somebody said no, 3 when only plans wait for an approval.

With --system it shows the control plane itself, part by part: its replicas, database and registry, the work that it has in hand, and
this org's runners. That ends with 1 when something is wrong, and with 5 when the control plane does not answer.`,
		Example: "  nuon status\n  nuon status --app hello --watch\n  nuon status --exit-code -o json\n  nuon status --system",
		RunE: e.Call(func(ctx context.Context, client *remote.Client, _ []string) error {
			// Of a control plane that is not well it is no use to wait until it is.
			ctx = remote.AtOnce(ctx)
			look := func(ctx context.Context, onto *console.Console) error { return o.look(ctx, onto, client) }
			if o.watch {
				return watch.Run(ctx, e.Console, func(ctx context.Context, onto *console.Console) error { return absence(look(ctx, onto)) })
			}
			return look(ctx, e.Console)
		}),
	}
	c.Flags().StringVar(&o.app, "app", "", "only this app, its installs and what waits at them")
	c.Flags().BoolVar(&o.system, "system", false, "show the control plane itself, part by part")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with 1, 3 or 4 when something failed, waits, or was refused")
	watch.Flag(c, &o.watch)
	c.MarkFlagsMutuallyExclusive("system", "app")
	c.MarkFlagsMutuallyExclusive("system", "exit-code")
	c.MarkFlagsMutuallyExclusive("watch", "exit-code")
	complete.Flag(e, c, "app", complete.Apps)
	return c
}

// look reads how things stand and prints it, once.
func (o options) look(ctx context.Context, c *console.Console, client *remote.Client) error {
	if o.system {
		err := showSystem(ctx, c, client)
		if o.watch && exit.CodeOf(err) == exit.Failed && !isProblem(err) {
			return nil // what is wrong is in the picture, and may mend
		}
		return err
	}
	seen, err := read(ctx, client, o.app)
	if err != nil {
		return err
	}
	now := time.Now()
	s := seen.status(now)
	if err := c.Result(s, func(w io.Writer) error { return s.print(w, c, now) }); err != nil {
		return err
	}
	if o.exitCode {
		return s.verdict()
	}
	return nil
}

// absence makes a control plane that can do nothing now, such as without its database, one that is away: who watches waits for both.
func absence(err error) error {
	var p *remote.Problem
	if errors.As(err, &p) && p.Status == http.StatusServiceUnavailable {
		return exit.With(exit.Unreachable, errors.New(p.Error()))
	}
	return err
}

// isProblem says that the control plane refused.
func isProblem(err error) bool {
	var p *remote.Problem
	return errors.As(err, &p)
}

// Status is what the command prints as data.
type Status struct {
	Waiting []Matter `json:"waiting"`
	Apps    []App    `json:"apps"`
	System  *System  `json:"system,omitempty"` // nil when the token is for one app alone
}

// System is the control plane in a line.
type System struct {
	Version  string           `json:"version"`
	Replicas int              `json:"replicas"` // that were heard of lately
	Runners  api.RunnerCounts `json:"runners"`  // of this org
	Troubles []string         `json:"troubles"` // what is wrong and what to do, as `nuon status --system` says it
}

// verdict is the exit code for what waits: what failed counts most, then a no, then a question.
func (s Status) verdict() error {
	failed, refused, asked := 0, 0, 0
	for _, m := range s.Waiting {
		switch m.Kind {
		case KindApproval:
			asked++
		case KindRefused:
			refused++
		case KindStalled, KindHealth, KindBuild, KindApp, KindSystem:
			failed++
		}
	}
	switch {
	case failed > 0:
		return exit.With(exit.Failed, errors.New(diff.Plural(failed, "thing failed or is broken", "things failed or are broken")+": `nuon status` shows what and why"))
	case refused > 0:
		return exit.With(exit.Rejected, fmt.Errorf("somebody said no to %s", diff.Plural(refused, "update", "updates")))
	case asked > 0:
		return exit.With(exit.Waiting, errors.New("waits for an approval: `nuon review` shows it"))
	}
	return nil
}
