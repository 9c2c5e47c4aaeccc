package approvals

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane is a fake control plane with waiting approvals. Its pages have two items, and
// it records each answer as "id answer digest reason".
type plane struct {
	approvals []api.Approval
	answers   []string
	withdrawn string // id of an approval that can no longer be answered
	down      string // id of the approval whose answer makes the control plane unreachable
	bare      bool   // brief lists have no reports
	deaf      bool   // ignores the group parameter of requests
	read      int    // number of approvals that were fetched individually
	displayed func() // called after an approval was fetched, before it is answered
	installs  []api.InstallSummary
	workflows []api.Workflow
	onto      console.Console // the console of run
}

// fourPlans returns four waiting plans: two apps have an install acme, and one of the
// plans destroys.
func fourPlans(t *testing.T) *plane {
	t.Helper()
	report, err := json.Marshal(diff.Report{Kind: diff.KindTerraform, Notes: []string{"a note of the plan"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{}
	for i, name := range []string{"hello/acme/web", "hello/acme/db", "hello/globex/web", "shop/acme/web"} {
		part := strings.Split(name, "/")
		p.approvals = append(p.approvals, api.Approval{
			ID:            fmt.Sprintf("apr_%d", i+1),
			Plan:          fmt.Sprintf("pln_%d", i+1),
			App:           part[0],
			Install:       part[1],
			Component:     part[2],
			Destructive:   part[2] == "db",
			ContentDigest: fmt.Sprintf("sha256:%d", i+1),
			Status:        api.ApprovalStatusWaiting,
			Because:       "commit \x1b[31m1a2b3c4",
			Report:        report,
		})
	}
	return p
}

// workflow responds with a workflow, and records changes of its approval rule as "id
// method reason".
func (p *plane) workflow(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(p.workflows, func(w api.Workflow) bool { return w.ID == r.PathValue("id") })
	if i < 0 {
		problem(w, http.StatusNotFound, "not_found", "workflow "+r.PathValue("id")+" not found")
		return
	}
	if r.Method != http.MethodGet {
		var body api.Reason
		_ = json.NewDecoder(r.Body).Decode(&body)
		p.answers = append(p.answers, strings.TrimSpace(r.PathValue("id")+" "+r.Method+" "+body.Reason))
	}
	_ = json.NewEncoder(w).Encode(p.workflows[i])
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/approvals", p.list)
	mux.HandleFunc("GET /v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		p.read++
		if a := p.find(w, r.PathValue("id")); a != nil {
			_ = json.NewEncoder(w).Encode(a)
		}
	})
	mux.HandleFunc("POST /v1/approvals/{id}/response", p.respond)
	mux.HandleFunc("PUT /v1/approvals/{id}/assignee", p.assign)
	mux.HandleFunc("GET /v1/workflows", func(w http.ResponseWriter, r *http.Request) {
		running := slices.DeleteFunc(slices.Clone(p.workflows), func(w api.Workflow) bool {
			return w.Install != r.URL.Query().Get("install")
		})
		_ = json.NewEncoder(w).Encode(api.WorkflowList{Items: running})
	})
	mux.HandleFunc("/v1/workflows/{id}", p.workflow)
	mux.HandleFunc("/v1/workflows/{id}/rule", p.workflow)
	mux.HandleFunc("GET /v1/installs", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.InstallList{Items: p.installs})
	})
	mux.HandleFunc("GET /v1/installs/{install}", func(w http.ResponseWriter, r *http.Request) {
		for _, i := range p.installs {
			if key := r.PathValue("install"); key == i.ID || key == i.Name || key == i.App+"/"+i.Name {
				_ = json.NewEncoder(w).Encode(api.Install{ID: i.ID, App: i.App, Name: i.Name})
				return
			}
		}
		problem(w, http.StatusNotFound, "not_found", "install "+r.PathValue("install")+" not found")
	})
	mux.ServeHTTP(w, r)
}

func (p *plane) list(w http.ResponseWriter, r *http.Request) {
	var l api.ApprovalList
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from) // the first page has no cursor
	for i, a := range p.approvals {
		install, group := r.URL.Query().Get("install"), r.URL.Query().Get("group")
		if i < from || install != "" && a.Install != install && a.InstallID != install || group != "" && !p.deaf &&
			a.Group != group {
			continue
		}
		if len(l.Items) == 2 {
			l.Next = fmt.Sprint(i)
			break
		}
		if p.bare && r.URL.Query().Get("brief") == "true" {
			a.Report = nil
		}
		l.Items = append(l.Items, a)
	}
	_ = json.NewEncoder(w).Encode(l)
}

func (p *plane) find(w http.ResponseWriter, id string) *api.Approval {
	for i := range p.approvals {
		if p.approvals[i].ID == id {
			return &p.approvals[i]
		}
	}
	problem(w, http.StatusNotFound, "not_found", "approval "+id+" not found")
	return nil
}

func problem(w http.ResponseWriter, status int, code, title string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Status: status, Code: code, Title: title})
}

func (p *plane) respond(w http.ResponseWriter, r *http.Request) {
	if p.displayed != nil {
		p.displayed()
	}
	a := p.find(w, r.PathValue("id"))
	var given api.Response
	if a == nil || json.NewDecoder(r.Body).Decode(&given) != nil {
		return
	}
	if a.ID == p.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if a.ID == p.withdrawn {
		problem(w, http.StatusConflict, "withdrawn", "withdrawn: something newer came")
		return
	}
	if given.Plan != a.Plan || given.ContentDigest != a.ContentDigest {
		problem(w, http.StatusConflict, "plan_changed", "what waits is no longer what was shown")
		return
	}
	p.answers = append(p.answers, strings.TrimSpace(fmt.Sprint(a.ID, " ", given.Answer, " ",
		given.ContentDigest, " ", given.Reason)))
	a.Status = map[api.ResponseAnswer]api.ApprovalStatus{api.ResponseAnswerApprove: api.ApprovalStatusApproved,
		api.ResponseAnswerReject: api.ApprovalStatusRejected}[given.Answer]
	_ = json.NewEncoder(w).Encode(a)
}

// run runs one of the three commands and returns its standard output and standard error.
func (p *plane) run(t *testing.T, output string, line ...string) (out, remarks string, err error) {
	t.Helper()
	s := httptest.NewServer(p)
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var o, e strings.Builder
	onto := p.onto
	onto.Out, onto.Err, onto.Output = &o, &e, output
	with := &cmdenv.Env{Console: &onto}
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(NewReview(with), NewApprove(with), NewReject(with), New(with))
	root.SetArgs(line)
	root.SetOut(io.Discard)
	err = root.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// TestAnswers checks that an answer covers only what was displayed to the person, with its
// plan and digest. Without a terminal, that is what the command names by id or digest.
func TestAnswers(t *testing.T) {
	one, two, three, four := "apr_1 approve sha256:1", "apr_2 approve sha256:2", "apr_3 approve sha256:3",
		"apr_4 approve sha256:4"
	for name, c := range map[string]struct {
		line  string
		types string // text typed on a terminal; "" is without a terminal
		want  []string
		code  int
		says  string
	}{
		"script, by id":         {"approve apr_2", "", []string{two}, 0, ""},
		"script, by ids":        {"approve apr_1 apr_2 apr_4", "", []string{one, two, four}, 0, ""},
		"script, by digest":     {"approve acme/db --digest sha256:2", "", []string{two}, 0, ""},
		"script, id and digest": {"approve apr_1 --digest sha256:1", "", []string{one}, 0, ""},
		"script, another digest": {"approve apr_1 --digest sha256:0", "", nil, exitcode.Failed,
			"approve web on hello/acme: what waits is no longer what was shown"},
		"script, by place": {"approve globex/web", "", nil, exitcode.Usage,
			"review it with `nuon review apr_3`, then run: nuon approve apr_3"},
		"script, one by place": {"approve apr_2 globex/web", "", nil, exitcode.Usage,
			"then run: nuon approve apr_2 apr_3"},
		"script, all": {"approve --all", "", nil, exitcode.Usage,
			"this approves 3 plans, which needs a terminal; without one, review it with `nuon review --print`, then run: nuon " +
				"approve apr_1 apr_3 apr_4"},
		"script, a no by place": {"reject globex/web --reason no", "", []string{"apr_3 reject sha256:3 no"}, 0, ""},
		"script, a no to all": {"reject --all --reason x", "", nil, exitcode.Usage,
			`run: nuon reject --reason "x" apr_1 apr_2 apr_3 apr_4`},
		"by place":         {"approve globex/web", "y", []string{three}, 0, ""},
		"by place, no":     {"approve globex/web", "n", nil, exitcode.Rejected, "canceled"},
		"by id, no":        {"approve apr_3", "n", nil, exitcode.Rejected, "canceled"},
		"by app and place": {"approve shop/acme/web", "yes", []string{four}, 0, ""},
		"by digest, no": {"approve acme/db --digest sha256:2", "y", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"destroys, a mere yes":   {"approve acme/db", "y", nil, exitcode.Rejected, "canceled: nothing was approved"},
		"destroys, named":        {"approve acme/db", "db", []string{two}, 0, ""},
		"destroys, by id, named": {"approve apr_2", "db", []string{two}, 0, ""},
		"two, counted":           {"approve apr_1 apr_3", "2", []string{one, three}, 0, ""},
		"two, miscounted":        {"approve apr_1 apr_3", "3", nil, exitcode.Rejected, "canceled: nothing was approved"},
		"two, a mere yes":        {"approve apr_1 apr_3", "y", nil, exitcode.Rejected, "canceled: nothing was approved"},
		"two, one destroys":      {"approve acme/db apr_4", "db\n1", []string{two, four}, 0, ""},
		"two, one destroys, unnamed": {"approve acme/db apr_4", "1\ndb", nil, exitcode.Rejected,
			"canceled: nothing was approved"},
		"all but destruction": {"approve --all", "3", []string{one, three, four}, exitcode.Waiting,
			"1 plan is still waiting to approve by name"},
		"all, a mere yes":        {"approve --all", "y", nil, exitcode.Rejected, "canceled: nothing was approved"},
		"all of an install":      {"approve --all --install globex", "y", []string{three}, 0, ""},
		"a no needs no question": {"reject acme/db --reason no", "n", []string{"apr_2 reject sha256:2 no"}, 0, ""},
		"a no to all": {"reject --all --install acme --reason x", "y",
			[]string{"apr_1 reject sha256:1 x", "apr_2 reject sha256:2 x", "apr_4 reject sha256:4 x"}, 0, ""},
		"a no to all, not meant":  {"reject --all --install acme --reason x", "n", nil, exitcode.Rejected, "canceled"},
		"is ambiguous":            {"approve acme/web", "y", nil, exitcode.Usage, "use hello/acme/web or shop/acme/web"},
		"one of two is ambiguous": {"approve globex/web acme/web", "y", nil, exitcode.Usage, "is ambiguous"},
		"nothing there":           {"approve globex/db", "y", nil, exitcode.Failed, "list all with `nuon review`"},
		"no such id":              {"approve apr_9", "", nil, exitcode.Failed, "approval apr_9 not found"},
		"nobody":                  {"approve", "", nil, exitcode.Usage, "or pass --all"},
		"a name and all":          {"approve --all apr_1", "", nil, exitcode.Usage, "or pass --all"},
		"an install and name":     {"approve apr_1 --install globex", "", nil, exitcode.Usage, "--install needs --all"},
		"a digest for all":        {"approve --all --digest sha256:1", "", nil, exitcode.Usage, "--digest"},
		"a digest for two":        {"approve apr_1 apr_2 --digest sha256:1", "", nil, exitcode.Usage, "--digest"},
		"a no without why":        {"reject apr_1", "", nil, exitcode.Usage, "--reason"},
		"a yes with words":        {"approve apr_1 --reason well", "", []string{"apr_1 approve sha256:1 well"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := fourPlans(t)
			if c.types != "" {
				p.typing(t, c.types)
			}
			_, _, err := p.run(t, "table", strings.Fields(c.line)...)
			if exitcode.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v, want code %d and %q", err, c.code, c.says)
			}
			if d := cmp.Diff(c.want, p.answers); d != "" {
				t.Errorf("answers (-want +got)\n%s", d)
			}
		})
	}
}

// TestAPlanIsDisplayedBeforeTheQuestion checks that the question follows the plan's
// counts, its risk and the exact command, and that a plan that replaced it meanwhile
// is not approved instead.
func TestAPlanIsDisplayedBeforeTheQuestion(t *testing.T) {
	p := fleet(t, diff.Replace).typing(t, "db")
	p.approvals[4].Scripts = []api.ApprovalScript{{Action: "migrate"}}
	_, remarks, err := p.run(t, "table", "approve", "acme/db")
	want := "deploy db on hello/acme   (apr_5)\n  1 to replace; highest risk: replace\n  with script migrate\n  because " +
		"build 2 is new\n" +
		"This cannot be undone. Type db to approve: "
	if err != nil || remarks != want {
		t.Errorf("displayed %q, %v", remarks, err)
	}

	// The displayed plan is withdrawn while the person reads, and another one waits in its place.
	p = fleet(t, diff.Update).typing(t, "y")
	p.displayed = func() {
		newer := p.approvals[4]
		newer.ID, newer.Plan, newer.ContentDigest = "apr_6", "pln_6", "sha256:6"
		p.approvals, p.withdrawn = append(p.approvals, newer), "apr_5"
	}
	_, _, err = p.run(t, "table", "approve", "acme/db")
	if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), "withdrawn: something newer came") ||
		p.answers != nil {
		t.Errorf("approved %v, %v", p.answers, err)
	}
}

// TestAllNamesWhatItLeavesOut checks that --all names what it leaves out (plans that
// destroy, and looser settings), and how to approve it.
func TestAllNamesWhatItLeavesOut(t *testing.T) {
	p := fourPlans(t)
	p.approvals[2].Kind, p.approvals[2].Component, p.approvals[2].Plan = api.ApprovalKindSettings, "", ""
	out, remarks, err := p.typing(t, "2").run(t, "table", "approve", "--all")
	if exitcode.CodeOf(err) != exitcode.Waiting || !strings.Contains(err.Error(), "2 plans are still waiting") ||
		len(p.answers) != 2 {
		t.Errorf("ended with %v, answered %q", err, p.answers)
	}
	if want := "approved: web on hello/acme\napproved: web on shop/acme\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	for _, want := range []string{
		"skipped: db on hello/acme destroys or replaces; approve it by name: nuon approve apr_2\n",
		"skipped: settings on hello/globex loosen approval; approve it by name: nuon approve apr_3\n",
		"deploy web on hello/acme   (apr_1)\n", "Type 2 to approve 2 plans: ",
	} {
		if !strings.Contains(remarks, want) {
			t.Errorf("remarked %q, want %q", remarks, want)
		}
	}
}

// TestAllLeavesOutWhatIsNotShown checks that --all leaves out plans with changes that
// are masked or cut from the report.
func TestAllLeavesOutWhatIsNotShown(t *testing.T) {
	p := fourPlans(t)
	p.approvals[0].IndividualApproval = true
	_, remarks, err := p.typing(t, "2").run(t, "table", "approve", "--all")
	if exitcode.CodeOf(err) != exitcode.Waiting || len(p.answers) != 2 {
		t.Errorf("ended with %v, answered %q", err, p.answers)
	}
	want := "skipped: web on hello/acme needs a separate approval; approve it by name: nuon " +
		"approve apr_1\n"
	if !strings.Contains(remarks, want) {
		t.Errorf("remarked %q, want %q", remarks, want)
	}
}

// TestAllLeavesOutWhatIsDenied checks that --all leaves out a plan that policies deny, and names them.
func TestAllLeavesOutWhatIsDenied(t *testing.T) {
	p := fourPlans(t)
	p.approvals[0].DeniedBy = []string{"private", "small\x1b[2J", "cheap"}
	_, remarks, err := p.typing(t, "2").run(t, "table", "approve", "--all")
	if exitcode.CodeOf(err) != exitcode.Waiting || len(p.answers) != 2 {
		t.Errorf("ended with %v, answered %q", err, p.answers)
	}
	want := "skipped: web on hello/acme, which nobody can approve: policies private, small [2J and cheap deny it; " +
		"see nuon review apr_1\n"
	if !strings.Contains(remarks, want) {
		t.Errorf("remarked %q, want %q", remarks, want)
	}
}

// TestNothingToAnswer checks that people get a message, and programs an empty list.
func TestNothingToAnswer(t *testing.T) {
	out, remarks, err := (&plane{}).run(t, "json", "approve", "--all")
	if err != nil || out != "[]\n" || !strings.Contains(remarks, "no approvals waiting") {
		t.Errorf("printed %q and %q, %v", out, remarks, err)
	}
	if out, _, err := (&plane{}).run(t, "table", "review"); err != nil || out != "no approvals waiting\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	busy := &plane{installs: []api.InstallSummary{
		{App: "hello", Name: "acme", ID: "ins_1", Status: api.InstallSummaryStatusDeploying, Reason: "working on web\x1b[2J"},
		{App: "hello", Name: "globex", Status: api.InstallSummaryStatusCurrent, Reason: "all is up to date"},
		{App: "shop", Name: "acme", Status: api.InstallSummaryStatusStalled, Reason: "web: its build failed"},
	}}
	if out, _, err := busy.run(t, "table", "review"); err != nil ||
		out != "no approvals waiting\n  hello/acme: working on web [2J\n  shop/acme: web: its build failed\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	for _, install := range []string{"ins_1", "hello/acme"} {
		if out, _, err := busy.run(t, "table", "review", "--install", install); err != nil ||
			out != "no approvals waiting\n  hello/acme: working on web [2J\n" {
			t.Errorf("of %s it printed %q, %v", install, out, err)
		}
	}
	for range maxBusyInstalls {
		busy.installs = append(busy.installs, busy.installs[2])
	}
	if out, _, err := busy.run(t, "table", "review"); err != nil ||
		!strings.HasSuffix(out, "  and 2 more: `nuon installs list`\n") {
		t.Errorf("of many it printed %q, %v", out, err)
	}
	if out, _, err := (&plane{}).run(t, "json", "review"); err != nil || out != "[]\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

// TestAnAnswerBeforeAnErrorIsShown checks that answers before an error are printed,
// because they are recorded.
func TestAnAnswerBeforeAnErrorIsShown(t *testing.T) {
	p := fourPlans(t)
	p.withdrawn = "apr_4"
	out, _, err := p.run(t, "table", "approve", "apr_1", "apr_4", "apr_3")
	if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), "approve web on shop/acme: withdrawn") {
		t.Errorf("ended with %v", err)
	}
	if out != "approved: web on hello/acme\n" {
		t.Errorf("printed %q", out)
	}
}

// TestFormats checks that an answer is sent once and printed in the requested format.
func TestFormats(t *testing.T) {
	for output, want := range map[string]string{"name": "apr_3\n", "table": "approved: web on hello/globex\n"} {
		p := fourPlans(t)
		out, _, err := p.run(t, output, "approve", "apr_3")
		if err != nil || out != want || len(p.answers) != 1 {
			t.Errorf("-o %s printed %q, %v", output, out, err)
		}
	}
	out, _, err := fourPlans(t).run(t, "json", "review", "--install", "acme")
	var got []api.Approval
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got) != 3 || got[2].ContentDigest != "sha256:4" {
		t.Errorf("printed %s, %v", out, err)
	}
	if out, _, err := fourPlans(t).run(t, "name", "review"); err != nil || out != "apr_1\napr_2\napr_3\napr_4\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

// TestReview checks that review shows each plan with its reason and how to answer it,
// and that text from elsewhere cannot move the cursor.
func TestReview(t *testing.T) {
	p := fourPlans(t)
	p.approvals = p.approvals[:2]
	p.approvals[1].Destroy = true
	out, _, err := p.run(t, "table", "review")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"deploy web on hello/acme   (apr_1)\nbecause commit  [31m1a2b3c4\n", "a note of the plan",
		"nuon approve apr_1\nnuon reject apr_1 --reason \"…\"\n", "\n\nDESTROY db on hello/acme   (apr_2)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("shows\n%s\nwant %q", out, want)
		}
	}
	p.approvals[0].Status, p.approvals[0].Response = api.ApprovalStatusRejected, api.GivenResponse{Actor: "ann",
		Reason: "not\x1b[2Jtoday"}
	out, _, err = p.run(t, "table", "review", "apr_1")
	if err != nil || !strings.HasSuffix(out, "rejected: by ann: not [2Jtoday\n") ||
		strings.Contains(out, "nuon approve") {
		t.Errorf("shows\n%s%v", out, err)
	}
}

// TestARestoreIsNoDeploy checks that a restore is shown as one, and that --all does not approve it.
func TestARestoreIsNoDeploy(t *testing.T) {
	p := fourPlans(t)
	p.approvals = p.approvals[:1]
	p.approvals[0].Restore = 3
	out, _, err := p.run(t, "table", "review")
	if err != nil || !strings.HasPrefix(out, "restore state version 3 of web on hello/acme   (apr_1)\n") {
		t.Errorf("shows\n%s%v", out, err)
	}
	_, remarks, err := p.typing(t, "1").run(t, "table", "approve", "--all")
	if exitcode.CodeOf(err) != exitcode.Waiting || len(p.answers) != 0 || !strings.Contains(remarks,
		"skipped: web on hello/acme restores state version 3; approve it by name: nuon approve apr_1") {
		t.Errorf("answered %v, remarked %q, %v", p.answers, remarks, err)
	}
}

// TestAReportThatDoesNotAddUpIsNotShown checks that a report with inconsistent totals
// is not shown, because people rely on the totals.
func TestAReportThatDoesNotAddUpIsNotShown(t *testing.T) {
	for name, c := range map[string]struct{ report, says string }{
		"totals of nothing":    {`{"kind":"terraform","totals":{"destroy":3},"applyable":true}`, "do not approve it"},
		"an action of its own": {`{"kind":"terraform","changes":[{"address":"a","resource_kind":"k","name":"n","action":"adore","risk":"none"}],"totals":{}}`, "the report of apr_1"},
		"no kind":              {`{"totals":{}}`, "do not approve it"},
		"no report":            {`"hello"`, "read the report of apr_1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fourPlans(t)
			p.approvals[0].Report = json.RawMessage(c.report)
			if _, _, err := p.run(t, "table", "approve", "apr_1"); exitcode.CodeOf(err) != exitcode.Failed ||
				!strings.Contains(err.Error(), c.says) || p.answers != nil {
				t.Errorf("approved %q, %v", p.answers, err)
			}
			out, _, err := p.run(t, "table", "review", "apr_1")
			if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v", err)
			}
			if strings.Contains(out, "nuon approve") {
				t.Errorf("offers to approve it:\n%s", out)
			}
		})
	}
}

// TestReviewOfSome checks that installs, their components and ids select what is shown,
// and that an unknown name is an error while a name for which nothing waits is not.
func TestReviewOfSome(t *testing.T) {
	for line, want := range map[string]string{
		"":                       "apr_1 apr_2 apr_3 apr_4",
		"acme":                   "apr_1 apr_2 apr_4",
		"hello/acme globex":      "apr_1 apr_2 apr_3",
		"acme/web":               "apr_1 apr_4",
		"hello/acme/web":         "apr_1",
		"apr_3 acme/db":          "apr_3 apr_2",
		"idle":                   "",
		"hello/idle/web":         "",
		"--install globex":       "apr_3",
		"acme/db --install=idle": "apr_2",
	} {
		p := fourPlans(t)
		p.installs = []api.InstallSummary{{ID: "ins_9", App: "hello", Name: "idle"}}
		out, _, err := p.run(t, "name", append([]string{"review"}, strings.Fields(line)...)...)
		if got := strings.Join(strings.Fields(out), " "); err != nil || got != want {
			t.Errorf("review %s: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"nowhere", "nowhere/web", "apr_9", "acme nowhere"} {
		if out, _, err := fourPlans(t).run(t, "name",
			append([]string{"review"}, strings.Fields(line)...)...); exitcode.CodeOf(err) != exitcode.Failed || out != "" {
			t.Errorf("review %s: %q, %v", line, out, err)
		}
	}
	out, _, err := fourPlans(t).run(t, "table", "review", "globex", "--print")
	if err != nil || !strings.HasPrefix(out, "deploy web on hello/globex   (apr_3)\n") ||
		strings.Contains(out, "acme") {
		t.Errorf("printed %q, %v", out, err)
	}
}
