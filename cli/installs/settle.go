package installs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// waitOptions holds the --wait and --timeout flags of the commands that change an install.
type waitOptions struct {
	wait    bool
	timeout time.Duration // 0 waits for ever
}

func (s *waitOptions) flags(c *cobra.Command) {
	c.Flags().BoolVar(&s.wait, "wait", false, "wait until the install is up to date or needs a person")
	c.Flags().DurationVar(&s.timeout, "timeout", 30*time.Minute, "with --wait: maximum time to wait")
}

// waitUntilSettled returns the implementation of --wait for a request that has no workflow yet;
// see workflows.RequestCommand.
func waitUntilSettled(c *console.Console) func(context.Context, *apiclient.Client, string, time.Duration) (
	now api.Install, stands, err error) {
	return func(ctx context.Context, client *apiclient.Client, install string,
		timeout time.Duration) (api.Install, error, error) {
		s := waitOptions{wait: true, timeout: timeout}
		all, err := s.settle(ctx, c, client, []string{install})
		if err != nil {
			return api.Install{}, nil, err
		}
		return all[0], exitError(all), nil
	}
}

// settle waits until none of the installs (by id) can progress without a person, and
// returns their state.
func (s *waitOptions) settle(ctx context.Context, c *console.Console, client *apiclient.Client,
	ids []string) ([]api.Install, error) {
	var last []api.Install
	err := progress.Wait(ctx, c, progress.Work{
		Poll: func(ctx context.Context) error {
			now, err := getInstalls(ctx, client, ids)
			if err == nil {
				last = now
			}
			return err
		},
		Ended:   func() bool { return allSettled(last) },
		Lines:   func() []progress.Line { return progressOf(last) },
		Timeout: s.timeout,
		OnTimeout: exitcode.With(exitcode.Failed,
			fmt.Errorf("not done within %s; the work continues, check it with `nuon installs list`", s.timeout)),
		Continues: func() (string, []progress.Next) { return continues(last), followable(last) },
	})
	return last, err
}

// continues describes the installs that still change when the command stops waiting.
func continues(all []api.Install) string {
	var busy []string
	for _, i := range all {
		if !Settles(string(i.Status), i.Blocked) {
			busy = append(busy, fmt.Sprintf("%s/%s is %s (%s)", i.App, i.Name, i.Status, i.Reason))
		}
	}
	if len(busy) == 0 {
		return "the work continues"
	}
	return strings.Join(busy, "; ") + ", and continues"
}

// followable returns the commands that follow or cancel the work that continues on installs.
func followable(all []api.Install) []progress.Next {
	if len(all) != 1 {
		return []progress.Next{{Command: "nuon installs list --watch", To: "follow it"},
			{Command: "nuon workflows list --status running", To: "find what to cancel"}}
	}
	name := "latest:" + address(all[0].App, all[0].Name)
	return []progress.Next{{Command: "nuon workflows watch " + name, To: "wait again"},
		{Command: "nuon workflows cancel " + name, To: "cancel it"}}
}

func getInstalls(ctx context.Context, client *apiclient.Client, ids []string) ([]api.Install, error) {
	now := make([]api.Install, 0, len(ids))
	for _, id := range ids {
		i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, id))
		if err != nil {
			return now, err
		}
		now = append(now, i)
	}
	return now, nil
}

func allSettled(all []api.Install) bool {
	for _, i := range all {
		if !Settles(string(i.Status), i.Blocked) {
			return false
		}
	}
	return true
}

// Settles reports whether an install with this status cannot progress without a person
// or another release. Blocked is the control plane's flag for an install that waits
// for one of those.
func Settles(status string, blocked bool) bool {
	if blocked {
		return true
	}
	switch api.InstallStatus(status) {
	case api.InstallStatusCurrent, api.InstallStatusWaitingForApproval, api.InstallStatusRejected,
		api.InstallStatusStalled, api.InstallStatusDeprovisioned:
		return true
	}
	return false
}

func progressOf(all []api.Install) []progress.Line {
	lines := make([]progress.Line, 0, len(all))
	for _, i := range all {
		line := progress.Line{Mark: "·", Busy: !Settles(string(i.Status), i.Blocked),
			Text: fmt.Sprintf("%s/%s: %s: %s", i.App, i.Name, i.Status, i.Reason)}
		switch {
		case i.Status == api.InstallStatusCurrent:
			line.Mark = "✓"
		case i.Blocked, i.Status == api.InstallStatusStalled, i.Status == api.InstallStatusRejected:
			line.Mark = "✗"
		case i.Status == api.InstallStatusWaitingForApproval:
			line.Mark = "?"
		}
		lines = append(lines, line)
	}
	return lines
}

// BlockedError returns the error for an install that is blocked: what is missing and what
// to do about it.
func BlockedError(install, reason string) error {
	return exitcode.With(exitcode.Failed, fmt.Errorf("%s is blocked: %s (for the causes, run `nuon explain install "+
		"%[1]s`)", install, strings.TrimRight(reason, ".")))
}

// exitError returns the exit code for the state of the installs after waiting.
func exitError(all []api.Install) error {
	var waiting, refused []string
	for _, i := range all {
		name := address(i.App, i.Name)
		switch {
		case i.Status == api.InstallStatusStalled:
			return exitcode.With(exitcode.Failed, fmt.Errorf("%s: %s", name, i.Reason))
		case i.Blocked:
			return BlockedError(name, i.Reason)
		case i.Status == api.InstallStatusRejected:
			refused = append(refused, name)
		case i.Status == api.InstallStatusWaitingForApproval:
			waiting = append(waiting, name)
		}
	}
	switch {
	case len(refused) > 0:
		return exitcode.With(exitcode.Rejected, fmt.Errorf("a change was rejected on %s; see who and why with "+
			"`nuon installs get %s`",
			strings.Join(refused, ", "), refused[0]))
	case len(waiting) > 0:
		return exitcode.With(exitcode.Waiting,
			fmt.Errorf("%s: waiting for an approval; review it with `nuon review`", strings.Join(waiting, ", ")))
	}
	return nil
}

// address returns the name of an install for commands and messages. It includes the
// app, because another app may have an install of the same name.
func address(app, install string) string { return app + "/" + install }

// end waits for the changed install if --wait is set, and prints it.
func (s *waitOptions) end(ctx context.Context, c *console.Console, client *apiclient.Client, i api.Install,
	people func(api.Install) error) error {
	if s.wait {
		now, err := s.settle(ctx, c, client, []string{i.ID})
		if err != nil {
			return err
		}
		i = now[0]
	}
	if err := people(i); err != nil {
		return err
	}
	if s.wait {
		return exitError([]api.Install{i})
	}
	return nil
}
