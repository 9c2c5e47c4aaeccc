package installs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// syncRun is the state of one run of `nuon installs sync`.
type syncRun struct {
	env           *cmdenv.Env
	app           string
	runner        string
	secrets       []string
	keys          []string
	takeOwnership bool
	dryRun        bool
	yes           bool
	settling      waitOptions
}

func newSync(e *cmdenv.Env) *cobra.Command {
	o := &syncRun{env: e}
	c := &cobra.Command{
		Use:   "sync [DIRECTORY]",
		Short: "Create and change the installs of an app from their installs/*.toml files",
		Args:  cobra.MaximumNArgs(1),
		Long: `Create and change the installs of an app from the installs/*.toml files in DIRECTORY (default: the
current directory).

The command first prints what it would do with each install: create it, change it field by field, or
nothing. Then it asks for confirmation, or needs --yes.

An install that was created from a file is managed by this file, and other commands cannot change it.
An install that is managed manually blocks the sync, unless --take-ownership is set: then nothing is
changed at all. Settings that a file leaves out have the app's defaults. A sync never removes
anything: an install whose file was deleted is listed and stays.

Sensitive inputs are not in files. If a new install needs one, a terminal asks for it; a script passes
--secret INSTALL/NAME=env:VAR (or NAME=… for all new installs), and with --key-fingerprint INSTALL=…
the key to seal it to.

Exit codes: 0 done or nothing to do, 1 failed or blocked, 2 errors in the files, 3 waiting for an
approval (--wait), 4 rejected, 5 control plane unreachable or access denied.`,
		Example: `  nuon installs sync --app hello --dry-run
  nuon installs sync examples/hello --yes --secret api_token=env:TOKEN --wait`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	c.Flags().StringVar(&o.app, "app", "", "app of the installs (default: the directory's name)")
	c.Flags().StringVar(&o.runner, "runner", "",
		"runner of new installs (default: the shared runner, else a new one for each)")
	c.Flags().StringArrayVar(&o.secrets, "secret", nil,
		"set a sensitive input of new installs, [INSTALL/]NAME=env:VAR or [INSTALL/]NAME=@FILE (repeatable)")
	c.Flags().StringArrayVar(&o.keys, "key-fingerprint", nil, "accept only this key of a new install's runner, "+
		"`INSTALL=FINGERPRINT` (from \"runnerd status\"; repeatable)")
	c.Flags().BoolVar(&o.takeOwnership, "take-ownership", false,
		"also change installs that are managed manually, and manage them by their files")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and exit")
	c.Flags().BoolVar(&o.yes, "yes", false, "skip the confirmation prompt")
	o.settling.flags(c)
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	complete.Flag(e, c, "app", complete.Apps)
	complete.Flag(e, c, "runner", complete.Runners)
	return c
}

func (o *syncRun) run(ctx context.Context, args []string) error {
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	app, err := o.load(ctx, dir)
	if err != nil {
		return err
	}
	keys, err := o.readKeys(app)
	if err != nil {
		return err
	}
	client, err := o.env.Client()
	if err != nil {
		return err
	}
	name := cmp.Or(o.app, filepath.Base(dir))
	known, err := apiclient.Decode[api.App](client.GetApp(ctx, name))
	if apiclient.CodeIs(err, "not_found") {
		return exitcode.Usagef("app %q not found: create it with `nuon apps create %s`, or name another with --app",
			name, name)
	}
	if err != nil {
		return err
	}
	installs, err := o.installs(ctx, client, known)
	if err != nil {
		return err
	}
	all := compare(app, known.Name, installs, o.takeOwnership)
	if err := o.show(known.Name, all); err != nil || o.dryRun {
		return err
	}
	return o.apply(ctx, client, app, name, all, keys)
}

// readKeys returns the fingerprints of --key-fingerprint by install, and requires a
// file for each of them.
func (o *syncRun) readKeys(app *appconfig.App) (map[string]string, error) {
	keys, err := keyvalue.Pairs("--key-fingerprint", o.keys)
	if err != nil {
		return nil, err
	}
	for install, text := range keys {
		if !slices.ContainsFunc(app.Installs, func(i appconfig.Install) bool { return i.Name == install }) {
			return nil, exitcode.Usagef("--key-fingerprint %s: this install has no file in installs/", install)
		}
		if keys[install], err = fingerprint("--key-fingerprint "+install, text); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// show prints the effects of the sync; with -o name, the names of the installs that it
// would create or change.
func (o *syncRun) show(app string, all []Difference) error {
	c := o.env.Console
	if c.Output != "name" {
		return c.Result(all, func(w io.Writer) error { return showDifferences(w, app, all) })
	}
	var rows [][]string
	for _, d := range pendingDifferences(all) {
		rows = append(rows, []string{d.Install})
	}
	return c.List(all, nil, rows)
}

// pendingDifferences returns the differences that a sync resolves.
func pendingDifferences(all []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool {
		return d.Outcome != OutcomeCreate && d.Outcome != OutcomeChange
	})
}

// load reads the app's directory. It prints all errors, and the warnings about install files.
func (o *syncRun) load(ctx context.Context, dir string) (*appconfig.App, error) {
	app, found, err := validate.Load(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		// other warnings do not concern installs
		if d.Severity == diagnostic.Error || strings.HasPrefix(d.File, "installs/") {
			o.env.Console.Messagef("%s", console.Line(d.String()))
		}
	}
	if found.HasErrors() {
		return nil, &exitcode.Error{Code: exitcode.Usage}
	}
	return app, nil
}

// installs returns all installs of the app in full.
func (o *syncRun) installs(ctx context.Context, client *apiclient.Client, app api.App) ([]api.Install, error) {
	briefs, err := apiclient.ListAll(func(cursor string) ([]api.InstallSummary, string, error) {
		l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx,
			&api.ListInstallsParams{App: app.ID, Cursor: cursor}))
		return l.Items, l.Next, err
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(briefs))
	for _, b := range briefs {
		ids = append(ids, b.ID)
	}
	return getInstalls(ctx, client, ids)
}

// apply prompts and then syncs one install after the other. It continues with the others
// when one fails.
func (o *syncRun) apply(ctx context.Context, client *apiclient.Client, app *appconfig.App, name string,
	all []Difference,
	keys map[string]string,
) error {
	todo := pendingDifferences(all)
	if refused := withOutcome(all, OutcomeRefused); len(refused) > 0 {
		return exitcode.With(exitcode.Failed,
			fmt.Errorf("nothing was changed: %s cannot be changed by a file, for the reason above", diff.List(refused)))
	}
	if len(todo) == 0 {
		return nil
	}
	if err := o.env.Console.Confirm(ctx, "this "+summarize(all)+" of "+name, o.yes); err != nil {
		return err
	}
	secrets, err := o.read(ctx, app, todo)
	if err != nil {
		return err
	}
	var ids []string
	var failed []error
	for _, d := range todo {
		id, err := o.one(ctx, client, d, secrets[d.Install], sealingContext{
			install: pins.Install{App: name, Name: d.Install, New: true}, which: keyOfNew(o.runner), given: keys[d.Install],
		})
		switch {
		case errors.Is(err, exitcode.Interrupted):
			return errors.Join(append(failed, err)...)
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", d.Install, err))
		default:
			ids = append(ids, id)
		}
	}
	return errors.Join(errors.Join(failed...), o.wait(ctx, client, ids))
}

// one creates or changes one install and prints the result.
func (o *syncRun) one(ctx context.Context, client *apiclient.Client, d Difference, secrets map[string]seal.Secret,
	to sealingContext,
) (install string, err error) {
	if d.Outcome == OutcomeChange {
		i, err := apiclient.Decode[api.Install](client.UpdateInstall(ctx, d.id, d.change))
		if err == nil {
			o.env.Console.Messagef("changed %s: %s", i.Name, console.Line(cmp.Or(i.Reason, string(i.Status))))
			o.sayPending(i)
		}
		return i.ID, err
	}
	d.create.ID, d.create.Runner = id.New("ins"), o.runner
	to.install.ID = d.create.ID
	sealed, err := enteredValues{secret: secrets}.seal(ctx, o.env, client, to)
	if err != nil {
		return "", err
	}
	d.create.Inputs = append(d.create.Inputs, sealed...)
	made, err := apiclient.Decode[api.CreatedInstall](client.CreateInstall(ctx, &api.CreateInstallParams{}, d.create))
	if err != nil {
		return "", err
	}
	o.env.Console.Messagef("created %s (%s)", made.Install.Name, made.Install.ID)
	o.sayPending(made.Install)
	if made.Runner.RegistrationToken != "" {
		err = runners.HowToStart(o.env.Console.Err, made.Runner)
	}
	return made.Install.ID, err
}

// sayPending prints that the approval settings of a file wait for an approver.
func (o *syncRun) sayPending(i api.Install) {
	if p := i.Pending; p.Approval != "" {
		words := approvalWords(string(p.Settings.Approval), p.Settings.AllowDestroy, p.Settings.ApprovalsByOthers)
		o.env.Console.Messagef("%s: approval %s needs an approver and is %s until then; review it with `nuon review %s`",
			i.Name,
			words,
			approvalWords(string(i.Approval), i.AllowDestroy, i.ApprovalsByOthers), p.Approval)
	}
}

// wait waits, with --wait, until none of the installs can progress without a person.
func (o *syncRun) wait(ctx context.Context, client *apiclient.Client, ids []string) error {
	if !o.settling.wait || len(ids) == 0 {
		return nil
	}
	now, err := o.settling.settle(ctx, o.env.Console, client, ids)
	if err != nil {
		return err
	}
	return exitError(now)
}

// read returns the sensitive inputs of new installs: those of --secret, and those that a
// person enters for required inputs. It reads all of them before any install is created.
func (o *syncRun) read(ctx context.Context, app *appconfig.App,
	todo []Difference) (map[string]map[string]seal.Secret, error) {
	all := map[string]map[string]seal.Secret{}
	for _, d := range todo {
		if d.Outcome == OutcomeCreate {
			all[d.Install] = map[string]seal.Secret{}
		}
	}
	for _, s := range o.secrets {
		name, from, _ := strings.Cut(s, "=")
		install, input, of := strings.Cut(name, "/")
		if !of {
			install, input = "", name
		}
		secret, err := secretinput.Read(ctx, o.env.Console, name, from)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if _, own := all[i][input]; install == i || install == "" && !own {
				all[i][input] = secret
			}
		}
	}
	for _, d := range todo {
		if d.Outcome != OutcomeCreate {
			continue
		}
		if err := o.fillIn(ctx, app, d.Install, all[d.Install]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fillIn prompts for the required sensitive inputs of a new install that have no value yet.
func (o *syncRun) fillIn(ctx context.Context, app *appconfig.App, install string, have map[string]seal.Secret) error {
	page := form.Page{Title: "Sensitive inputs of " + install,
		Description: "They are sealed before they leave this machine."}
	for _, in := range app.Inputs {
		if _, has := have[in.Name]; !has && in.Sensitive && in.Required && in.Default == nil {
			page.Fields = append(page.Fields, form.Field{Name: in.Name, Title: in.DisplayName,
				Description: in.Description, Sensitive: true, Required: true})
		}
	}
	switch {
	case len(page.Fields) == 0:
		return nil
	case !o.env.Console.Asks():
		name := page.Fields[0].Name
		return exitcode.Usagef("%s needs the sensitive input %s: pass --secret %s/%s=env:VAR; nothing was changed",
			install, name, install, name)
	}
	answers, err := form.Ask(ctx, o.env.Console, []form.Page{page})
	for name, secret := range answers.Secret {
		have[name] = secret
	}
	return err
}

func withOutcome(all []Difference, o Outcome) []string {
	var names []string
	for _, d := range all {
		if d.Outcome == o {
			names = append(names, d.Install)
		}
	}
	return names
}

// summarize summarizes a sync: "creates 2 and changes 1 install".
func summarize(all []Difference) string {
	creates, changes := len(withOutcome(all, OutcomeCreate)), len(withOutcome(all, OutcomeChange))
	switch {
	case changes == 0:
		return "creates " + countOf(creates, "install")
	case creates == 0:
		return "changes " + countOf(changes, "install")
	}
	return fmt.Sprintf("creates %d and changes %s", creates, countOf(changes, "install"))
}

// showDifferences prints the effects of a sync for people.
func showDifferences(w io.Writer, app string, all []Difference) error {
	var lines []string
	for _, d := range all {
		switch d.Outcome {
		case OutcomeCreate:
			lines = append(lines, "+ "+d.Install+"  create")
		case OutcomeChange:
			lines = append(lines, "~ "+d.Install+"  change")
		case OutcomeNone:
			lines = append(lines, "= "+d.Install+"  no changes")
		case OutcomeRefused:
			lines = append(lines, "! "+d.Install+"  blocked: "+d.Reason)
		case OutcomeNoFile:
			lines = append(lines, "? "+d.Install+"  "+d.Reason)
		}
		lines = append(lines, showFieldChanges(d.Changes, "    ")...)
	}
	if len(all) == 0 {
		lines = append(lines, "no install files in the directory, and no install of "+app+" is managed by one")
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}
