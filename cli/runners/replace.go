package runners

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newReplace(e *cmdenv.Env) *cobra.Command {
	var word api.Replacement
	var yes bool
	c := &cobra.Command{
		Use:   "replace RUNNER",
		Short: "Say that a runner's machine is gone for good, and make room for another",
		Args:  cobra.ExactArgs(1),
		Long: `Say that a runner's machine is gone for good, and that nothing of its jobs runs any more.

Its key is void. What it had in hand ends as lost, with its state locks; what it may have done is found by the next plan. A new machine
registers in its place, with the file install.key of the old one. Should the old machine be there after all, it can still deliver
what it wrote: nothing is lost, and where two have written the same state you are asked.

If install.key is gone with the machine, add --new-key: sensitive inputs have to be entered again (after "nuon installs trust"
has accepted the new key), and Terraform states that are sealed to the old one cannot be read any more.`,
		Example:           `  nuon runners replace acme --reason "the VM was deleted" --yes`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			what := fmt.Sprintf("this ends all that runner %s has in hand (`nuon runners get %[1]s` shows it), and voids "+
				"its key%s", args[0], keyWords(word.NewKey))
			if err := e.Console.Confirm(ctx, what, yes); err != nil {
				return err
			}
			done, err := apiclient.Get[api.ReplacedRunner](client.ReplaceRunner(ctx, args[0], word))
			if err != nil {
				return err
			}
			return e.Console.Result(done, func(w io.Writer) error { return replaced(w, done) })
		}),
	}
	c.Flags().StringVar(&word.Reason, "reason", "", "why; kept in the audit and shown with what is lost")
	c.Flags().BoolVar(&word.NewKey, "new-key", false,
		"the install key is gone, too: another one comes with the new machine")
	c.Flags().BoolVar(&yes, "yes", false, "yes, the machine is gone")
	_ = c.MarkFlagRequired("reason") // fails only for an unknown flag
	return c
}

func keyWords(newKey bool) string {
	if newKey {
		return "; its sensitive inputs and Terraform states cannot be read any more"
	}
	return ""
}

// replaced prints what was lost and what to do next.
func replaced(w io.Writer, done api.ReplacedRunner) error {
	fmt.Fprintf(w, "runner %s is replaced.", done.Runner.Name)
	switch len(done.Lost) {
	case 0:
		fmt.Fprintln(w, " It had nothing in hand.")
	default:
		fmt.Fprintln(w, " Lost with its machine:")
		for _, a := range done.Lost {
			fmt.Fprintf(w, "  attempt %d of job %s\n", a.Attempt, a.Job)
		}
	}
	if done.Runner.Kind == api.RunnerKindInstall && done.Runner.KeyID != "" {
		fmt.Fprintf(w, "Put the file install.key (key %s) of the machine before into the new one's directory. ",
			done.Runner.KeyID)
	}
	return howToStart(w, done.Runner, done.RegistrationToken)
}
