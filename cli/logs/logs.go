// Package logs implements `nuon logs`, which prints and follows the logs of builds,
// workflow steps, action runs, runners and pods. It finds the jobs for a name and reads
// their lines from the control plane. It starts something only for the logs of pods: a job
// in which the runner sends them.
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
	"github.com/nuon-toolkit/nuon/pkg/api"
)

const long = `Print or follow a log: of a build, workflow, step, job or runner by its ID, or by kind and name.

The steps of a workflow form one log in the order of time; each line starts with the name of its step.
-f follows the log until the job or the workflow with all its steps ends; the log of a runner until
Ctrl-C. After a lost connection it continues without missing or repeated lines.

With -o json each line is an object with t (time), l (level) and m (message), and, if the log has
several sources, of (source) and job.`

const examples = `  nuon logs build hello/web
  nuon logs latest:acme -f
  nuon logs workflow latest:acme --step web --level warn
  nuon logs action acme smoke_test --tail 20
  nuon logs app acme web --since 10m --reason "checkout fails"
  nuon logs runner build --since 10m -f`

// New returns the command, with a subcommand for each kind of object that has a log.
func New(e *cmdenv.Env) *cobra.Command {
	o := &options{env: e}
	c := o.command(&cobra.Command{
		Use:     "logs JOB|BUILD|WORKFLOW|STEP|latest:INSTALL",
		Short:   "Print or follow the log of a build, workflow, step, action, runner or pod",
		Long:    long,
		Example: examples, Args: cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Logs),
	}, func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
		return subjectOf(ctx, client, args[0])
	})
	f := c.PersistentFlags()
	f.BoolVarP(&o.follow, "follow", "f", false, "follow the log")
	f.StringVar(&o.since, "since", "",
		"only lines newer than a duration such as 10m, or a `time` such as 2006-01-02T15:04:05Z")
	f.StringVar(&o.level, "level", "", "only lines of this level or higher: "+strings.Join(api.LogLevels, ", "))
	f.IntVar(&o.tail, "tail", -1, "number of existing lines to print, counted from the end; -1 for all")
	f.BoolVar(&o.dates, "timestamps", false, "print the full date, time and zone of each line")
	complete.FlagWords(c, "level", api.LogLevels...)
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
		"only this step: its ID, or the name of its component or action (also \"apply web\")")
	complete.Flag(e, workflow, "step", complete.Steps)
	c.AddCommand(workflow, newApp(o), newShell(o),
		o.command(&cobra.Command{
			Use:     "build BUILD|APP/COMPONENT",
			Short:   "Print or follow the log of a build, or of a component's newest build",
			Args:    cobra.ExactArgs(1),
			Example: "  nuon logs build hello/web -f", ValidArgsFunction: complete.Args(e, complete.Builds),
		}, byName(buildNamed)),
		o.command(&cobra.Command{
			Use:               "step STEP",
			Short:             "Print or follow the log of a step",
			Args:              cobra.ExactArgs(1),
			ValidArgsFunction: complete.Nothing,
			Example:           "  nuon logs step stp_01h8xqz5m2",
		}, byName(stepNamed)),
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
			Short:   "Print or follow the log of a runner, without those of its jobs",
			Args:    cobra.ExactArgs(1),
			Example: "  nuon logs runner build -f", ValidArgsFunction: complete.Args(e, complete.Runners),
		}, byName(runnerNamed)),
		o.command(&cobra.Command{
			Use:               "job JOB",
			Short:             "Print or follow the log of a job",
			Args:              cobra.ExactArgs(1),
			ValidArgsFunction: complete.Nothing,
			Example:           "  nuon logs job job_01h8xqz5m2",
		}, byName(jobNamed)))
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

// finder finds the log that the arguments of a command name.
type finder func(ctx context.Context, client *apiclient.Client, args []string) (subject, error)

// byName returns a finder for a command whose only argument is a name.
func byName(find func(ctx context.Context, client *apiclient.Client, name string) (subject, error)) finder {
	return func(ctx context.Context, client *apiclient.Client, args []string) (subject, error) {
		return find(ctx, client, args[0])
	}
}

// errName is the error for -o name.
var errName = exitcode.Usagef("log lines have no names to print with -o name: use -o table, json or yaml")

func (o *options) command(c *cobra.Command, find finder) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.env.Console.Output == "name" {
			return errName
		}
		filter, err := o.lineFilter()
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
		p := &printer{console: o.env.Console, filter: filter, dates: o.dates, several: s.several}
		err = o.print(c.Context(), client, s, p)
		if c.Context().Err() != nil {
			return exitcode.Interrupted
		}
		return err
	}
	return c
}

// print prints the stored lines of a log, and with -f those that follow.
func (o *options) print(ctx context.Context, client *apiclient.Client, s subject, p *printer) error {
	if len(s.sources) == 0 && !o.follow {
		return errors.New(s.emptyReason)
	}
	lines, ends, err := storedLines(ctx, client, s.sources)
	if err != nil {
		return err
	}
	stored := len(lines)
	lines = p.filter.apply(lines)
	if o.tail >= 0 && len(lines) > o.tail {
		lines = lines[len(lines)-o.tail:]
	}
	p.widenNames(s.sources)
	if err := p.print(lines...); err != nil {
		return err
	}
	if o.follow {
		return s.follow(ctx, client, ends, p)
	}
	switch {
	case stored == 0:
		o.env.Console.Messagef("the log is empty: %s",
			cmp.Or(s.emptyReason, "nothing was written yet, or the retention period has passed"))
	case len(lines) == 0:
		o.env.Console.Messagef("no line matches --since, --level and --tail; remove them to see all")
	}
	return nil
}
