package review

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The messages that the requester sends to the model. Each answers one command.
type (
	// beat is sent every beatEvery, so that the model reads its clock.
	beat struct{}
	// due signals that the next poll of the queue is due.
	due struct{ turn int }
	// rested signals that a row has been selected for restAfter, so its report is worth fetching.
	rested struct{ id string }
	// listed holds the waiting plans, without reports.
	listed struct {
		waiting []api.Approval
		totals  map[string]diff.Totals // by approval id, where the control plane sends them
		where   scope
		large   bool     // it took more than one page
		busy    []string // installs with work in progress; set when nothing waits
		err     error
	}
	// opened holds one plan with its report, or how it ended.
	opened struct {
		id       string
		several  bool // the report is shown for a whole group
		approval api.Approval
		page     *terminal.Page
		report   *diff.Report
		flaw     error // what is wrong with the report
		err      error // why it could not be fetched
	}
	// explained holds the causes of a plan.
	explained struct {
		plan  string
		chain []api.Cause
		err   error
	}
	// answered holds the result of an answer.
	answered struct {
		id       string
		answer   api.ResponseAnswer
		approval api.Approval
		err      error
	}
)

// scope selects waiting plans: those of one install, those of one group, or
// all if both fields are empty.
type scope struct {
	install string // id
	group   string // the control plane's group id
}

// all reports whether the scope includes every plan.
func (s scope) all() bool { return s == scope{} }

// has reports whether the scope includes a waiting plan.
func (s scope) has(a api.Approval) bool {
	return (s.install == "" || s.install == a.InstallID) && (s.group == "" || s.group == a.Group)
}

// How often the requester polls (plus jitter), and how long it waits for a response.
const (
	beatEvery = time.Second
	lookEvery = 1500 * time.Millisecond
	jitter    = time.Second
	restAfter = 120 * time.Millisecond
	patience  = 10 * time.Second

	patienceToRead = time.Minute // a report can be large
)

// page is the page size of lists. maxBusyInstalls is the maximum number of installs
// with work in progress that the screen lists.
const (
	page            = 500
	maxBusyInstalls = 10
)

// requester makes requests to the control plane on behalf of the screen. Each of its methods
// returns a command.
type requester struct {
	*screen.Commands

	client   *apiclient.Client
	wanted   func(api.Approval) bool
	patience time.Duration // the timeout of a request
}

func newRequester(ctx context.Context, client *apiclient.Client, wanted func(api.Approval) bool) *requester {
	return &requester{screen.NewCommands(ctx), client, wanted, patience}
}

func (d *requester) beat() tea.Cmd { return d.After(beatEvery, beat{}) }

// lookAgain schedules the next poll, with jitter, so that many screens do not
// poll at the same time.
func (d *requester) lookAgain(turn int) tea.Cmd {
	return d.After(lookEvery+rand.N(jitter), due{turn})
}

// list fetches the waiting plans of a scope.
func (d *requester) list(where scope) tea.Cmd {
	return d.Do(d.patience, func(ctx context.Context) tea.Msg {
		l := listed{where: where}
		var pages int
		l.waiting, l.totals, pages, l.err = d.waiting(ctx, where, d.wanted)
		l.large, l.err = pages > 1, screen.TimeoutError(l.err)
		if l.err == nil && where.all() && len(l.waiting) == 0 {
			l.busy, l.err = d.busy(ctx)
		}
		return l
	})
}

// waiting fetches the plans of a scope that wait and for which wanted returns
// true, the oldest first and without reports. It also returns the totals that
// the control plane sent and the number of pages.
func (d *requester) waiting(ctx context.Context, where scope,
	wanted func(api.Approval) bool) ([]api.Approval, map[string]diff.Totals, int, error) {
	pages, totals := 0, map[string]diff.Totals{}
	waiting, err := apiclient.ListAll(func(cursor string) ([]api.Approval, string, error) {
		pages++
		got, err := apiclient.Decode[api.ApprovalList](d.client.ListApprovals(ctx, &api.ListApprovalsParams{
			Install: where.install, Group: where.group, Brief: true, Cursor: cursor, Limit: page,
		}))
		return got.Items, got.Next, err
	})
	waiting = slices.DeleteFunc(waiting, func(a api.Approval) bool { return !wanted(a) })
	slices.SortStableFunc(waiting, func(a, b api.Approval) int { return strings.Compare(a.ID, b.ID) })
	for i := range waiting {
		a := &waiting[i]
		var t diff.Totals
		if len(a.Totals) > 0 && json.Unmarshal(a.Totals, &t) == nil {
			totals[a.ID] = t
		}
		a.Report, a.Totals = nil, nil
	}
	return waiting, totals, pages, err
}

// busy lists the installs with work in progress that may lead to a plan.
func (d *requester) busy(ctx context.Context) ([]string, error) {
	got, err := apiclient.Decode[api.InstallList](d.client.ListInstalls(ctx, &api.ListInstallsParams{Limit: page}))
	if err != nil {
		return nil, screen.TimeoutError(err)
	}
	var lines []string
	for _, i := range got.Items {
		if WorkInProgress(i) && d.wanted(api.Approval{App: i.App, Install: i.Name, InstallID: i.ID}) &&
			len(lines) < maxBusyInstalls {
			lines = append(lines, console.Line(fmt.Sprintf("%s/%s: %s", i.App, i.Name, i.Reason)))
		}
	}
	return lines, nil
}

// open fetches a plan with its report and lays it out; for a group, with placeholders for
// the install's own names.
func (d *requester) open(id string, several bool) tea.Cmd {
	return d.Do(patienceToRead, func(ctx context.Context) tea.Msg {
		o := opened{id: id, several: several}
		o.approval, o.err = apiclient.Decode[api.Approval](d.client.GetApproval(ctx, id))
		if o.err = screen.TimeoutError(o.err); o.err != nil {
			return o
		}
		o.report, o.flaw = ReportOf(o.approval)
		if o.flaw == nil {
			o.lay()
		}
		o.approval.Report = nil
		return o
	})
}

// lay lays out the report.
func (o *opened) lay() {
	if o.several {
		o.report = GroupReport(o.approval, o.report)
	}
	o.page = terminal.NewPage(o.report, terminal.PageOptions{})
}

// explain fetches the causes of a plan.
func (d *requester) explain(plan string) tea.Cmd {
	return d.Do(d.patience, func(ctx context.Context) tea.Msg {
		x, err := apiclient.Decode[api.Explanation](d.client.Explain(ctx, api.ExplainParamsKindPlan, plan))
		return explained{plan, x.Chain, screen.TimeoutError(err)}
	})
}

// respond sends a person's answer.
func (d *requester) respond(id string, r api.Response) tea.Cmd {
	return d.Do(patienceToRead, func(ctx context.Context) tea.Msg {
		a, err := apiclient.Decode[api.Approval](d.client.RespondApproval(ctx, id, r))
		a.Report = nil
		return answered{id, r.Answer, a, screen.TimeoutError(err)}
	})
}
