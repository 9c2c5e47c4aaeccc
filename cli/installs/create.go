package installs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// createOptions is the state of one run of `nuon installs create`.
type createOptions struct {
	env      *cmdenv.Env
	command  *cobra.Command
	new      api.NewInstall
	file     string
	approval string
	labels   []string
	on, off  []string
	account  []string
	// interactive asks for all inputs that have no value yet, not only for those without a default.
	interactive bool
	values      values
	settling    waitOptions
}

func newCreate(e *cmdenv.Env) *cobra.Command {
	o := &createOptions{env: e}
	c := &cobra.Command{
		Use: "create [NAME] --app APP", Short: "Create an install and provision it", Args: cobra.MaximumNArgs(1),
		Long: `Create an install of an app and provision it: first the sandbox, then the components.

Inputs come from flags and from an installs/*.toml file of the app (--file); the others have the app's
defaults. On a terminal, a form asks for the app, the name and required inputs that have no default, as
far as they are missing; --interactive (-i) asks for every input that was not passed. It then prints the
command line that does the same.

Values of sensitive inputs are sealed before they leave this machine: to the key of the install's
runner, which is pinned on first use, or to the control plane's key until that runner has
registered. --key-fingerprint sets which key is accepted.`,
		Example: `  nuon installs create acme --app hello
  nuon installs create acme --app hello --input greeting=hi --secret api_token=env:TOKEN
  nuon installs create acme --app hello --interactive
  nuon installs create --app hello --file installs/acme.toml --wait`,
		ValidArgsFunction: complete.Nothing,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), c, args) },
	}
	c.Flags().StringVar(&o.new.App, "app", "", "app to install")
	c.Flags().StringVar(&o.file, "file", "", "installs/*.toml file of the app that describes the install")
	c.Flags().StringVar(&o.new.Runner, "runner", "",
		"runner of the install (default: the shared runner, else a new one)")
	c.Flags().StringVar(&o.approval, "approval", "",
		"approval rule: prompt (default), or approve-all, which needs the approver role")
	c.Flags().BoolVar(&o.new.AllowDestroy, "allow-destroy", false,
		"with approve-all: also approve deletions and replacements; needs the approver role")
	c.Flags().BoolVar(&o.new.ApprovalsByOthers, "approvals-by-others", false,
		"forbid people to approve what they requested themselves")
	c.Flags().StringArrayVar(&o.labels, "label", nil, "set a label, NAME=VALUE (repeatable)")
	accountFlag(c, &o.account)
	c.Flags().StringArrayVar(&o.on, "enable", nil, "enable a component that is off by default (repeatable)")
	c.Flags().StringArrayVar(&o.off, "disable", nil, "disable a component that is on by default (repeatable)")
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false,
		"ask for every input that was not passed, including those with a default")
	o.values.flags(c)
	o.settling.flags(c)
	c.MarkFlagsMutuallyExclusive("file", "interactive")
	complete.Flag(e, c, "app", complete.Apps)
	complete.Flag(e, c, "runner", complete.Runners)
	complete.FlagWords(c, "approval", "prompt", "approve-all")
	return c
}

func (o *createOptions) run(ctx context.Context, c *cobra.Command, args []string) error {
	if err := o.env.Console.CheckInteractive(o.interactive); err != nil {
		return err
	}
	o.command = c
	o.new.Approval = api.NewInstallApproval(o.approval)
	fromFile, err := readFile(o.env.Console, o.file, &o.new)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		o.new.Name = args[0]
	}
	switch {
	case o.new.Name == "" && !o.asks():
		return exitcode.Usagef("name the install, or pass --file")
	case o.new.App == "" && !o.asks():
		return exitcode.Usagef("name the app with --app; `nuon apps list` lists them")
	}
	labels, err := keyvalue.Pairs("--label", o.labels)
	if err != nil {
		return err
	}
	o.new.Labels = merged(o.new.Labels, labels)
	if account, err := parseAccount(o.account); err != nil {
		return err
	} else if account != nil {
		o.new.Account = account
	}
	if o.new.Toggles, err = mergeToggles(o.new.Toggles, o.on, o.off); err != nil {
		return err
	}
	entered, err := o.values.read(ctx, o.env, fromFile)
	if err != nil {
		return err
	}
	client, err := o.env.Client()
	if err != nil {
		return err
	}
	if err := o.ask(ctx, client, entered); err != nil {
		return err
	}
	o.new.ID = id.New("ins")
	if o.new.Inputs, err = entered.seal(ctx, o.env, client, sealingContext{
		install: pins.Install{ID: o.new.ID, App: o.new.App, Name: o.new.Name, New: true},
		which:   keyOfNew(o.new.Runner),
		given:   o.values.key,
	}); err != nil {
		return err
	}
	made, err := apiclient.Decode[api.CreatedInstall](client.CreateInstall(ctx, &api.CreateInstallParams{}, o.new))
	if err != nil {
		return err
	}
	return o.end(ctx, client, made)
}

// keyOfNew returns the request for the sealing key of an install that does not exist
// yet: the key of its runner if that one has registered.
func keyOfNew(runner string) api.GetSealingKeyParams {
	return api.GetSealingKeyParams{Runner: runner, Shared: runner == ""}
}

// asks reports whether a person fills in missing values. With a file, nobody is asked.
func (o *createOptions) asks() bool {
	return o.file == "" && (o.interactive || o.env.Console.AsksForMore())
}

// ask rejects plain-text values of sensitive inputs and shows a form for the missing values.
func (o *createOptions) ask(ctx context.Context, client *apiclient.Client, e enteredValues) error {
	asks := o.asks()
	if len(e.plain) == 0 && !asks {
		return nil
	}
	if o.new.App == "" {
		var err error
		if o.new.App, err = askApp(ctx, o.env.Console, client); err != nil {
			return err
		}
	}
	config, err := appConfig(ctx, client, o.new.App, 0)
	if err != nil {
		return err
	}
	if err := e.check(config); err != nil || !asks {
		return err
	}
	pages := form.Inputs(config, e.names(), nil, nil)
	if o.new.Name == "" {
		first := form.Page{Title: "New install of " + o.new.App, Fields: []form.Field{{
			Name:        nameField,
			Title:       "Name",
			Description: "Lower-case letters, digits, - and _.",
			Required:    true,
			Check:       form.NameProblem,
		}}}
		pages = append([]form.Page{first}, pages...)
	}
	if !o.interactive {
		pages = form.RequiredPages(pages)
	}
	answers, err := form.Ask(ctx, o.env.Console, pages)
	if err != nil {
		return err
	}
	if name, asked := answers.Plain[nameField]; asked {
		o.new.Name = name
		delete(answers.Plain, nameField)
	}
	e.add(answers)
	if len(pages) == 0 && o.command.Flags().Changed("app") {
		return nil // nothing was asked
	}
	return o.showCommand(answers)
}

// showCommand prints the command line that does the same as the answers. It has the names of secrets, for which the
// command prompts.
func (o *createOptions) showCommand(a form.Answers) error {
	err := form.Set(o.command, "app", o.new.App)
	for _, name := range slices.Sorted(maps.Keys(a.Plain)) {
		err = errors.Join(err, form.Set(o.command, "input", name+"="+a.Plain[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Secret)) {
		err = errors.Join(err, form.Set(o.command, "secret", name))
	}
	if err == nil {
		form.ShowCommand(o.env.Console, o.command, []string{o.new.Name})
	}
	return err
}

// nameField is the name of the form's field for the install's name. No input can have this name.
const nameField = "install name"

// end prints the new install, after waiting for it with --wait.
func (o *createOptions) end(ctx context.Context, client *apiclient.Client, made api.CreatedInstall) error {
	c := o.env.Console
	if o.settling.wait && made.Runner.RegistrationToken == "" {
		return o.settling.end(ctx, c, client, made.Install, func(i api.Install) error {
			made.Install = i
			return c.Result(made, func(w io.Writer) error { return show(w, i) })
		})
	}
	err := c.Result(made, func(w io.Writer) error { return showMade(w, made) })
	if err == nil && c.Output == "table" && made.Runner.RegistrationToken == "" {
		c.Messagef("follow it with `nuon workflows watch latest:%s`, then review its plans with `nuon review`",
			made.Install.Name)
	}
	return err
}

// showMade prints a new install for people and, if its runner is new too, how to start that runner.
func showMade(w io.Writer, made api.CreatedInstall) error {
	if _, err := fmt.Fprintf(w, "created install %s/%s (%s)\n",
		made.Install.App, made.Install.Name, made.Install.ID); err != nil {
		return err
	}
	if made.Runner.RegistrationToken == "" {
		return nil
	}
	return runners.HowToStart(w, made.Runner)
}

// merged returns the union of both maps; values of the second take precedence.
func merged(first, second map[string]string) map[string]string {
	if len(first) == 0 && len(second) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, m := range []map[string]string{first, second} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// mergeToggles returns the toggles with the components added that --enable and --disable name.
func mergeToggles(toggles map[string]bool, on, off []string) (map[string]bool, error) {
	all := map[string]bool{}
	for name, is := range toggles {
		all[name] = is
	}
	for _, name := range on {
		all[name] = true
	}
	for _, name := range off {
		for _, other := range on {
			if other == name {
				return nil, exitcode.Usagef("component %s is in both --enable and --disable: use one of them", name)
			}
		}
		all[name] = false
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
