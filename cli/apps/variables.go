package apps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

func newVariables(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "variables", Short: "Manage values of an app that are not in git"}
	c.AddCommand(newVariablesSet(e), newVariablesList(e), newVariablesDelete(e))
	return c
}

// variablesSetting is the state of one run of `nuon apps variables set`.
type variablesSetting struct {
	env       *cmdenv.Env
	sensitive []string // NAME, NAME=env:VAR, NAME=@FILE or NAME=-
	dryRun    bool
}

func newVariablesSet(e *cmdenv.Env) *cobra.Command {
	o := &variablesSetting{env: e}
	c := &cobra.Command{
		Use:   "set APP [NAME=VALUE]…",
		Short: "Set variables of an app",
		Long: `Sets variables of an app, which templates read as .nuon.app.variables.NAME, in every install of the app. Variables that are
not named stay. Only components whose templates read a changed variable are planned again.

A sensitive value is never an argument: --sensitive NAME asks for it, NAME=env:VAR and NAME=@FILE read it, and
NAME=- reads the standard input. It is sealed before it is sent, and no command shows it.`,
		Example: `  nuon apps variables set hello sender=noreply@example.com
  nuon apps variables set hello sender=noreply@example.com --dry-run
  nuon apps variables set hello --sensitive mail_key
  nuon apps variables set hello --sensitive mail_key=@key.txt`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE:              e.Call(o.run),
	}
	c.Flags().StringArrayVar(&o.sensitive, "sensitive", nil,
		"a sensitive variable: `NAME` asks for it, NAME=env:VAR, NAME=@FILE and NAME=- read it (repeatable)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, dryRunUsage)
	return c
}

// dryRunUsage describes --dry-run of the commands that change variables.
const dryRunUsage = "show what would change, and the components of each install that would be behind, and exit"

func (o *variablesSetting) run(ctx context.Context, client *apiclient.Client, args []string) error {
	plain, err := keyvalue.Pairs("variable", args[1:])
	if err != nil {
		return err
	}
	secrets, err := o.readSecrets(ctx, plain)
	if err != nil {
		return err
	}
	if len(plain)+len(secrets) == 0 {
		return exitcode.Usagef("no variable is named: use NAME=VALUE or --sensitive NAME")
	}
	app, err := apiclient.Decode[api.App](client.GetApp(ctx, args[0]))
	if err != nil {
		return err
	}
	change := api.AppVariablesChange{DryRun: o.dryRun}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		change.Set = append(change.Set, api.InputValue{Name: name, Value: plain[name]})
	}
	sealed, err := sealVariables(ctx, client, app, secrets)
	if err != nil {
		return err
	}
	change.Set = append(change.Set, sealed...)
	list, err := apiclient.Decode[api.AppVariableList](client.ChangeAppVariables(ctx, app.ID, change))
	if err != nil {
		return err
	}
	return o.env.Console.Result(list, func(w io.Writer) error { return showChangedVariables(w, app.Name, list) })
}

// maxVariable is the maximum size of a sensitive variable on the standard input, in bytes.
const maxVariable = 1 << 20

// readSecrets reads the values of --sensitive.
func (o *variablesSetting) readSecrets(ctx context.Context, plain map[string]string) (map[string]seal.Secret, error) {
	all, stdin := map[string]seal.Secret{}, ""
	for _, s := range o.sensitive {
		name, from, _ := strings.Cut(s, "=")
		if _, both := plain[name]; both {
			return nil, exitcode.Usagef("variable %s is set twice", name)
		}
		if from != "-" {
			secret, err := secretinput.Read(ctx, o.env.Console, "variable "+name, from)
			if err != nil {
				return nil, err
			}
			all[name] = secret
			continue
		}
		if stdin != "" {
			return nil, exitcode.Usagef("--sensitive %s=-: the standard input is that of %s already", name, stdin)
		}
		stdin = name
		text, err := io.ReadAll(io.LimitReader(o.env.Console.In, maxVariable+1))
		if err == nil && len(text) > maxVariable {
			err = errors.New("it is longer than 1 MB")
		}
		if err != nil {
			return nil, exitcode.With(exitcode.Usage, fmt.Errorf("--sensitive %s=-: %w", name, err))
		}
		all[name] = seal.NewSecret([]byte(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")))
	}
	return all, nil
}

// sealVariables seals values to the control plane's key.
func sealVariables(ctx context.Context, client *apiclient.Client, app api.App,
	secrets map[string]seal.Secret) ([]api.InputValue, error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	key, err := secretinput.FetchKey(ctx, client, api.GetSealingKeyParams{})
	if err != nil {
		return nil, err
	}
	var all []api.InputValue
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		sealed, err := key.Seal(seal.AppVariableContext(key.Org, app.ID, name), secrets[name])
		if err != nil {
			return nil, err
		}
		all = append(all, api.InputValue{Name: name, Sensitive: true, Sealed: sealed})
	}
	return all, nil
}

func showChangedVariables(w io.Writer, app string, list api.AppVariableList) error {
	if len(list.Changed) == 0 {
		_, err := fmt.Fprintf(w, "%s: all values are set already\n", app)
		return err
	}
	is, will := "is", "will"
	if list.DryRun {
		is, will = "would be", "would"
	}
	for _, name := range list.Changed {
		line := fmt.Sprintf("%s: variable %s %s deleted", app, name, is)
		for _, v := range list.Items {
			if v.Name == name {
				line = fmt.Sprintf("%s: variable %s %s set%s", app, name, is, readBy(v.Readers))
			}
		}
		for _, m := range list.Missing {
			if m.Name == name {
				line += "; " + strings.Join(m.Readers, ", ") + " " + will + " wait until it is set again"
			}
		}
		if _, err := fmt.Fprintln(w, console.Line(line)); err != nil {
			return err
		}
	}
	return showAffectedInstalls(w, list.Installs)
}

// showAffectedInstalls prints the effect of a dry run on the installs, those on which nothing would change in one line.
func showAffectedInstalls(w io.Writer, installs []api.PreviewedInstall) error {
	var lines, unaffected []string
	for _, i := range installs {
		if len(i.Components) == 0 {
			unaffected = append(unaffected, i.Name)
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s: %s (%s)", i.Name, strings.Join(i.Components, ", "), i.Reason))
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "these components would be behind or wait:")
	}
	if len(unaffected) > 0 {
		lines = append(lines, "nothing would change on "+strings.Join(unaffected, ", "))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, console.Line(line)); err != nil {
			return err
		}
	}
	return nil
}

func readBy(readers []string) string {
	if len(readers) == 0 {
		return ", and no template reads it"
	}
	return ", read by " + strings.Join(readers, ", ")
}

func newVariablesList(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "list APP",
		Aliases: []string{"ls"},
		Short:   "List the variables of an app, and which are missing",
		Long: `Lists the variables of an app, who reads them, and those that templates read and that are not set. The values of sensitive
variables are not shown.`,
		Example:           "  nuon apps variables list hello\n  nuon apps variables list hello -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Apps),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			list, err := apiclient.Decode[api.AppVariableList](client.ListAppVariables(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(list, func(io.Writer) error {
				return e.Console.Rows([]string{"NAME", "VALUE", "READ BY"}).Print(variableRows(list))
			})
		}),
	}
}

func variableRows(list api.AppVariableList) [][]string {
	var rows [][]string
	for _, v := range list.Items {
		value := v.Value
		if v.Sensitive {
			value = "(sensitive)"
		}
		rows = append(rows, []string{v.Name, value, strings.Join(v.Readers, ", ")})
	}
	for _, m := range list.Missing {
		rows = append(rows, []string{m.Name, "(not set)", strings.Join(m.Readers, ", ")})
	}
	return rows
}

func newVariablesDelete(e *cmdenv.Env) *cobra.Command {
	var yes, dryRun bool
	c := &cobra.Command{
		Use:   "delete APP NAME…",
		Short: "Delete variables of an app",
		Long:  `Deletes variables of an app. Components whose templates read one wait until it is set again.`,
		Example: "  nuon apps variables delete hello sender --dry-run\n" +
			"  nuon apps variables delete hello sender --yes",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: complete.Rest(e, complete.Apps, complete.AppVariables),
	}
	c.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	c.Flags().BoolVar(&dryRun, "dry-run", false, dryRunUsage)
	do := e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
		list, err := apiclient.Decode[api.AppVariableList](client.ChangeAppVariables(ctx, args[0],
			api.AppVariablesChange{Delete: args[1:], DryRun: dryRun}))
		if err != nil {
			return err
		}
		return e.Console.Result(list, func(w io.Writer) error { return showChangedVariables(w, args[0], list) })
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if !dryRun {
			what := fmt.Sprintf("this deletes the variables %s of app %s", strings.Join(args[1:], ", "), args[0])
			if err := e.Console.Confirm(c.Context(), what, yes); err != nil {
				return err
			}
		}
		return do(c, args)
	}
	return c
}
