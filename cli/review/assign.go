package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file assigns plans, and filters the queue by assignee.

// assigned holds the result of an assignment.
type assigned struct {
	id       string
	approval api.Approval
	err      error
}

// assign sends an assignment.
func (d *requester) assign(id string, to api.Assignment) tea.Cmd {
	return d.Do(d.patience, func(ctx context.Context) tea.Msg {
		a, err := apiclient.Decode[api.Approval](d.client.AssignApproval(ctx, id, to))
		a.Report = nil
		return assigned{id, a, screen.TimeoutError(err)}
	})
}

// The words that stand for an assignee: the caller, and nobody.
const (
	Me     = "me"
	Nobody = "none"
)

// assign assigns the selected plans to the user or, with an empty name, to nobody.
func (m *model) assign(to string) tea.Cmd {
	if !m.live() {
		m.say(m.theme.Warn, "control plane unreachable: cannot assign anything")
		return nil
	}
	items := m.queue.marked()
	if len(items) == 0 {
		items = m.queue.current().covers()
	}
	var cmds []tea.Cmd
	for _, i := range items {
		if i.ended || to == Me && i.approval.Yours || to == "" && i.approval.Assignee == "" {
			continue
		}
		was := i.approval.Assignee
		cmds = append(cmds, m.ask.assign(i.approval.ID, api.Assignment{Assignee: to, Expected: &was}))
	}
	if len(cmds) == 0 {
		m.say(m.theme.Faint, "nothing to assign")
		return nil
	}
	m.assigning = assigning{left: len(cmds), to: to}
	return tea.Batch(cmds...)
}

// assigning is the progress of an assignment of several plans.
type assigning struct {
	left, done int
	to         string
	err        error
}

// assigned handles the result of one assignment.
func (m *model) assigned(a assigned) {
	p := &m.assigning
	p.left--
	if a.err != nil {
		p.err = a.err
	} else {
		p.done++
		if i := m.queue.find(a.id); i != nil {
			i.approval.Assignee, i.approval.AssignedBy, i.approval.Yours =
				a.approval.Assignee, a.approval.AssignedBy, a.approval.Yours
		}
	}
	if p.left > 0 {
		return
	}
	what := diff.Plural(p.done, "plan is", "plans are") + " assigned to you"
	if p.to == "" {
		what = diff.Plural(p.done, "plan is", "plans are") + " assigned to nobody"
	}
	switch {
	case p.err != nil && p.done == 0:
		m.say(m.theme.Bad, firstLine(p.err))
	case p.err != nil:
		m.say(m.theme.Bad, what+"; not all: "+firstLine(p.err))
	default:
		m.say(m.theme.Good, what)
	}
}

// The words of the filter that stand for assignees: @NAME, the user, and nobody.
const (
	assigneePrefix = "@"
	mine           = assigneePrefix + Me
	nobodys        = assigneePrefix + Nobody
)

// hasAssignee reports whether an approval has the assignee of a word of the filter.
func hasAssignee(a api.Approval, word string) bool {
	switch word {
	case mine:
		return a.Yours
	case nobodys:
		return a.Assignee == ""
	}
	return strings.HasPrefix(strings.ToLower(a.Assignee), strings.TrimPrefix(word, assigneePrefix))
}

// HasAssignee reports whether an approval is assigned to an approver: a name, "me", or "none" for nobody.
func HasAssignee(a api.Approval, who string) bool {
	switch who {
	case Me:
		return a.Yours
	case Nobody:
		return a.Assignee == ""
	}
	return a.Assignee == who
}

// nextAssignee changes the filter: all plans of the team, those of the user, and those of nobody.
func (m *model) nextAssignee() tea.Cmd {
	next := mine
	var words []string
	for _, w := range m.queue.filter {
		switch {
		case w == mine:
			next = nobodys
		case w == nobodys:
			next = ""
		case !strings.HasPrefix(w, assigneePrefix):
			words = append(words, w)
		}
	}
	return m.setFilter(strings.TrimSpace(strings.Join(words, " ") + " " + next))
}

// Assignee names who has approvals that share a row: one name, "2 people", or "" for nobody.
func Assignee(alike []api.Approval) string {
	return people(alike, func(a api.Approval) string { return a.Assignee })
}

// people is Assignee for any type that has an assignee.
func people[T any](all []T, assignee func(T) string) string {
	var names []string
	for _, one := range all {
		if who := assignee(one); who != "" && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%d people", len(names))
}

// assignee names who has the plans of a row: "@me", "@bob", "@2 people", or nothing.
func (m *model) assignee(at row) string {
	alike := at.alike()
	switch who := people(alike, func(i *item) string { return i.approval.Assignee }); {
	case who == "":
		return ""
	case slices.ContainsFunc(alike, func(i *item) bool { return i.approval.Yours && i.approval.Assignee == who }):
		return mine
	default:
		return assigneePrefix + console.Line(who)
	}
}
