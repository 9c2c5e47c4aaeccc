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

// mostNamed is how many installs are named where plans that are alike are shown, and mostAsked where they are asked about.
const (
	mostNamed = 12
	mostAsked = 100
)

// likeIt are the plans that wait and are like the one that is named, that one first, after a person has agreed to answer all of them.
// What is answered is what is listed here: what comes meanwhile is not.
func (a *answer) likeIt(ctx context.Context, client *remote.Client, t api.Approval) ([]api.Approval, error) {
	if t.Status != api.ApprovalStatusWaiting {
		return nil, fmt.Errorf("%s on %s/%s no longer waits: it is %s", review.Subject(t), t.App, t.Install, t.Status)
	}
	all := []api.Approval{t}
	if t.Group != "" {
		others, err := waiting(ctx, client, api.ListApprovalsParams{Group: t.Group, Brief: true})
		if err != nil {
			return nil, err
		}
		others = slices.DeleteFunc(others, func(o api.Approval) bool {
			return o.ID == t.ID || o.Group != t.Group || o.App != t.App || review.Subject(o) != review.Subject(t) || o.Destroy != t.Destroy
		})
		all = append(all, others...)
	}
	switch n := len(all); {
	case a.count != 0 && a.count != n:
		return nil, fmt.Errorf("%s alike, not %d: `nuon approvals list` shows which", diff.Plural(n, "plan that waits is", "plans that wait are"), a.count)
	case n == 1:
		a.env.Console.Say("no other plan that waits is like %s on %s/%s", review.Subject(t), t.App, t.Install)
		return all, nil
	}
	return all, a.agree(ctx, all)
}

// agree lists plans that are alike, and asks.
func (a *answer) agree(ctx context.Context, all []api.Approval) error {
	c, t := a.env.Console, all[0]
	c.Say("%s %s on %s, each %s", review.Verb(t), review.Subject(t), review.Place(all), each(t))
	c.Say("%s", c.Wrap("  at "+console.Line(review.Names(all, mostAsked)), 2))
	what := fmt.Sprintf("this %ss %s on %s", a.give, review.Subject(t), review.Place(all))
	switch {
	case a.count == len(all):
		return nil
	case a.give == api.ResponseAnswerReject || !slices.ContainsFunc(all, review.Grave):
		return c.Confirm(ctx, what, a.yes)
	case !c.Asks():
		return exit.Usagef("%s, which %s; say --count %d if you mean it", what, each(t), len(all))
	}
	word := fmt.Sprintf("%s %d", review.Subject(t), len(all))
	answer, err := c.Ask(ctx, fmt.Sprintf("This cannot be undone. Type %s to approve: ", word))
	if err == nil && strings.TrimSpace(answer) != word {
		err = exit.With(exit.Rejected, errors.New("nothing was done"))
	}
	return err
}

// each is what a plan does, in words.
func each(a api.Approval) string {
	t := totals(a)
	words := t.Words()
	switch {
	case words == "" && review.Grave(a):
		return "destroys or replaces something"
	case words == "":
		return "changes something"
	}
	return "has " + words
}

// totals are the counts of a plan; none for one that has no report.
func totals(a api.Approval) (t diff.Totals) {
	_ = json.Unmarshal(a.Totals, &t) // then there are none
	return t
}
