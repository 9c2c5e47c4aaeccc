package installs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The names of the fields of the questions.
const (
	fieldInstall    = "install"
	fieldWhat       = "what"
	fieldComponents = "components"
	fieldRelease    = "release"
	fieldReason     = "reason"
)

// interactiveFlag adds --interactive to a command that prompts for the install if none is named.
func interactiveFlag(c *cobra.Command, on *bool, about string) {
	c.Flags().BoolVarP(on, "interactive", "i", false, about)
}

// questions prompts a person for what the command line of a command leaves open. It sets flags of the command, so that
// the command then runs as if they had been passed.
type questions struct {
	env     *cmdenv.Env
	command *cobra.Command
	args    []string
}

// open reports whether a person has to be asked: with --interactive, or if no install is named. It returns an error
// if one is missing and nobody can be asked.
func (q *questions) open(interactive bool) (bool, error) {
	if err := q.env.Console.CheckInteractive(interactive); err != nil || interactive {
		return interactive, err
	}
	switch {
	case len(q.args) > 0:
		return false, nil
	case !q.env.Console.AsksForMore():
		return false, exitcode.Usagef("name the install, such as `%s acme`; `nuon installs list` lists them",
			q.command.CommandPath())
	}
	return true, nil
}

func (q *questions) ask(ctx context.Context, title string, fields ...form.Field) (form.Answers, error) {
	return form.Ask(ctx, q.env.Console, []form.Page{{Title: title, Fields: fields}})
}

// install prompts for the install, unless the command line names it.
func (q *questions) install(ctx context.Context, client *apiclient.Client) error {
	if len(q.args) > 0 {
		return nil
	}
	names, err := complete.Installs(ctx, client, nil)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return exitcode.Usagef("there are no installs: create one with `nuon installs create NAME --app APP`")
	}
	a, err := q.ask(ctx, q.command.Short, form.Field{Name: fieldInstall, Title: "Install",
		Description: "The list is filtered with /.", Choices: form.Choices(names), Required: true})
	if err != nil {
		return err
	}
	q.args = []string{a.Plain[fieldInstall]}
	return nil
}

// The answers to what is to be deployed.
const (
	deployBehind = "what is behind"
	deployChosen = "components"
)

// askDeploy prompts for what `nuon deploy` leaves open, and returns its arguments.
func askDeploy(ctx context.Context, e *cmdenv.Env, c *cobra.Command, args []string,
	interactive bool) ([]string, error) {
	q := questions{env: e, command: c, args: args}
	named := len(args) > 1
	redeploys := c.Flags().Changed("redeploy") || c.Flags().Changed("dependents")
	if !named && redeploys && len(args) == 1 && e.Console.AsksForMore() {
		interactive = true // only the components are missing
	}
	if open, err := q.open(interactive); !open || err != nil {
		return args, err
	}
	client, err := e.Client()
	if err != nil {
		return nil, err
	}
	if err := q.install(ctx, client); err != nil {
		return nil, err
	}
	if !named {
		if err := q.components(ctx, client, redeploys); err != nil {
			return nil, err
		}
	}
	form.ShowCommand(e.Console, c, q.args)
	return q.args, nil
}

// components prompts for which components to deploy; with redeploys, they are known to be some.
func (q *questions) components(ctx context.Context, client *apiclient.Client, redeploys bool) error {
	if !redeploys {
		a, err := q.ask(ctx, "Deploy to "+q.args[0], form.Field{Name: fieldWhat, Title: "What", Value: deployBehind,
			Choices: []form.Choice{{Value: deployBehind, About: "plans the components that are behind"},
				{Value: deployChosen, About: "plans those that you choose, also if they are current"}}})
		if err != nil || a.Plain[fieldWhat] != deployChosen {
			return err
		}
	}
	names, err := complete.InstallComponents(ctx, client, q.args)
	if err != nil {
		return err
	}
	fields := []form.Field{{Name: fieldComponents, Title: "Components", Choices: form.Choices(names), Several: true,
		Required: true}}
	if !q.command.Flags().Changed("dependents") {
		fields = append(fields, form.Field{Name: "dependents", Title: "Dependents", Type: "bool", Value: "false",
			Description: "Also plan what depends on them."})
	}
	a, err := q.ask(ctx, "Redeploy on "+q.args[0], fields...)
	if err != nil {
		return err
	}
	q.args = append(q.args, a.Chosen[fieldComponents]...)
	if a.Plain["dependents"] == "true" {
		if err := form.Set(q.command, "dependents", "true"); err != nil {
			return err
		}
	}
	return form.Set(q.command, "redeploy", "true")
}

// askRollback prompts for what `nuon installs rollback` leaves open, and returns its arguments.
func askRollback(ctx context.Context, e *cmdenv.Env, c *cobra.Command, args []string,
	interactive bool) ([]string, error) {
	q := questions{env: e, command: c, args: args}
	if open, err := q.open(interactive); !open || err != nil {
		return args, err
	}
	client, err := e.Client()
	if err != nil {
		return nil, err
	}
	if err := q.install(ctx, client); err != nil {
		return nil, err
	}
	fields, err := q.rollbackFields(ctx, client)
	if err != nil {
		return nil, err
	}
	a, err := q.ask(ctx, "Roll back "+q.args[0], fields...)
	if err != nil {
		return nil, err
	}
	for field, flag := range map[string]string{fieldRelease: "to", fieldReason: "reason"} {
		if value := a.Plain[field]; value != "" {
			if err := form.Set(c, flag, value); err != nil {
				return nil, err
			}
		}
	}
	form.ShowCommand(e.Console, c, q.args)
	return q.args, nil
}

// rollbackFields returns the fields for the release and the reason, as far as no flag sets them.
func (q *questions) rollbackFields(ctx context.Context, client *apiclient.Client) ([]form.Field, error) {
	var fields []form.Field
	if !q.command.Flags().Changed("to") {
		i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, q.args[0]))
		if err != nil {
			return nil, err
		}
		choices, err := earlierReleases(ctx, client, i, time.Now())
		if err != nil {
			return nil, err
		}
		fields = append(fields, form.Field{Name: fieldRelease, Title: "Release", Choices: choices, Required: true,
			Description: fmt.Sprintf("It has release %d now. Data and Terraform states are not restored.", i.Target)})
	}
	if !q.command.Flags().Changed("reason") {
		fields = append(fields, form.Field{Name: fieldReason, Title: "Reason",
			Description: "It is shown to everyone who views the install."})
	}
	return fields, nil
}

// earlierReleases returns the complete releases before the one that an install is to have, the newest first.
func earlierReleases(ctx context.Context, client *apiclient.Client, i api.Install,
	now time.Time) ([]form.Choice, error) {
	l, err := apiclient.Decode[api.ReleaseList](client.ListReleases(ctx, i.App, &api.ListReleasesParams{Limit: largePage}))
	if err != nil {
		return nil, err
	}
	var choices []form.Choice
	for _, r := range l.Items {
		if r.Number < i.Target && r.Status == api.ReleaseComplete {
			choices = append(choices, form.Choice{Value: strconv.Itoa(r.Number),
				About: fmt.Sprintf("%.7s  %s ago  %s", r.Commit, now.Sub(r.CreatedAt).Round(time.Minute), r.Cause)})
		}
	}
	if len(choices) == 0 {
		return nil, noEarlierRelease(i)
	}
	return choices, nil
}

// largePage is the largest page size that the API allows.
const largePage = 500

// askApp prompts for the app of a new install.
func askApp(ctx context.Context, c *console.Console, client *apiclient.Client) (string, error) {
	names, err := complete.Apps(ctx, client, nil)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", exitcode.Usagef("there are no apps: create one with `nuon apps create NAME`")
	}
	a, err := form.Ask(ctx, c, []form.Page{{Title: "New install",
		Fields: []form.Field{{Name: "app", Title: "App", Choices: form.Choices(names), Required: true}}}})
	return a.Plain["app"], err
}
