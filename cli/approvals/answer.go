package approvals

import (
	"context"
	"errors"
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
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// answerOptions holds the flags and the state that approve and reject share.
type answerOptions struct {
	env     *cmdenv.Env
	give    api.ResponseAnswer
	reason  string
	install string
	all     bool
	alike   bool
	digest  string

	follow workflows.WaitOptions // --wait

	workflow string // the workflow to approve as a whole
	revoke   bool   // takes that approval back

	exact bool // the person named exactly what they were shown: ids, or a content digest
	left  int  // number of plans that --all leaves out
}

// NewApprove returns the command `nuon approve`.
func NewApprove(e *cmdenv.Env) *cobra.Command {
	a := answerOptions{env: e, give: api.ResponseAnswerApprove}
	c := &cobra.Command{
		Use:   "approve INSTALL/COMPONENT|APPROVAL…|--workflow WORKFLOW",
		Short: "Approve plans, scripts or settings",
		Args:  cobra.ArbitraryArgs,
		Long: `Approve plans, scripts or looser approval settings, exactly as they are displayed.

The command displays what is to be approved with its counts and its highest risk, and asks for
confirmation. To approve a plan that destroys, replaces or restores something, type the name of its
component; to approve several plans at once, type their number.

Without a terminal, name what you have reviewed by the ID that "nuon review" prints, or pass its
content digest with --digest. Otherwise nothing is approved, and the error contains the command to run.

--alike also approves all waiting plans that are alike. --all approves everything that is waiting,
except what destroys, replaces or restores something, loosens settings, has changes that its report
does not show (a masked argument, a truncated report), or was rejected before. The command lists what
it left out and exits with 3.

--workflow approves in your name everything that a provision or deploy plans until it ends, including
what is already waiting. It never approves destroys, replacements, scripts that no approver has seen
for the install, plans whose report is incomplete, or changes that a person rejected before. Your
permission is checked again at each use; --revoke withdraws the approval.

--wait shows the apply until the workflow ends or needs a person. The exit code is then 0 if it succeeded,
1 if it failed, 3 if it waits for another approval and 4 if a change was rejected.`,
		Example: "  nuon approve acme/web\n  nuon approve apr_…\n  nuon approve acme/web --digest sha256:…\n" +
			"  nuon approve acme/metrics --alike\n  nuon approve --install acme --all\n  nuon approve --workflow acme\n  nuon " +
			"approve --workflow wfl_… --revoke",
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },

		ValidArgsFunction: complete.Rest(e, complete.Approvals),
	}
	a.flags(c)
	a.wholeFlags(c)
	a.follow.Flags(c, "wait until the workflows of the approved plans end or need a person")
	c.MarkFlagsMutuallyExclusive("workflow", "wait")
	return c
}

// NewReject returns the command `nuon reject`.
func NewReject(e *cmdenv.Env) *cobra.Command {
	a := answerOptions{env: e, give: api.ResponseAnswerReject}
	c := &cobra.Command{
		Use:   "reject INSTALL/COMPONENT|APPROVAL… --reason TEXT",
		Short: "Reject plans until something in them changes",
		Args:  cobra.ArbitraryArgs,
		Example: "  nuon reject acme/web --reason 'not during the sale'\n" +
			"  nuon reject acme/web --alike --reason 'not during the sale'",
		ValidArgsFunction: complete.Rest(e, complete.Approvals),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(a.reason) == "" {
				return exitcode.Usagef("--reason is required: it is shown to everyone who views the install")
			}
			return a.run(c.Context(), args)
		},
	}
	a.flags(c)
	return c
}

func (a *answerOptions) flags(c *cobra.Command) {
	left := "everything that is waiting"
	if a.give == api.ResponseAnswerApprove {
		left += ", except what destroys, replaces, restores, loosens settings or has an incomplete report"
	}
	c.Flags().StringVar(&a.reason, "reason", "", "reason, shown to everyone who views the install")
	c.Flags().StringVar(&a.install, "install", "", "with --all: only this install")
	complete.Flag(a.env, c, "install", complete.Installs)
	c.Flags().BoolVar(&a.all, "all", false, left)
	c.Flags().StringVar(&a.digest, "digest", "", "content digest of the plan that you have reviewed (nuon review "+
		"-o json)")
	c.Flags().BoolVar(&a.alike, "alike", false, "also all waiting plans that are alike")
}

func (a *answerOptions) run(ctx context.Context, args []string) error {
	if err := a.follow.Check(); err != nil {
		return err
	}
	switch {
	case a.workflow != "":
		return a.approveWorkflow(ctx, args)
	case a.revoke:
		return exitcode.Usagef("--revoke needs --workflow, which names the approval to withdraw")
	case a.all == (len(args) > 0):
		return exitcode.Usagef("name what to %s (`nuon review` lists it), or pass --all", a.give)
	case a.install != "" && !a.all:
		return exitcode.Usagef("--install needs --all; without it, use %s/COMPONENT", a.install)
	case a.digest != "" && len(args) != 1:
		return exitcode.Usagef("--digest needs one plan: name the plan that has this digest")
	case a.alike && (len(args) != 1 || a.digest != ""):
		return exitcode.Usagef("--alike needs one named plan and excludes --digest: each plan has its own digest")
	}
	client, err := a.env.Client()
	if err != nil {
		return err
	}
	targets, err := a.targets(ctx, client, args)
	if err != nil {
		return err
	}
	if err := a.agree(ctx, client, targets); err != nil {
		return err
	}
	respond := a.respond
	if a.alike || a.all {
		respond = a.respondAll
	}
	done, err := respond(ctx, client, targets)
	if err == nil && a.follow.Wait {
		return a.showAndFollow(ctx, client, done)
	}
	if err == nil && a.left > 0 {
		err = exitcode.With(exitcode.Waiting,
			fmt.Errorf("%s to approve by name", diff.Plural(a.left, "plan is still waiting", "plans are still waiting")))
	}
	return errors.Join(a.show(done), err) // the answers before an error are recorded
}

// showAndFollow prints the answers, and waits for the workflows of the approved plans, one after the other.
func (a *answerOptions) showAndFollow(ctx context.Context, client *apiclient.Client, done []api.Approval) error {
	if err := a.show(done); err != nil {
		return err
	}
	answered := func(id string) bool {
		return slices.ContainsFunc(done, func(d api.Approval) bool { return d.ID == id })
	}
	var first error
	seen := map[string]bool{"": true} // settings have no workflow
	for _, d := range done {
		if seen[d.Workflow] {
			continue
		}
		seen[d.Workflow] = true
		w, err := workflows.WaitAfter(ctx, a.env.Console, client, d.Workflow, a.follow.Timeout, answered)
		if err != nil {
			return err
		}
		a.env.Console.Messagef("%s %d of %s/%s: %s", w.Kind, w.Number, w.App, w.Install, console.Line(workflows.Reason(w)))
		if first == nil {
			first = workflows.ExitError(w)
		}
	}
	return first
}

// respond answers one plan after the other until one fails, and returns those that it answered.
func (a *answerOptions) respond(ctx context.Context, client *apiclient.Client, targets []api.Approval) ([]api.Approval,
	error) {
	done := []api.Approval{}
	for _, t := range targets {
		got, err := a.send(ctx, client, t)
		if err != nil {
			return done, err
		}
		done = append(done, got)
	}
	return done, nil
}

// maxErrors is the maximum number of errors that are printed; tellEvery is the number
// of answers after which progress is printed.
const (
	maxErrors = 20
	tellEvery = 100
)

// respondAll answers many plans. It continues after a failure, unless the control
// plane is unreachable.
func (a *answerOptions) respondAll(ctx context.Context, client *apiclient.Client,
	targets []api.Approval) ([]api.Approval, error) {
	done, failed := []api.Approval{}, []error{}
	for i, t := range targets {
		if i > 0 && i%tellEvery == 0 && a.env.Console.ErrIsTerminal {
			a.env.Console.Messagef("answered %d of %d", len(done), len(targets))
		}
		got, err := a.send(ctx, client, t)
		if err == nil {
			done = append(done, got)
			continue
		}
		failed = append(failed, err)
		if code := exitcode.CodeOf(err); code == exitcode.Unreachable || ctx.Err() != nil {
			if rest := len(targets) - i - 1; rest > 0 {
				failed = append(failed, exitcode.With(code,
					fmt.Errorf("%s not sent", diff.Plural(rest, "more answer was", "more answers were"))))
			}
			break
		}
	}
	if n := len(failed); n > maxErrors {
		failed = append(failed[:maxErrors-1], fmt.Errorf("and %d more", n-maxErrors+1))
	}
	if len(failed) > 0 && len(targets) > 1 {
		failed = slices.Insert(failed, 0, fmt.Errorf("answered %d of %d", len(done), len(targets)))
	}
	return done, errors.Join(failed...)
}

// send sends the answer for one plan, bound to the plan and content that were displayed.
func (a *answerOptions) send(ctx context.Context, client *apiclient.Client, t api.Approval) (api.Approval, error) {
	given := api.Response{Answer: a.give, Plan: t.Plan, ContentDigest: t.ContentDigest, Reason: a.reason}
	got, err := apiclient.Decode[api.Approval](client.RespondApproval(ctx, t.ID, given))
	if err != nil {
		return got, fmt.Errorf("%s %s on %s/%s: %w", a.give, review.Subject(t), t.App, t.Install, err)
	}
	return got, nil
}

func (a *answerOptions) show(done []api.Approval) error {
	if a.env.Console.Output == "name" {
		return a.env.Console.List(done, nil, ids(done))
	}
	return a.env.Console.Result(done, func(w io.Writer) error { return printAnswers(w, grouped(a.env.Console, done)) })
}

// printAnswers prints one line for each answered plan or group of plans. Plans of a
// group can have different results, and get one line for each.
func printAnswers(w io.Writer, done [][]api.Approval) error {
	for _, alike := range done {
		for _, d := range byStatus(alike) {
			if _, err := fmt.Fprintf(w, "%s: %s on %s\n",
				d[0].Status, review.Subject(d[0]), review.Place(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// byStatus groups plans by their status.
func byStatus(all []api.Approval) [][]api.Approval {
	var out [][]api.Approval
	for _, a := range all {
		n := slices.IndexFunc(out, func(same []api.Approval) bool { return same[0].Status == a.Status })
		if n < 0 {
			out = append(out, nil)
			n = len(out) - 1
		}
		out[n] = append(out[n], a)
	}
	return out
}

// find returns an approval by its id, or the one that waits for install/component (or
// app/install/component).
func find(ctx context.Context, client *apiclient.Client, name string) (api.Approval, error) {
	if !strings.Contains(name, "/") {
		return apiclient.Decode[api.Approval](client.GetApproval(ctx, name))
	}
	all, err := listWaiting(ctx, client, api.ListApprovalsParams{Brief: true})
	if err != nil {
		return api.Approval{}, err
	}
	var found []api.Approval
	for _, a := range all {
		if short := a.Install + "/" + review.Subject(a); name == short || name == a.App+"/"+short {
			found = append(found, a)
		}
	}
	if plans := slices.DeleteFunc(slices.Clone(found),
		func(a api.Approval) bool { return a.Component == "" }); len(plans) == 1 {
		found = plans // a component may be named settings or scripts
	}
	switch len(found) {
	case 0:
		return api.Approval{}, fmt.Errorf("no approvals waiting on %s; list all with `nuon review`", name)
	case 1:
		return found[0], nil
	}
	return api.Approval{}, exitcode.Usagef("%s is ambiguous: use %s/%s or %s/%s",
		name, found[0].App, name, found[1].App, name)
}

// targets returns the approvals to answer. --all leaves out those that require an
// individual approval.
func (a *answerOptions) targets(ctx context.Context, client *apiclient.Client, args []string) ([]api.Approval, error) {
	if a.all {
		return a.everything(ctx, client)
	}
	out := make([]api.Approval, 0, len(args))
	a.exact = !a.alike
	for _, name := range args {
		t, err := find(ctx, client, name)
		if err != nil {
			return nil, err
		}
		if a.digest != "" {
			t.ContentDigest = a.digest
		} else if name != t.ID {
			a.exact = false
		}
		out = append(out, t)
	}
	if a.alike {
		return groupMembers(ctx, client, out[0])
	}
	return out, nil
}

// everything returns the waiting approvals that may be answered together, and reports the others.
func (a *answerOptions) everything(ctx context.Context, client *apiclient.Client) ([]api.Approval, error) {
	all, err := listWaiting(ctx, client, api.ListApprovalsParams{Install: a.install, Brief: true})
	if err == nil && len(all) == 0 {
		a.env.Console.Messagef("no approvals waiting")
	}
	if err != nil || a.give == api.ResponseAnswerReject {
		return all, err
	}
	var safe []api.Approval
	for _, t := range all {
		why := "destroys or replaces"
		switch {
		case len(t.DeniedBy) > 0:
			a.left++
			a.env.Console.Messagef("skipped: %s on %s/%s, which nobody can approve: %s; see nuon review %s",
				review.Subject(t), t.App, t.Install, console.Line(review.Denial(t)), t.ID)
			continue
		case t.Restore > 0:
			why = fmt.Sprintf("restores state version %d", t.Restore)
		case t.Kind == api.ApprovalKindSettings:
			why = "loosen approval"
		case t.IndividualApproval && !review.NeedsTypedConfirmation(t):
			why = "needs a separate approval"
		case !review.NeedsTypedConfirmation(t):
			safe = append(safe, t)
			continue
		}
		a.left++
		a.env.Console.Messagef("skipped: %s on %s/%s %s; approve it by name: nuon approve %s",
			review.Subject(t), t.App, t.Install, why, t.ID)
	}
	return safe, nil
}
