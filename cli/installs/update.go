package installs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// updateRun is the state of one run of `nuon installs update`.
type updateRun struct {
	env      *cmdenv.Env
	approval string
	destroy  bool
	others   bool
	labels   []string
	account  []string
	values   values
	// overrides are the values of --helm-values and --tf-vars.
	overrides overrideFlags
	preview   bool
	// interactive shows a form of the inputs if no change is given, and asks before making
	// the change.
	interactive bool
	settling    waitOptions
}

func newUpdate(e *cmdenv.Env) *cobra.Command {
	o := &updateRun{env: e}
	c := &cobra.Command{
		Use:   "update INSTALL",
		Short: "Change the inputs, labels, overrides or approval rule of an install",
		Args:  cobra.ExactArgs(1),
		Long: `Change the inputs, labels, overrides or approval rule of an install. Settings that are not passed stay.

Components are planned again if their templates read a changed input, or an output of such a component.

--helm-values and --tf-vars set what the install overrides of a component: Helm values that are merged over
all others, and Terraform variables that win over all others. Only that component is planned again.

--preview shows what would change, and the consequences, and exits. --interactive (-i) shows the same
and asks for confirmation; if no change is passed it starts with a form of the inputs.

Loosening the approval settings needs the approver role. Who set them, and when, is recorded and shown
with every approval that they give. With --approvals-by-others, nobody can approve a plan, a script or
a looser setting that they requested themselves.

Adding an account ID, project, subscription or tenant with --account needs the admin role: a machine of that
account registers as the runner of the install without a confirmation.

An install that is managed by a file is changed with "nuon installs sync".`,
		Example: `  nuon installs update acme --input greeting=hello --preview
  nuon installs update acme --input-file settings=@settings.json --wait
  nuon installs update acme --helm-values web=@acme-values.yaml --preview
  nuon installs update acme --label tier=gold --label region=
  nuon installs update acme --interactive`,
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), args[0], c.Flags().Changed)
		},
	}
	c.Flags().StringVar(&o.approval, "approval", "", "approval rule: prompt, or approve-all, which needs the "+
		"approver role")
	c.Flags().BoolVar(&o.destroy, "allow-destroy", false,
		"with approve-all: let through what deletes or replaces, too; needs the role approver")
	c.Flags().BoolVar(&o.others, "approvals-by-others", false,
		"forbid people to approve what they requested themselves; =false needs the approval of another approver")
	c.Flags().StringArrayVar(&o.labels, "label", nil, "set a label, NAME=VALUE; NAME= removes it (repeatable)")
	accountFlag(c, &o.account)
	o.overrides.flags(c)
	c.Flags().BoolVar(&o.preview, "preview", false, "show what would change and the consequences, and exit")
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false,
		"show a form of the inputs if no change is passed, show the consequences, and ask for confirmation")
	o.values.flags(c)
	o.settling.flags(c)
	c.MarkFlagsMutuallyExclusive("preview", "wait")
	c.MarkFlagsMutuallyExclusive("preview", "interactive")
	complete.FlagWords(c, "approval", "prompt", "approve-all")
	complete.Flag(e, c, "input", complete.Inputs)
	return c
}

func (o *updateRun) run(ctx context.Context, install string, says func(flag string) bool) error {
	var change api.InstallChange
	err := o.env.Console.CheckInteractive(o.interactive)
	if err != nil {
		return err
	}
	if change.Labels, err = keyvalue.Pairs("--label", o.labels); err != nil {
		return err
	}
	if change.Account, err = parseAccount(o.account); err != nil {
		return err
	}
	if change.Overrides, err = o.overrides.read(); err != nil {
		return err
	}
	change.Approval = api.InstallChangeApproval(o.approval)
	destroy, others := says("allow-destroy"), says("approvals-by-others")
	if destroy {
		change.AllowDestroy = &o.destroy
	}
	if others {
		change.ApprovalsByOthers = &o.others
	}
	entered, err := o.values.read(ctx, o.env, nil)
	if err != nil {
		return err
	}
	other := destroy || others || o.approval != "" || len(o.labels)+len(o.account)+len(change.Overrides) > 0
	asks := !other && !o.values.any()
	if asks && !o.interactive {
		return exitcode.Usagef("no change was passed: use --input, --input-file, --secret, --label, --helm-values, " +
			"--tf-vars, --approval, --allow-destroy or --approvals-by-others, or --interactive for a form of the inputs")
	}
	client, err := o.env.Client()
	if err != nil {
		return err
	}
	i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, install))
	if err != nil {
		return err
	}
	if err := o.ask(ctx, client, i, entered, asks); err != nil {
		return err
	}
	to := sealingContext{install: pinnedInstall(i, install), which: api.GetSealingKeyParams{Install: i.ID},
		given: o.values.key}
	if change.Inputs, err = entered.seal(ctx, o.env, client, to); err != nil {
		return err
	}
	if asks && len(change.Inputs) == 0 {
		o.env.Console.Messagef("nothing was changed")
		return nil
	}
	return o.apply(ctx, client, i, change)
}

// ask rejects plain-text values of sensitive inputs and, if asks is set, shows the
// form of the inputs.
func (o *updateRun) ask(ctx context.Context, client *apiclient.Client, i api.Install, e enteredValues,
	asks bool) error {
	if len(e.plain) == 0 && !asks {
		return nil
	}
	config, err := appConfig(ctx, client, i.App, i.Pinned)
	if err != nil {
		return err
	}
	if err := e.check(config); err != nil || !asks {
		return err
	}
	current, kept := map[string]string{}, map[string]bool{}
	for _, in := range i.Inputs {
		if in.Sensitive {
			kept[in.Name] = true
		} else {
			current[in.Name] = in.Value
		}
	}
	answers, err := form.Ask(ctx, o.env.Console, form.Inputs(config, nil, current, kept))
	e.add(answers)
	return err
}

// apply shows the effects of a change with --preview or --interactive, and makes the change.
func (o *updateRun) apply(ctx context.Context, client *apiclient.Client, i api.Install,
	change api.InstallChange) error {
	if o.preview {
		p, err := preview(ctx, client, i, change)
		if err != nil {
			return err
		}
		return o.env.Console.Result(p, func(w io.Writer) error { return showPreview(w, p) })
	}
	if o.interactive {
		if err := confirm(ctx, o.env, client, i, change, "this changes "+i.App+"/"+i.Name); err != nil {
			return err
		}
	}
	return makeChange(ctx, o.env, client, i, change, &o.settling)
}

// confirm shows the effects of a change and asks for confirmation.
func confirm(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, i api.Install,
	change api.InstallChange, what string) error {
	p, err := preview(ctx, client, i, change)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := showPreview(&b, p); err != nil {
		return err
	}
	e.Console.Messagef("%s", b.String())
	return e.Console.Confirm(ctx, what, false)
}

// makeChange changes an install and prints the result.
func makeChange(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, i api.Install,
	change api.InstallChange, s *waitOptions) error {
	i, err := apiclient.Decode[api.Install](client.UpdateInstall(ctx, i.ID, change))
	if err != nil {
		return err
	}
	return s.end(ctx, e.Console, client, i, func(i api.Install) error {
		return e.Console.Result(i, func(w io.Writer) error { return show(w, i) })
	})
}

func newManagedBy(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "managed-by INSTALL manual|config",
		Short: "Set whether an install is managed manually or by its file in installs/",
		Args:  cobra.ExactArgs(2),
		Long: `Set whether an install is managed manually or by its file in installs/.

Only "nuon installs sync" changes an install that is managed by its file, so that the next sync undoes no
manual change. It does not change an install that is managed manually.`,
		Example: "  nuon installs managed-by acme manual",
		ValidArgsFunction: complete.Args(e, complete.Installs,
			func(context.Context, *apiclient.Client, []string) ([]complete.Name, error) {
				return []complete.Name{{Name: string(api.InstallManagedByManual), About: "people and programs"},
					{Name: string(api.InstallManagedByConfig), About: "its file in installs/"}}, nil
			}),
		RunE: func(c *cobra.Command, args []string) error {
			managedBy := api.InstallChangeManagedBy(args[1])
			if !managedBy.Valid() {
				return exitcode.Usagef("invalid value %q: use manual or config", args[1])
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			i, err := apiclient.Decode[api.Install](client.UpdateInstall(c.Context(), args[0],
				api.InstallChange{ManagedBy: managedBy}))
			if err != nil {
				return err
			}
			return e.Console.Result(i, func(w io.Writer) error {
				text := "is now managed manually: change it with `nuon installs update`"
				if i.ManagedBy == api.InstallManagedByConfig {
					text = "is now managed by its file: change it with `nuon installs sync`; print the file with " +
						"`nuon installs generate-config " +
						address(i.App, i.Name) + "`"
				}
				_, err := fmt.Fprintf(w, "%s/%s %s\n", i.App, i.Name, text)
				return err
			})
		},
	}
}
