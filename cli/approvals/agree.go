package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file displays what an answer covers, and asks for confirmation.

// maxNamed is the maximum number of installs named where plans of a group are shown;
// maxListed is the maximum where a person is asked about them. maxIDs is the maximum
// number of ids in the command that an error suggests to scripts.
const (
	maxNamed  = 12
	maxListed = 100
	maxIDs    = 50
)

// groupMembers returns a waiting plan and the other waiting plans of its group, the given
// one first. The answer does not cover plans that join the group later.
func groupMembers(ctx context.Context, client *apiclient.Client, t api.Approval) ([]api.Approval, error) {
	all := []api.Approval{t}
	if t.Group == "" {
		return all, nil
	}
	others, err := listWaiting(ctx, client, api.ListApprovalsParams{Group: t.Group, Brief: true})
	if err != nil {
		return nil, err
	}
	return append(all, slices.DeleteFunc(others, func(o api.Approval) bool {
		return o.ID == t.ID || o.Group != t.Group || o.App != t.App || review.Subject(o) != review.Subject(t) ||
			o.Destroy != t.Destroy
	})...), nil
}

// agree has a person confirm the answer: it displays the counts and the risk of
// each plan and prompts. Without a terminal, it accepts only plans that are named
// exactly. Rejecting named plans needs no confirmation.
func (a *answerOptions) agree(ctx context.Context, client *apiclient.Client, targets []api.Approval) error {
	rejects, many := a.give == api.ResponseAnswerReject, a.all || a.alike
	for _, t := range targets {
		if t.Status != api.ApprovalStatusWaiting {
			return fmt.Errorf("%s on %s/%s (%s) is no longer waiting: it is %s: %s",
				review.Subject(t), t.App, t.Install, t.ID, t.Status, review.Verdict(t))
		}
	}
	switch {
	case len(targets) == 0, rejects && !many:
		return nil
	case !a.env.Console.Asks() && !a.exact:
		return a.refuse(targets)
	}
	groups := review.Gather(targets)
	if err := a.display(ctx, client, groups); err != nil || !a.env.Console.Asks() {
		return err
	}
	return a.ask(ctx, groups, len(targets))
}

// refuse returns the error for an answer without a terminal that does not name its
// plans exactly. It suggests the command that does.
func (a *answerOptions) refuse(targets []api.Approval) error {
	what := "this " + string(a.give) + "s " + review.Subject(targets[0]) + " on " + review.Place(targets)
	if a.all {
		what = fmt.Sprintf("this %ss %s", a.give, diff.Plural(len(targets), "plan", "plans"))
	}
	command := "nuon " + string(a.give)
	if a.reason != "" {
		command += fmt.Sprintf(" --reason %q", a.reason)
	}
	if len(targets) > maxIDs {
		return exitcode.Usagef("%s, which needs a terminal; without one, pass the IDs of the plans that you have "+
			"reviewed (`nuon approvals list -o name`): %s ID…",
			what, command)
	}
	for _, t := range targets {
		command += " " + t.ID
	}
	read := "nuon review --print"
	if len(targets) == 1 {
		read = "nuon review " + targets[0].ID
	}
	return exitcode.Usagef("%s, which needs a terminal; without one, review it with `%s`, then run: %s", what, read,
		command)
}

// display prints what the answer covers, with the plans of a group once. It returns an
// error for an approval of a plan whose report is inconsistent.
func (a *answerOptions) display(ctx context.Context, client *apiclient.Client, groups [][]api.Approval) error {
	c := a.env.Console
	for _, alike := range groups {
		t, err := whole(ctx, client, alike[0])
		if err != nil {
			return err
		}
		report, err := review.ReportOf(t)
		if err != nil && a.give == api.ResponseAnswerApprove {
			return err
		}
		if !c.Asks() {
			continue
		}
		id, each := "   ("+t.ID+")", ""
		if len(alike) > 1 {
			id, each = "", "each "
		}
		c.Messagef("%s %s on %s%s", review.Verb(t), review.Subject(t), review.Place(alike), id)
		c.Messagef("  %s%s", each, effect(t, report))
		if len(alike) > 1 {
			c.Messagef("%s", c.Wrap("  at "+console.Line(review.Names(alike, maxListed)), 2))
		}
		if scripts := review.Scripts(t); scripts != "" {
			c.Messagef("%s", c.Wrap("  with "+console.Line(scripts), 2))
		}
		if t.Because != "" {
			c.Messagef("%s", c.Wrap("  because "+console.Line(t.Because), 2))
		}
	}
	return nil
}

// effect describes the counts of a plan and its highest risk.
func effect(a api.Approval, report *diff.Report) string {
	t, risk := totals(a), diff.RiskNone
	if report != nil {
		t, risk = report.Totals, report.Risk()
	}
	words := []string{t.Text()}
	switch {
	case words[0] == "" && review.NeedsTypedConfirmation(a):
		words[0] = "destroys or replaces something"
	case words[0] == "":
		words[0] = "changes something"
	}
	if t.Security > 0 {
		words = append(words, diff.Plural(t.Security, "security finding", "security findings"))
	}
	return strings.Join(append(words, "highest risk: "+risk.Label()), "; ")
}

// ask prompts for confirmation: for each destructive group by the name of its component,
// and for all others together.
func (a *answerOptions) ask(ctx context.Context, groups [][]api.Approval, all int) error {
	if a.give == api.ResponseAnswerReject {
		return a.env.Console.Confirm(ctx, "this rejects "+diff.Plural(all, "plan", "plans"), false)
	}
	rest := all
	for _, alike := range groups {
		if review.NeedsTypedConfirmation(alike[0]) {
			rest -= len(alike)
			if err := a.typed(ctx, "This cannot be undone. Type %s to approve: ",
				review.ConfirmationText(review.Subject(alike[0]), len(alike), true)); err != nil {
				return err
			}
		}
	}
	switch {
	case rest == 0:
		return nil
	case all == 1:
		return a.env.Console.Confirm(ctx,
			fmt.Sprintf("this approves %s on %s", review.Subject(groups[0][0]), review.Place(groups[0])), false)
	}
	return a.typed(ctx, "Type %s to approve "+diff.Plural(rest, "plan", "plans")+": ", fmt.Sprint(rest))
}

// typed prompts for a word, and returns an error if they type another.
func (a *answerOptions) typed(ctx context.Context, prompt, word string) error {
	got, err := a.env.Console.Ask(ctx, fmt.Sprintf(prompt, word))
	if err == nil && strings.TrimSpace(got) != word {
		err = exitcode.With(exitcode.Rejected, errors.New("canceled: nothing was approved"))
	}
	return err
}

// totals returns the counts of a plan; all are zero if the plan has no report.
func totals(a api.Approval) (t diff.Totals) {
	_ = json.Unmarshal(a.Totals, &t) // on error, the counts stay zero
	return t
}
