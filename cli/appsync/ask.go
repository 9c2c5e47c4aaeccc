package appsync

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The names of the fields of the questions, and the answers to how long to wait.
const (
	fieldApp  = "app"
	fieldWait = "wait"

	waitForBuilds   = "builds"
	waitForInstalls = "installs"
	waitForNothing  = "nothing"
)

// ask prompts a person which app to sync, and how long to wait: with --interactive, or if the command line names no app
// and the directory is not called like one. It sets flags of the command and returns its arguments.
func ask(ctx context.Context, e *cmdenv.Env, c *cobra.Command, args []string, interactive bool) ([]string, error) {
	if err := e.Console.CheckInteractive(interactive); err != nil {
		return nil, err
	}
	named := c.Flags().Changed(fieldApp) || len(args) > 0
	if !interactive && (named || !e.Console.AsksForMore()) {
		return args, nil
	}
	client, err := e.Client()
	if err != nil {
		return nil, err
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if !interactive {
		_, err := apiclient.Decode[api.App](client.GetApp(ctx, filepath.Base(here)))
		if !apiclient.CodeIs(err, "not_found") {
			return args, nil // it is the app, or the sync fails with the same error
		}
	}
	if !named {
		if args, err = askApp(ctx, e, c, client, filepath.Base(here)); err != nil {
			return nil, err
		}
	}
	if err := askWait(ctx, e, c); err != nil {
		return nil, err
	}
	form.ShowCommand(e.Console, c, args)
	return args, nil
}

// askApp prompts for the app. An app without a repository is uploaded from the current directory.
func askApp(ctx context.Context, e *cmdenv.Env, c *cobra.Command, client *apiclient.Client,
	here string) ([]string, error) {
	apps, err := apiclient.ListAll(func(cursor string) ([]api.App, string, error) {
		l, err := apiclient.Decode[api.AppList](client.ListApps(ctx, &api.ListAppsParams{Cursor: cursor, Limit: 500}))
		return l.Items, l.Next, err
	})
	switch {
	case err != nil:
		return nil, err
	case len(apps) == 0:
		return nil, exitcode.Usagef("there are no apps: create one with `nuon apps create %s`", here)
	}
	var choices []form.Choice
	for _, a := range apps {
		about := a.Repository
		if about == "" {
			about = "uploaded from this directory"
		}
		choices = append(choices, form.Choice{Value: a.Name, About: about})
	}
	field := form.Field{Name: fieldApp, Title: "App", Choices: choices, Required: true}
	a, err := form.Ask(ctx, e.Console, []form.Page{{Title: "Sync an app", Fields: []form.Field{field}}})
	if err != nil {
		return nil, err
	}
	chosen := slices.IndexFunc(apps, func(one api.App) bool { return one.Name == a.Plain[fieldApp] })
	if err := form.Set(c, fieldApp, apps[chosen].Name); err != nil {
		return nil, err
	}
	if apps[chosen].Repository == "" {
		return []string{"."}, nil
	}
	return nil, nil
}

// askWait prompts for how long to wait, unless a flag sets it.
func askWait(ctx context.Context, e *cmdenv.Env, c *cobra.Command) error {
	for _, flag := range []string{"wait", "no-wait", "partial"} {
		if c.Flags().Changed(flag) {
			return nil
		}
	}
	a, err := form.Ask(ctx, e.Console, []form.Page{{Title: "Sync an app", Fields: []form.Field{{Name: fieldWait,
		Title: "Wait for", Value: waitForBuilds, Choices: []form.Choice{
			{Value: waitForBuilds, About: "until the builds of the newest release end"},
			{Value: waitForInstalls, About: "until every install that follows the newest release has it"},
			{Value: waitForNothing, About: "end at once"}}}}}})
	switch {
	case err != nil:
		return err
	case a.Plain[fieldWait] == waitForInstalls:
		return form.Set(c, "wait", "true")
	case a.Plain[fieldWait] == waitForNothing:
		return form.Set(c, "no-wait", "true")
	}
	return nil
}
