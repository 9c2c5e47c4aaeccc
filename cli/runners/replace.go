package runners

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newReplace(e *cmdenv.Env) *cobra.Command {
	var word api.Replacement
	var yes bool
	c := &cobra.Command{
		Use:   "replace RUNNER",
		Short: "Replace a runner whose machine is lost",
		Args:  cobra.ExactArgs(1),
		Long: `Replace a runner whose machine is lost for good, so that none of its jobs is running anymore.

Its key is revoked. Its running jobs end as lost and release their state locks; the next plan finds what
they did. A new machine registers in its place, with the install.key file of the old one. If the old
machine returns, it can still deliver what it wrote: nothing is lost, and if both wrote the same state,
a person decides. A machine that registers by its cloud identity waits for "nuon runners confirm".

If install.key is lost, too, add --new-key: sensitive inputs must be entered again (after
"nuon installs trust" has pinned the new key), and Terraform states that are sealed to the old key can
no longer be read.`,
		Example:           `  nuon runners replace acme --reason "the VM was deleted" --yes`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			what := fmt.Sprintf("this ends the running jobs of runner %s (`nuon runners get %[1]s` lists them) and "+
				"revokes its key%s", args[0], keyText(word.NewKey))
			if err := e.Console.Confirm(ctx, what, yes); err != nil {
				return err
			}
			done, err := apiclient.Decode[api.ReplacedRunner](client.ReplaceRunner(ctx, args[0], word))
			if err != nil {
				return err
			}
			return e.Console.Result(done, func(w io.Writer) error { return printReplaced(w, done) })
		}),
	}
	c.Flags().StringVar(&word.Reason, "reason", "", "reason, recorded in the audit log and shown with the lost jobs")
	c.Flags().BoolVar(&word.NewKey, "new-key", false,
		"the install key is lost, too: the new machine brings another one")
	c.Flags().BoolVar(&yes, "yes", false, "skip the confirmation prompt")
	_ = c.MarkFlagRequired("reason") // fails only for an unknown flag
	return c
}

func keyText(newKey bool) string {
	if newKey {
		return "; its sensitive inputs and Terraform states can no longer be read"
	}
	return ""
}

// printReplaced prints what was lost and what to do next.
func printReplaced(w io.Writer, done api.ReplacedRunner) error {
	fmt.Fprintf(w, "replaced runner %s. ", console.Line(done.Runner.Name))
	switch len(done.Lost) {
	case 0:
		fmt.Fprintln(w, "It had no running jobs.")
	default:
		fmt.Fprintln(w, "Lost jobs:")
		for _, a := range done.Lost {
			fmt.Fprintf(w, "  attempt %d of job %s\n", a.Attempt, console.Line(a.Job))
		}
	}
	if done.Runner.Kind == api.RunnerKindInstall && done.Runner.KeyID != "" {
		fmt.Fprintf(w, "Put the file install.key (key %s) of the old machine into the new one's directory. ",
			console.Line(done.Runner.KeyID))
	}
	return howToStart(w, done.Runner, done.RegistrationToken)
}
