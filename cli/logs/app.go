package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// appOptions are the flags of `nuon logs app` besides those of all these commands.
type appOptions struct {
	*options
	container, reason string
	previous          bool
	limit             time.Duration
}

// newApp returns the command `nuon logs app`. Its flags mean the same as those of the other commands; the runner
// applies them, not this program, except --level.
func newApp(o *options) *cobra.Command {
	a := &appOptions{options: o}
	c := &cobra.Command{
		Use:   "app INSTALL COMPONENT",
		Short: "Print or follow the logs of a component's own pods",
		Long: `Print or follow the logs of the pods that a chart or manifests of an install have made.

The install's runner reads the lines in the customer's cluster, masks the secrets that it knows, removes control
sequences, and sends at most 8 MiB. The runner's owner must allow it (logs = true in [debug] of the runner file), and
both sides record who asked, when and why: pass the reason with --reason.

-f follows the logs, also of pods that start later, until --for is over or Ctrl-C. A lost connection to the control
plane does not end it.`,
		Example: `  nuon logs app acme web --reason "checkout fails since 14:00"
  nuon logs app acme web --container api --previous --reason "why it crashed"
  nuon logs app acme web --since 10m -f --for 30m --reason "watch the rollout"`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: complete.Args(o.env, complete.Installs, complete.InstallComponents),
		RunE:              func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], args[1]) },
	}
	f := c.Flags()
	f.StringVar(&a.reason, "reason", "", "why you look at these logs; it is recorded on both sides (required)")
	f.StringVar(&a.container, "container", "", "only the container of this name")
	f.BoolVar(&a.previous, "previous", false, "the logs of the previous run of each container")
	f.DurationVar(&a.limit, "for", 0, "how long the request may take, up to 1h (10m if not set)")
	_ = c.MarkFlagRequired("reason")
	return c
}

// run makes the request and prints its lines until it ends.
func (a *appOptions) run(ctx context.Context, install, component string) error {
	request, filter, err := a.request(component)
	if err != nil {
		return err
	}
	client, err := a.env.Client()
	if err != nil {
		return err
	}
	job, err := apiclient.Decode[api.Job](client.CreateLogRequest(ctx, install, request))
	if err != nil {
		return err
	}
	p := &printer{console: a.env.Console, filter: filter, dates: a.dates}
	return FollowRequest(ctx, client, job, func(l api.LogLine) error {
		return p.print(p.filter.apply([]line{{T: l.T, L: string(l.L), M: l.M, Job: job.ID}})...)
	})
}

// request returns the request for the flags, and the lines of it to print.
func (a *appOptions) request(component string) (api.NewLogRequest, lineFilter, error) {
	made := api.NewLogRequest{Component: component, Container: a.container, Reason: a.reason, Follow: a.follow,
		Previous: a.previous}
	if a.env.Console.Output == "name" {
		return made, lineFilter{}, errName
	}
	filter, err := a.lineFilter()
	if err != nil {
		return made, filter, err
	}
	if a.level == "" {
		filter.level = slices.Index(api.LogLevels, string(api.Info)) // below that, the runner describes what it does
	}
	if !filter.since.IsZero() {
		made.SinceSeconds = int(max(1, time.Since(filter.since).Round(time.Second)/time.Second))
		filter.since = time.Time{} // the runner applies it; the times of these lines are those of their arrival
	}
	switch {
	case a.tail == 0 || a.tail > maxTail:
		return made, filter, exitcode.Usagef("--tail %d: use a number from 1 to %d", a.tail, maxTail)
	case a.tail > 0:
		made.Tail = a.tail
	}
	if a.limit != 0 && (a.limit < time.Second || a.limit > time.Hour) {
		return made, filter, exitcode.Usagef("--for %v: use a duration from 1s to 1h", a.limit)
	}
	made.TimeoutSeconds = int(a.limit / time.Second)
	return made, filter, nil
}

// maxTail is the largest number of last lines of a container.
const maxTail = 10_000

// FollowRequest passes on the lines of a job that a person requested until it ends, and returns why it failed. When
// ctx ends before, it cancels the job.
func FollowRequest(ctx context.Context, client *apiclient.Client, job api.Job, print func(api.LogLine) error) error {
	err := source{job: job.ID}.followChunks(ctx, client, "", func(chunk api.LogChunk) error {
		for _, l := range chunk.Lines {
			if err := print(l); err != nil {
				return err
			}
		}
		return nil
	})
	after, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if err != nil {
		if _, cancelErr := apiclient.Decode[api.Job](client.CancelJob(after, job.ID)); cancelErr != nil {
			err = errors.Join(err, fmt.Errorf("the request could not be cancelled: %w", cancelErr))
		}
		if ctx.Err() != nil {
			return exitcode.Interrupted
		}
		return err
	}
	ended, err := apiclient.Decode[api.Job](client.GetJob(after, job.ID))
	if err != nil {
		return err
	}
	if ended.Status != api.JobStatusSucceeded {
		return errors.New(console.Line(ended.Error))
	}
	return nil
}

// cancelTime bounds the requests after the log of a request has ended.
const cancelTime = 10 * time.Second
