package review

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// began is when the test plans were created; noon is the screen's clock.
var (
	began = time.Date(2026, 3, 4, 11, 55, 0, 0, time.UTC)
	noon  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
)

func text(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }

func reportOf(changes ...diff.Change) *diff.Report {
	r := &diff.Report{Kind: diff.KindTerraform, Changes: changes, Applyable: true}
	for i := range r.Changes {
		r.Changes[i].Risk = max(r.Changes[i].Risk, r.Changes[i].Action.Risk())
	}
	r.Sort()
	r.Totals = r.Count()
	return r
}

// graveReport returns a report with one of everything: updates, replacements,
// deletions, multi-line text, wide characters and terminal control sequences.
func graveReport() *diff.Report {
	r := reportOf(
		diff.Change{Address: "terraform_data.page", Action: diff.Update, ResourceKind: "terraform_data", Name: "page",
			Fields: []diff.FieldChange{
				{Path: "input.address", Before: text("10.42.0.10"), After: text("10.42.0.20")},
				{Path: "input.greeting", Before: text("hello"), After: text("こんにちは 👋 \x1b[2J\x1b]0;owned\x07")},
				{Path: "input.script", Lines: []diff.Line{
					{Op: diff.LineSkipped, Count: 12}, {Op: diff.LineSame, Text: "set -eu"},
					{Op: diff.LineRemoved, Text: "exec serve --port 80"},
					{Op: diff.LineAdded, Text: "exec serve --port 8080\x1b[31m"},
				}},
				{Path: "input.token", Before: diff.ShownValue{Masked: true},
					After: diff.ShownValue{Masked: true, Mark: diff.MarkChanged}},
			}},
		diff.Change{Address: "terraform_data.rollout", Action: diff.Replace, ResourceKind: "terraform_data",
			Name: "rollout", Why: "triggers_replace changed", Fields: []diff.FieldChange{
				{Path: "id", Before: text("old"), After: diff.ShownValue{Unknown: true}},
				{Path: "triggers_replace[0]", Before: text("v1"), After: text("v2"), ForcesReplace: true},
			}},
		diff.Change{Address: "terraform_data.old", Action: diff.Destroy, ResourceKind: "terraform_data", Name: "old",
			Why: "it is no longer in the configuration", Fields: []diff.FieldChange{
				{Path: "id", Before: text("x"), After: diff.ShownValue{Absent: true}},
				{Path: "input", Before: text("y"), After: diff.ShownValue{Absent: true}},
			}},
	)
	r.Folded = []diff.Fold{{Rule: diff.FoldUnchanged, What: diff.FoldResources, Count: 41}}
	r.Totals = r.Count()
	return r
}

func number(n int) diff.ShownValue {
	return diff.ShownValue{Text: fmt.Sprint(n), Type: diff.TypeNumber}
}

// mildReport returns a report that only creates and updates n resources, each in a different way.
func mildReport(n int) *diff.Report {
	var changes []diff.Change
	for i := range n {
		changes = append(changes, diff.Change{Address: fmt.Sprintf("terraform_data.thing[%05d]", i),
			Action: diff.Update, ResourceKind: "terraform_data", Name: "thing", Fields: []diff.FieldChange{
				{Path: "input.replicas", Before: number(i + 2), After: number(i + 3)},
				{Path: "input.text", Before: text("before the change"), After: text("after the change")},
			}})
	}
	return reportOf(changes...)
}

// approvalOf returns a waiting plan.
func approvalOf(id, app, install, component string, r *diff.Report) api.Approval {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return api.Approval{
		ID: id, App: app, Install: install, InstallID: "ins_" + app + install, Component: component,
		Plan: "pln_" + id, Workflow: "wfl_1",
		ContentDigest: "sha256:" + r.Digest()[7:] + id, Status: api.ApprovalStatusWaiting, Report: raw,
		Destructive: r.Destructive(),
		Reason:      "the plan has changes", CreatedAt: began,
		Because: `artifact changed: build 2 of web, because commit f13a39b ("Serve the page from another address") changed modules/web/main.tf`,
	}
}

// several returns three waiting plans, one of them grave.
func several() []api.Approval {
	return []api.Approval{
		approvalOf("apr_1", "hello", "acme", "metrics", mildReport(3)),
		approvalOf("apr_2", "hello", "acme", "web", graveReport()),
		approvalOf("apr_3", "hello", "globex", "metrics", mildReport(40)),
	}
}

// provision returns the workflow of several: two of its plans wait, and a third component
// has no plan yet.
func provision() planned {
	p := planned{id: "wfl_1", workflow: api.Workflow{
		ID: "wfl_1", Number: 1, Kind: api.WorkflowKindProvision, App: "hello", Install: "acme",
		InstallID: "ins_helloacme", Status: api.WorkflowStatusRunning,
		Steps: []api.Step{{Kind: api.StepKindPlan, Component: "web", Status: api.StepStatusSucceeded},
			{Kind: api.StepKindPlan, Component: "cache", Status: api.StepStatusPending}},
	}}
	l := listOf(several()[:2])
	p.waits, p.totals = l.waiting, l.totals
	return p
}

// alike returns plans of one component: five that are alike, one that is not,
// and one of another component.
func alike() []api.Approval {
	var all []api.Approval
	for i, install := range []string{"acme", "globex", "hooli", "initech", "umbrella"} {
		r := mildReport(2)
		r.Changes[0].Fields[1].After = text("the page of " + install)
		a := approvalOf(fmt.Sprintf("apr_%d", i+1), "hello", install, "metrics", r)
		a.Group = "sha256:alike"
		all = append(all, a)
	}
	odd := approvalOf("apr_6", "hello", "wayne", "metrics", mildReport(7))
	odd.Group = "sha256:odd"
	return append(all, odd, approvalOf("apr_7", "hello", "acme", "web", mildReport(1)))
}

// alikeGrave returns three alike plans that destroy something.
func alikeGrave() []api.Approval {
	var all []api.Approval
	for i, install := range []string{"acme", "globex", "hooli"} {
		a := approvalOf(fmt.Sprintf("apr_%d", i+1), "hello", install, "web", graveReport())
		a.Group = "sha256:grave"
		all = append(all, a)
	}
	return all
}

// plane is a fake control plane with waiting plans. Its behavior is changed under its lock.
type plane struct {
	mu        sync.Mutex
	approvals []api.Approval
	answers   []string // "id answer digest reason"
	down      bool     // it answers like a proxy in front of it
	refuse    string   // the id of a plan that somebody else answers first
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/approvals", p.list)
	mux.HandleFunc("GET /v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		if a := p.find(w, r.PathValue("id")); a != nil {
			_ = json.NewEncoder(w).Encode(a)
		}
	})
	mux.HandleFunc("POST /v1/approvals/{id}/response", p.respond)
	mux.HandleFunc("GET /v1/explain/plan/{id}", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.Explanation{Chain: chain()})
	})
	mux.HandleFunc("GET /v1/workflows/wfl_1",
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(provision().workflow) })
	mux.HandleFunc("POST /v1/workflows/wfl_1/rule", func(w http.ResponseWriter, _ *http.Request) {
		p.answers = append(p.answers, "wfl_1 as a whole")
		_ = json.NewEncoder(w).Encode(provision().workflow)
	})
	mux.HandleFunc("GET /v1/installs", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(
			api.InstallList{Items: []api.InstallSummary{
				{App: "hello", Name: "acme", Status: api.InstallSummaryStatusDeploying, Reason: "working on web"}}})
	})
	mux.ServeHTTP(w, r)
}

func chain() []api.Cause {
	return []api.Cause{
		{Record: "revision", Name: "f13a39b Serve the page from another address", Reason: "main moved\x1b[2J",
			At: began.Add(-4 * time.Minute)},
		{Record: "component_input", Name: "web", Reason: "examples/hello/modules/web/main.tf changed",
			At: began.Add(-3 * time.Minute)},
		{Record: "build", Name: "build 2 of web (succeeded)", Reason: "its input changed",
			At: began.Add(-2 * time.Minute)},
		{Record: "plan", Name: "web on acme", Reason: "artifact changed"},
	}
}

// list returns pages of two.
func (p *plane) list(w http.ResponseWriter, r *http.Request) {
	var l api.ApprovalList
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from) // the first page has no cursor
	for i, a := range p.approvals {
		q := r.URL.Query()
		if i < from || a.Status != api.ApprovalStatusWaiting ||
			q.Get("install") != "" && a.InstallID != q.Get("install") ||
			q.Get("group") != "" && a.Group != q.Get("group") {
			continue
		}
		if len(l.Items) == 2 {
			l.Next = fmt.Sprint(i)
			break
		}
		var report diff.Report
		_ = json.Unmarshal(a.Report, &report)
		a.Totals, _ = json.Marshal(report.Totals)
		a.Report = nil
		l.Items = append(l.Items, a)
	}
	_ = json.NewEncoder(w).Encode(l)
}

func (p *plane) find(w http.ResponseWriter, id string) *api.Approval {
	if i := slices.IndexFunc(p.approvals, func(a api.Approval) bool { return a.ID == id }); i >= 0 {
		return &p.approvals[i]
	}
	problem(w, http.StatusNotFound, "not_found", "approval "+id+" not found")
	return nil
}

func problem(w http.ResponseWriter, status int, code, title string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Status: status, Code: code, Title: title})
}

func (p *plane) respond(w http.ResponseWriter, r *http.Request) {
	a := p.find(w, r.PathValue("id"))
	var given api.Response
	if a == nil || json.NewDecoder(r.Body).Decode(&given) != nil {
		return
	}
	if a.ID == p.refuse {
		a.Status, a.Response = api.ApprovalStatusRejected, api.GivenResponse{Actor: "ann", Reason: "not today",
			Answer: "reject", At: time.Now().Add(-12 * time.Second)}
	}
	if a.Status != api.ApprovalStatusWaiting || given.Plan != a.Plan || given.ContentDigest != a.ContentDigest {
		problem(w, http.StatusConflict, "approval_gone",
			fmt.Sprintf("this plan of %s is no longer waiting: %s", a.Component, a.Status))
		return
	}
	p.answers = append(p.answers,
		fmt.Sprint(a.ID, " ", given.Answer, " ", given.ContentDigest == a.ContentDigest, " ", given.Reason))
	a.Status = map[api.ResponseAnswer]api.ApprovalStatus{api.ResponseAnswerApprove: api.ApprovalStatusApproved,
		api.ResponseAnswerReject: api.ApprovalStatusRejected}[given.Answer]
	a.Response = api.GivenResponse{Answer: string(given.Answer), Actor: "vera", Reason: given.Reason, At: time.Now()}
	_ = json.NewEncoder(w).Encode(a)
}

// end removes a plan from the queue as the control plane does.
func (p *plane) end(id, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.approvals {
		if p.approvals[i].ID == id {
			p.approvals[i].Status, p.approvals[i].Reason = api.ApprovalStatusWithdrawn, reason
		}
	}
}

func (p *plane) turn(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *plane) answered() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.answers)
}
