package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file displays what an answer covers, and asks.

// mostNamed is how many installs are named where plans that are alike are shown, and mostAsked where they are asked about. mostIDs is
// how many ids the command has that a script is told to run.
const (
	mostNamed = 12
	mostAsked = 100
	mostIDs   = 50
)

// alikeTo returns the plans that wait and are like one of them, that one first. What comes after this is not answered.
func alikeTo(ctx context.Context, client *remote.Client, t api.Approval) ([]api.Approval, error) {
	all := []api.Approval{t}
	if t.Group == "" {
		return all, nil
	}
	others, err := waiting(ctx, client, api.ListApprovalsParams{Group: t.Group, Brief: true})
	if err != nil {
		return nil, err
	}
	return append(all, slices.DeleteFunc(others, func(o api.Approval) bool {
		return o.ID == t.ID || o.Group != t.Group || o.App != t.App || review.Subject(o) != review.Subject(t) || o.Destroy != t.Destroy
	})...), nil
}

// agree has a person agree to what is answered: it displays the counts and the risk of each, and asks. Without a terminal, only what
// was named exactly is answered. A rejection of what is named needs no question.
func (a *answer) agree(ctx context.Context, client *remote.Client, targets []api.Approval) error {
	rejects, many := a.give == api.ResponseAnswerReject, a.all || a.alike
	for _, t := range targets {
		if t.Status != api.ApprovalStatusWaiting {
			return fmt.Errorf("%s on %s/%s (%s) no longer waits: it is %s: %s", review.Subject(t), t.App, t.Install, t.ID, t.Status, review.Verdict(t))
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

// refuse is the error where nobody can be asked and nobody was shown what would be answered: it names the command that says which
// plans are meant.
func (a *answer) refuse(targets []api.Approval) error {
	what := "this " + string(a.give) + "s " + review.Subject(targets[0]) + " on " + review.Place(targets)
	if a.all {
		what = fmt.Sprintf("this %ss %s", a.give, diff.Plural(len(targets), "plan", "plans"))
	}
	command := "nuon " + string(a.give)
	if a.reason != "" {
		command += fmt.Sprintf(" --reason %q", a.reason)
	}
	if len(targets) > mostIDs {
		return exit.Usagef("%s, and there is no terminal to ask on; give the ids of those that you have read (`nuon approvals list -o name`): %s ID…",
			what, command)
	}
	for _, t := range targets {
		command += " " + t.ID
	}
	read := "nuon review --print"
	if len(targets) == 1 {
		read = "nuon review " + targets[0].ID
	}
	return exit.Usagef("%s, and there is no terminal to ask on; read it with `%s`, then run: %s", what, read, command)
}

// display prints what would be answered, plans that are alike once. A report that does not add up cannot be approved.
func (a *answer) display(ctx context.Context, client *remote.Client, groups [][]api.Approval) error {
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
		c.Say("%s %s on %s%s", review.Verb(t), review.Subject(t), review.Place(alike), id)
		c.Say("  %s%s", each, effect(t, report))
		if len(alike) > 1 {
			c.Say("%s", c.Wrap("  at "+console.Line(review.Names(alike, mostAsked)), 2))
		}
		if scripts := review.Scripts(t); scripts != "" {
			c.Say("%s", c.Wrap("  with "+console.Line(scripts), 2))
		}
		if t.Because != "" {
			c.Say("%s", c.Wrap("  because "+console.Line(t.Because), 2))
		}
	}
	return nil
}

// effect is what a plan does in counts, and its highest risk.
func effect(a api.Approval, report *diff.Report) string {
	t, risk := totals(a), diff.RiskNone
	if report != nil {
		t, risk = report.Totals, report.Risk()
	}
	words := []string{t.Words()}
	switch {
	case words[0] == "" && review.Grave(a):
		words[0] = "destroys or replaces something"
	case words[0] == "":
		words[0] = "changes something"
	}
	if t.Security > 0 {
		words = append(words, diff.Plural(t.Security, "finding about security", "findings about security"))
	}
	return strings.Join(append(words, "highest risk: "+risk.Words()), "; ")
}

// ask asks about each group that is destructive by its name, and about the rest together.
func (a *answer) ask(ctx context.Context, groups [][]api.Approval, all int) error {
	if a.give == api.ResponseAnswerReject {
		return a.env.Console.Confirm(ctx, "this rejects "+diff.Plural(all, "plan", "plans"), false)
	}
	rest := all
	for _, alike := range groups {
		if review.Grave(alike[0]) {
			rest -= len(alike)
			if err := a.typed(ctx, "This cannot be undone. Type %s to approve: ", review.Word(review.Subject(alike[0]), len(alike), true)); err != nil {
				return err
			}
		}
	}
	switch {
	case rest == 0:
		return nil
	case all == 1:
		return a.env.Console.Confirm(ctx, fmt.Sprintf("this approves %s on %s", review.Subject(groups[0][0]), review.Place(groups[0])), false)
	}
	return a.typed(ctx, "Type %s to approve "+diff.Plural(rest, "plan", "plans")+": ", fmt.Sprint(rest))
}

// typed has a person type a word.
func (a *answer) typed(ctx context.Context, prompt, word string) error {
	got, err := a.env.Console.Ask(ctx, fmt.Sprintf(prompt, word))
	if err == nil && strings.TrimSpace(got) != word {
		err = exit.With(exit.Rejected, errors.New("nothing was approved"))
	}
	return err
}

// totals are the counts of a plan; none for one that has no report.
func totals(a api.Approval) (t diff.Totals) {
	_ = json.Unmarshal(a.Totals, &t) // then there are none
	return t
}
