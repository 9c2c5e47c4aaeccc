package runners

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// subject describes who a cloud vouches for.
func subject(s api.CloudSubject) string {
	text := string(s.Cloud) + " account " + s.Account
	if s.Tenant != "" {
		text += " (tenant " + s.Tenant + ")"
	}
	text += ", " + s.Name
	if s.Machine != "" {
		text += " on " + s.Machine
	}
	return text
}

func registeredBy(r api.Runner) string {
	switch r.RegisteredBy {
	case api.RunnerRegisteredByToken:
		return " with a token"
	case api.RunnerRegisteredByIdentity:
		return " by its cloud identity"
	}
	return ""
}

// purposes describes what a claim is for.
var purposes = map[api.CloudClaimPurpose]string{
	api.ClaimRunner: "wants to register", api.ClaimPhoneHome: "reports the stack",
}

// showClaims prints who waits for a confirmation.
func showClaims(w io.Writer, r api.Runner) {
	if len(r.Claims) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwaiting for a confirmation:")
	for _, c := range r.Claims {
		fmt.Fprintf(w, "  %s %s, seen %s\n", console.Line(subject(c.Subject)), purposes[c.Purpose], ago(c.LastSeen))
		if c.KeyFingerprint != "" {
			fmt.Fprintf(w, "    install key %s\n", console.Line(c.KeyFingerprint))
		}
	}
	fmt.Fprintf(w, "Compare the account with the customer, then run: nuon runners confirm %s --account ACCOUNT\n", r.Name)
}

func newConfirm(e *cmdenv.Env) *cobra.Command {
	var account, machine string
	var yes bool
	c := &cobra.Command{
		Use:   "confirm RUNNER --account ACCOUNT",
		Short: "Confirm the customer's cloud account or the machine of a runner",
		Args:  cobra.ExactArgs(1),
		Long: `Confirm that a cloud account, or a machine in it, is the customer's.

A machine that the stack of an install created registers by the identity that its cloud gives it. If the install
names its account (nuon installs create --account aws.account_id=…), that decides. Otherwise the first
account waits for your word, and so does a new machine after "nuon runners replace".

"nuon runners get" lists who waits. Ask the customer for the account and, for a new machine, for the fingerprint that
"runnerd status" prints there.`,
		Example: `  nuon runners confirm acme --account 123456789012
  nuon runners confirm acme --account 123456789012 --machine i-0a1b2c3d4e5f60718 --yes`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			r, err := apiclient.Decode[api.Runner](client.GetRunner(ctx, args[0]))
			if err != nil {
				return err
			}
			claims := matching(r.Claims, account, machine)
			if len(claims) == 0 {
				return exitcode.With(exitcode.Failed, fmt.Errorf("nobody of the account %s waits for a confirmation of runner "+
					"%s; `nuon runners get %s` lists who does", account, r.Name, r.Name))
			}
			if keys := keysOf(claims); len(keys) > 1 {
				return exitcode.With(exitcode.Failed, fmt.Errorf("several machines of the account %s wait for runner %s: "+
					"choose one with --machine", account, r.Name))
			}
			what := "this lets " + strings.Join(describeAll(claims), ", and ") + " for runner " + r.Name
			if err := e.Console.Confirm(ctx, what, yes); err != nil {
				return err
			}
			for _, claim := range claims {
				r, err = apiclient.Decode[api.Runner](client.ConfirmRunner(ctx, r.ID, api.Confirmation{Claim: claim.ID}))
				if err != nil {
					return err
				}
			}
			return e.Console.Result(r, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "confirmed the account %s for runner %s\n", account, r.Name)
				return err
			})
		}),
	}
	c.Flags().StringVar(&account, "account", "", "the account, project or subscription to confirm (required)")
	c.Flags().StringVar(&machine, "machine", "", "the machine to confirm, if several of the account wait")
	c.Flags().BoolVar(&yes, "yes", false, "skip the confirmation prompt")
	_ = c.MarkFlagRequired("account") // fails only for an unknown flag
	return c
}

// matching returns the claims of an account and, of those that register, of a machine.
func matching(claims []api.CloudClaim, account, machine string) []api.CloudClaim {
	return slices.DeleteFunc(slices.Clone(claims), func(c api.CloudClaim) bool {
		return c.Subject.Account != account ||
			machine != "" && c.Purpose == api.ClaimRunner && c.Subject.Machine != machine
	})
}

// keysOf returns the install keys of the machines that want to register.
func keysOf(claims []api.CloudClaim) map[string]bool {
	keys := map[string]bool{}
	for _, c := range claims {
		if c.Purpose == api.ClaimRunner {
			keys[c.KeyFingerprint+c.Subject.Machine] = true
		}
	}
	return keys
}

// describeAll returns what each claim would be allowed.
func describeAll(claims []api.CloudClaim) []string {
	var all []string
	for _, c := range claims {
		what := subject(c.Subject) + " report the stack"
		if c.Purpose == api.ClaimRunner {
			what = subject(c.Subject) + " register with the install key " + c.KeyFingerprint
		}
		all = append(all, what)
	}
	return all
}
