// Package logs implements `nuon logs`, which prints and follows the logs of builds,
// workflow steps, action runs and runners. It finds the jobs for a name and reads
// their lines from the control plane; it never starts anything.
package logs

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

const long = `Prints what was said: by the id of a build, workflow, step, job or runner alone, or by what it is and its name.

The steps of a workflow are one log, in the order of time; each line begins with its step. -f goes on: until the job has
ended, until the workflow has ended with all its steps, and for a runner until Ctrl-C. A line that a connection broke
off is not lost, and none comes twice.

With -o json each line is an object with t (time), l (level), m (message), and of (what it is of) and job where there are
several.`

const examples = `  nuon logs build hello/web
  nuon logs latest:acme -f
  nuon logs workflow latest:acme --step web --level warn
  nuon logs action acme smoke_test --tail 20
  nuon logs runner build --since 10m -f`

// New returns the command, with a subcommand for each kind of object that has a log.
func New(e *cmdenv.Env) *cobra.Command {
	o := &options{env: e}
	c := o.command(&cobra.Command{
		Use:     "logs JOB|BUILD|WORKFLOW|STEP|latest:INSTALL",
		Short:   "Print or follow the log of a build, a workflow or step, an action or a runner",
		Long:    long,
		Example: examples, Args: cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Logs),
	}, func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
		return named(ctx, client, args[0])
	})
	f := c.PersistentFlags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what comes")
	f.StringVar(&o.since, "since", "",
		"only lines since then: for how long, like 10m, or a `time` like 2006-01-02T15:04:05Z")
	f.StringVar(&o.level, "level", "", "only lines of this level and those above it: "+strings.Join(levels, ", "))
	f.IntVar(&o.tail, "tail", -1, "only so many of the lines that are there already, the last ones; -1 for all")
	f.BoolVar(&o.dates, "timestamps", false, "each line's time with its date and zone")
	complete.FlagWords(c, "level", levels...)
	var step string
	workflow := o.command(&cobra.Command{
		Use:               "workflow WORKFLOW|latest:INSTALL",
		Short:             "Print or follow the log of a workflow's steps",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon logs workflow latest:acme --step web -f",
		ValidArgsFunction: complete.Args(e, complete.Workflows),
	}, func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
		return workflowNamed(ctx, client, args[0], step)
	})
	workflow.Flags().StringVar(&step, "step", "",
		"only this step: its id, or the name of its component or action (also \"apply web\")")
	complete.Flag(e, workflow, "step", complete.Steps)
	c.AddCommand(workflow,
		o.command(&cobra.Command{
			Use:     "build BUILD|APP/COMPONENT",
			Short:   "Print or follow the log of a build, or of a component's newest one",
			Args:    cobra.ExactArgs(1),
			Example: "  nuon logs build hello/web -f", ValidArgsFunction: complete.Args(e, complete.Builds),
		}, one(buildNamed)),
		o.command(&cobra.Command{
			Use:               "step STEP",
			Short:             "Print or follow the log of one step, by its id",
			Args:              cobra.ExactArgs(1),
			ValidArgsFunction: complete.Nothing,
			Example:           "  nuon logs step stp_01h8xqz5m2",
		}, one(stepNamed)),
		o.command(&cobra.Command{
			Use:               "action INSTALL ACTION",
			Short:             "Print or follow the log of an action's newest run",
			Args:              cobra.ExactArgs(2),
			Example:           "  nuon logs action acme smoke_test",
			ValidArgsFunction: complete.Args(e, complete.Installs, complete.Actions),
		}, func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
			return newestRun(ctx, client, args[0], args[1])
		}),
		o.command(&cobra.Command{
			Use:     "runner RUNNER",
			Short:   "Print or follow what a runner says of itself (not its jobs)",
			Args:    cobra.ExactArgs(1),
			Example: "  nuon logs runner build -f", ValidArgsFunction: complete.Args(e, complete.Runners),
		}, one(runnerNamed)),
		o.command(&cobra.Command{
			Use:               "job JOB",
			Short:             "Print or follow the log of a job, by its id",
			Args:              cobra.ExactArgs(1),
			ValidArgsFunction: complete.Nothing,
			Example:           "  nuon logs job job_01h8xqz5m2",
		}, one(jobNamed)))
	return c
}

// options are the flags of all these commands.
type options struct {
	env    *cmdenv.Env
	follow bool
	since  string
	level  string
	tail   int
	dates  bool
}

// finder returns what the arguments of a command name.
type finder func(ctx context.Context, client *apiclient.Client, args []string) (subject, error)

// one returns a finder for a command with one argument.
func one(find func(ctx context.Context, client *apiclient.Client, name string) (subject, error)) finder {
	return func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
		return find(ctx, client, args[0])
	}
}

func (o *options) command(c *cobra.Command, find finder) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.env.Console.Output == "name" {
			return exitcode.Usagef("the lines of a log have no names: use -o table, json or yaml")
		}
		wanted, err := o.wanted()
		if err != nil {
			return err
		}
		client, err := o.env.Client()
		if err != nil {
			return err
		}
		s, err := find(c.Context(), client, args)
		if err != nil {
			return err
		}
		p := &printer{console: o.env.Console, wanted: wanted, dates: o.dates, several: s.several}
		err = o.print(c.Context(), client, s, p)
		if c.Context().Err() != nil {
			return exitcode.Interrupted
		}
		return err
	}
	return c
}

// print prints the present lines of a log, and with -f those that follow.
func (o *options) print(ctx context.Context, client *apiclient.Client, s subject, p *printer) error {
	if len(s.sources) == 0 && !o.follow {
		return errors.New(s.silent)
	}
	lines, ends, err := past(ctx, client, s.sources)
	if err != nil {
		return err
	}
	there := len(lines)
	lines = p.wanted.of(lines)
	if o.tail >= 0 && len(lines) > o.tail {
		lines = lines[len(lines)-o.tail:]
	}
	p.makeRoom(s.sources)
	if err := p.print(lines...); err != nil {
		return err
	}
	if o.follow {
		return s.follow(ctx, client, ends, p)
	}
	switch {
	case there == 0:
		o.env.Console.Say("no lines are kept of this log: %s",
			cmp.Or(s.silent, "none were written yet, or they are older than the control plane keeps logs"))
	case len(lines) == 0:
		o.env.Console.Say("none of its lines fits: leave out --since, --level or --tail to see more")
	}
	return nil
}
