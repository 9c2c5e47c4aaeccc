package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func earlier(d time.Duration) time.Time { return noon.Add(-d) }

func install(app, name string, status api.InstallSummaryStatus,
	change ...func(*api.InstallSummary)) api.InstallSummary {
	i := api.InstallSummary{
		ID:           "ins_" + name,
		Name:         name,
		App:          app,
		Status:       status,
		Latest:       7,
		Health:       "good",
		Runner:       "berlin",
		RunnerOnline: true,
		LastWorkflow: api.WorkflowRef{ID: "wfl_" + name, Number: 4, Kind: "deploy", Status: "succeeded",
			CreatedAt: earlier(3 * time.Hour), EndedAt: earlier(2 * time.Hour)},
	}
	if status == "current" {
		i.Release, i.Target, i.Commit, i.Reason = 7, 7, "1a2b3c4d5e", "everything is at release 7"
	}
	for _, c := range change {
		c(&i)
	}
	return i
}

func because(reason string, behind ...string) func(*api.InstallSummary) {
	return func(i *api.InstallSummary) { i.Reason, i.Behind, i.Health = reason, behind, "attention" }
}

// sick adds a Deployment of a component with this health status.
func sick(component string, status api.HealthStatus, reason string) func(*api.InstallSummary) {
	return func(i *api.InstallSummary) {
		i.Health = api.InstallSummaryHealth(status)
		i.Unhealthy = []api.ComponentHealth{{Component: component, Health: api.Health{
			Status: status, At: earlier(time.Minute),
			Objects: []api.ObjectHealth{{Object: api.ObjectRef{Group: "apps", Version: "v1", Kind: "Deployment",
				Namespace: "shop", Name: component}, Status: api.ObjectHealthStatus(status), Reason: reason}},
		}}}
	}
}

func question(app, name, component string, since time.Duration) api.Approval {
	return api.Approval{
		ID:        "apr_" + name + component,
		App:       app,
		Install:   name,
		Component: component,
		CreatedAt: earlier(since),
		Totals:    json.RawMessage(`{"create":0,"update":1,"replace":1}`),
		Because: "artifact changed: build 2 of " + component +
			`, because commit f13a39b ("Serve the page from another address") changed modules/web/main.tf`,
	}
}

// denied returns an approval of a plan that policies deny.
func denied(a api.Approval, by ...string) api.Approval {
	a.DeniedBy = by
	return a
}

// busy returns an org with an action item of every kind.
func busy() snapshot {
	return snapshot{
		apps: []api.App{
			{Name: "hello", Release: api.Release{Number: 7}, Unbuilt: []api.UnbuiltComponent{{Name: "web",
				Build: api.NewestBuild{ID: "bld_1", Number: 3, Status: "failed",
					Error: "terraform init: provider nobody/nothing was not found", EndedAt: earlier(time.Minute)}}}},
			{Name: "shop", Release: api.Release{Number: 7}, Problem: "https://git.example/shop answers 401: its credential is " +
				"not good any more", Unbuilt: []api.UnbuiltComponent{{Name: "net",
				Problem: "the symbolic link modules/net/leak.tf leads out of the repository"}}},
			{Name: "fresh", Release: api.Release{Number: 1}},
			{Name: "wrong", Diagnostics: []api.Diagnostic{{Severity: "error"}, {Severity: "error"}, {Severity: "warning"}},
				Revision: api.Revision{Commit: "f13a39b000"}},
		},
		installs: []api.InstallSummary{
			install("hello", "acme", "waiting_for_approval", because("the plan of web waits for approval", "web")),
			install("hello", "globex", "waiting_for_approval", because("the plan of web waits for approval", "web")),
			install("hello", "initech", "rejected",
				because("web: behind, rejected by alice: not during the sale", "web")),
			install("hello", "umbrella", "stalled", because("web: behind, stalled: terraform apply ended with 1; fix it and "+
				"push, or try again with `nuon deploy umbrella`", "web")),
			install("hello", "hooli", "current", func(i *api.InstallSummary) {
				i.Release, i.Target, i.Pinned = 5, 5, 5
			}),
			install("shop", "acme", "deploying", because("working on web, but runner oslo accepts no jobs now (a freeze)",
				"web"), func(i *api.InstallSummary) {
				i.Runner, i.RunnerOnline, i.Health = "oslo", false, "unknown"
				i.LastWorkflow.EndedAt, i.LastWorkflow.Status = time.Time{}, "running"
			}),
			install("shop", "vandelay", "waiting", because("web: waits: net has no output \x1b[31mcidr", "web")),
			install("shop", "pied", "behind", because("web: its input greeting changed", "web")),
			install("shop", "sterling", "current",
				sick("web", api.HealthStatusDegraded, "container web: ImagePullBackOff: no such image")),
			install("shop", "draper", "current", sick("web", api.HealthStatusProgressing, "1 of 3 replicas are ready")),
			install("shop", "cooper", "deploying",
				sick("web", api.HealthStatusProgressing, "0 of 3 replicas are ready")),
			install("shop", "left", "deprovisioned", func(i *api.InstallSummary) { i.RunnerOnline = false }),
			install("shop", "moved", "current", func(i *api.InstallSummary) { i.Runner, i.RunnerOnline = "paris", false }),
		},
		breakGlass: []api.BreakGlassRequest{
			{App: "shop", Install: "acme", Role: "ins_1-repair", CreatedAt: earlier(time.Hour),
				Reminder: "it waits for the customer: the role is off in the customer's stack"},
			{App: "shop", Install: "pied", Role: "ins_2-repair", CreatedAt: earlier(time.Hour)},
		},
		approvals: []api.Approval{question("hello", "globex", "web", 3*time.Hour),
			question("hello", "acme", "web", 5*time.Minute), denied(question("shop", "pied", "net", time.Hour), "private"),
			denied(question("shop", "sterling", "web", time.Hour), "private", "small", "cheap\x1b[31m", "late")},
		runners: []api.Runner{
			{Name: "berlin", Kind: "install", Registered: true, Online: true}, {Name: "oslo", Kind: "install", Registered: true,
				Online: true, Policy: api.RunnerPolicy{Off: true, Reason: "a freeze"}},
			{Name: "build", Kind: "build", Registered: true, LastSeen: earlier(4 * time.Hour)},
			{Name: "paris", Kind: "install", Claims: []api.CloudClaim{{FirstSeen: earlier(time.Minute),
				Subject: api.CloudSubject{Cloud: "aws", Account: "123456789012", Name: "ins_3-runner"}}}},
		},
		system: &api.System{
			Version:  "1.0.0",
			Replicas: []api.Replica{{ID: "a", SeenAt: noon}, {ID: "b", SeenAt: earlier(time.Hour)}},
			Database: api.PartHealth{Ok: true},
			Registry: api.PartHealth{Error: "refused"},
			Runners:  api.RunnerCounts{Online: 1, Off: 1, Offline: 1},
		},
	}
}

// crowd returns an org with a thousand installs, two of which are not current.
func crowd() snapshot {
	s := snapshot{
		apps: []api.App{{Name: "hello", Release: api.Release{Number: 7}}},
		system: &api.System{Version: "1.0.0", Replicas: []api.Replica{{SeenAt: noon}},
			Database: api.PartHealth{Ok: true}, Registry: api.PartHealth{Ok: true},
			Runners: api.RunnerCounts{Online: 2}},
		runners: []api.Runner{{Name: "build", Kind: "build", Registered: true, Online: true}},
	}
	for n := range 1000 {
		i := install("hello", fmt.Sprintf("customer-%04d", n), "current")
		if n%500 == 7 {
			i = install("hello", i.Name, "stalled", because(fmt.Sprintf("web: behind, stalled: no room left; fix it and push, "+
				"or try again with `nuon deploy %s`", i.Name), "web"))
		}
		s.installs = append(s.installs, i)
	}
	return s
}

func empty() snapshot { return snapshot{system: crowd().system} }

// TestFrames checks the complete output for several orgs, on terminals of two widths,
// in a pipe and as data.
func TestFrames(t *testing.T) {
	for name, s := range map[string]snapshot{"busy": busy(), "crowd": crowd(), "empty": empty()} {
		for _, f := range []struct {
			name     string
			terminal bool
			width    int
		}{{"80", true, 80}, {"140", true, 140}, {"pipe", false, 0}} {
			t.Run(name+"-"+f.name, func(t *testing.T) {
				var out strings.Builder
				c := &console.Console{Out: &out, OutIsTerminal: f.terminal, Width: f.width}
				if err := s.status(noon).print(&out, c, noon, nil); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(out.String()) {
					if strings.ContainsRune(line, '\x1b') || strings.TrimRight(line, " \n")+"\n" != line {
						t.Errorf("a line that should not be: %q", line)
					}
				}
				golden.Check(t, filepath.Join("testdata", name+"-"+f.name+".golden"), out.String())
			})
		}
	}
}

// TestMatters checks which installs are action items: none that is current, in progress, or waits
// for a build.
func TestMatters(t *testing.T) {
	young := func(i *api.InstallSummary) { i.LastWorkflow.EndedAt = earlier(time.Minute) }
	never := func(i *api.InstallSummary) { i.LastWorkflow = api.WorkflowRef{} }
	away := func(i *api.InstallSummary) { i.RunnerOnline = false }
	built := api.UnbuiltComponent{Name: "web", Build: api.NewestBuild{Status: "running"}}
	for name, c := range map[string]struct {
		install api.InstallSummary
		unbuilt []api.UnbuiltComponent
		want    string // the kinds
	}{
		"current":           {install("hello", "acme", "current"), nil, ""},
		"gone":              {install("hello", "acme", "deprovisioned", away), nil, ""},
		"deploying":         {install("hello", "acme", "deploying", young), nil, ""},
		"new":               {install("hello", "acme", "new", never), nil, ""},
		"behind for long":   {install("hello", "acme", "behind"), nil, "stale"},
		"current but away":  {install("hello", "acme", "current", away), nil, "runner"},
		"behind and away":   {install("hello", "acme", "behind", away), nil, "runner"},
		"waits for a build": {install("hello", "acme", "waiting"), []api.UnbuiltComponent{built}, ""},
		"waits for ever":    {install("hello", "acme", "waiting"), nil, "waiting"},
		"rejected":          {install("hello", "acme", "rejected"), nil, "rejected"},
		// the approval is the action item
		"waits for a yes":      {install("hello", "acme", "waiting_for_approval"), nil, ""},
		"stalled, and is away": {install("hello", "acme", "stalled", away), nil, "stalled runner"},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot{installs: []api.InstallSummary{c.install},
				apps: []api.App{{Name: "hello", Unbuilt: c.unbuilt}}}
			var got []string
			for _, m := range s.actionItems(noon) {
				got = append(got, string(m.Kind))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q waits, want %q", got, c.want)
			}
		})
	}
}

// TestVerdict checks the code of --exit-code: a failure takes precedence over a
// rejection, and that over a waiting approval.
func TestVerdict(t *testing.T) {
	for kinds, want := range map[string]int{
		"": exitcode.Done, "waiting stale runner": exitcode.Done, "approval": exitcode.Waiting,
		"blocked": exitcode.Waiting, "blocked rejected": exitcode.Rejected,
		"approval rejected": exitcode.Rejected, "approval rejected stalled": exitcode.Failed,
		"build": exitcode.Failed, "health": exitcode.Failed, "progress": exitcode.Done, "app approval": exitcode.Failed,
		"system": exitcode.Failed,
	} {
		var s Status
		for k := range strings.FieldsSeq(kinds) {
			s.Waiting = append(s.Waiting, ActionItem{Kind: Kind(k)})
		}
		if got := exitcode.CodeOf(s.verdict()); got != want {
			t.Errorf("%q ends with %d, want %d", kinds, got, want)
		}
	}
}

// plane starts a fake control plane with this data and two items per page. With
// oneApp, it denies requests about the org.
func plane(t *testing.T, s snapshot, oneApp bool) {
	t.Helper()
	give := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux := http.NewServeMux()
	page := func(r *http.Request, n int) (from, to int, next string) {
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from)
		if to = min(from+2, n); to < n {
			next = fmt.Sprint(to)
		}
		return from, to, next
	}
	refused := func(w http.ResponseWriter) bool {
		if oneApp {
			w.WriteHeader(http.StatusForbidden)
			give(w, api.Problem{Status: http.StatusForbidden, Code: "forbidden",
				Title: "token ci is for app hello alone"})
		}
		return oneApp
	}
	mux.HandleFunc("GET /v1/apps", func(w http.ResponseWriter, r *http.Request) {
		from, to, next := page(r, len(s.apps))
		give(w, api.AppList{Items: s.apps[from:to], Next: next})
	})
	mux.HandleFunc("GET /v1/apps/{app}", func(w http.ResponseWriter, r *http.Request) { give(w, s.apps[0]) })
	mux.HandleFunc("GET /v1/installs", func(w http.ResponseWriter, r *http.Request) {
		var of []api.InstallSummary
		for _, i := range s.installs {
			if app := r.URL.Query().Get("app"); app == "" || i.App == app {
				of = append(of, i)
			}
		}
		from, to, next := page(r, len(of))
		give(w, api.InstallList{Items: of[from:to], Next: next})
	})
	mux.HandleFunc("GET /v1/approvals", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("brief") != "true" {
			t.Error("asked for whole reports")
		}
		from, to, next := page(r, len(s.approvals))
		give(w, api.ApprovalList{Items: s.approvals[from:to], Next: next})
	})
	mux.HandleFunc("GET /v1/break-glass", func(w http.ResponseWriter, r *http.Request) {
		from, to, next := page(r, len(s.breakGlass))
		give(w, api.BreakGlassList{Items: s.breakGlass[from:to], Next: next})
	})
	mux.HandleFunc("GET /v1/runners", func(w http.ResponseWriter, r *http.Request) {
		if !refused(w) {
			from, to, next := page(r, len(s.runners))
			give(w, api.RunnerList{Items: s.runners[from:to], Next: next})
		}
	})
	mux.HandleFunc("GET /v1/system", func(w http.ResponseWriter, r *http.Request) {
		if !refused(w) {
			give(w, s.system)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
}

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	output := "table"
	if len(args) > 1 && args[0] == "-o" {
		output, args = args[1], args[2:]
	}
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: output}})
	c.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the test binary
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestEveryPageIsRead checks that all pages are read, and that the data output has the
// same content as the one for people.
func TestEveryPageIsRead(t *testing.T) {
	s := busy()
	for i := range s.apps {
		s.apps[i].ID = s.apps[i].Name
	}
	plane(t, s, false)
	out, err := execute(t, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got Status
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	installs := 0
	for _, a := range got.Apps {
		for _, g := range a.Groups {
			installs += len(g.Installs)
		}
	}
	// The replicas in the test data were last seen at a fixed time, so they count as gone
	// now. That is not an action item.
	if len(got.Apps) != 4 || installs != len(s.installs) || len(got.Waiting) != len(s.actionItems(time.Now())) ||
		got.System.Version != "1.0.0" {
		t.Errorf("%d apps, %d installs, %d matters in\n%s", len(got.Apps), installs, len(got.Waiting), out)
	}
	if _, err := execute(t, "--exit-code"); exitcode.CodeOf(err) != exitcode.Failed {
		t.Errorf("--exit-code ended with %v", err)
	}
}

// TestOfOneApp checks that --app, and a token for one app, leave out all other apps.
func TestOfOneApp(t *testing.T) {
	s := busy()
	for i := range s.apps {
		s.apps[i].ID = s.apps[i].Name
	}
	plane(t, s, false)
	out, err := execute(t, "--app", "hello")
	if err != nil || strings.Contains(out, "shop") || !strings.Contains(out, "control plane\t") {
		t.Errorf("with --app: %v\n%s", err, out)
	}
	s.apps = s.apps[:1]
	s.installs = s.installs[:5]
	plane(t, s, true)
	out, err = execute(t)
	if err != nil || strings.Contains(out, "control plane") || !strings.Contains(out, "approval\t") {
		t.Errorf("for a token of one app: %v\n%s", err, out)
	}
}

// TestOlderControlPlane checks that a control plane without requests for break-glass roles is shown without any.
func TestOlderControlPlane(t *testing.T) {
	s := busy()
	for i := range s.apps {
		s.apps[i].ID = s.apps[i].Name
	}
	plane(t, s, false)
	newer, err := url.Parse(os.Getenv("NUON_URL"))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(newer)
	code := "no_route"
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/break-glass" {
			forward.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"status": 404, "code": %q, "title": "none"}`, code)
	}))
	t.Cleanup(older.Close)
	t.Setenv("NUON_URL", older.URL)
	if out, err := execute(t); err != nil || !strings.Contains(out, "control plane") {
		t.Errorf("%v\n%s", err, out)
	}
	code = "not_found"
	if out, err := execute(t); err == nil {
		t.Errorf("another error is shown as nothing:\n%s", out)
	}
}

// TestAbsence checks that --watch waits for a control plane that is unavailable as for
// one that is unreachable, and stops at all other errors.
func TestAbsence(t *testing.T) {
	var patience apiclient.OutageTolerance
	patience.Seen()
	for status, want := range map[int]bool{http.StatusServiceUnavailable: true, http.StatusForbidden: false,
		http.StatusInternalServerError: false} {
		if got := patience.Bears(unreachableError(&apiclient.Problem{Problem: api.Problem{Status: status, Code: "some",
			Title: "no"}})); got != want {
			t.Errorf("%d is waited for: %t, want %t", status, got, want)
		}
	}
	if unreachableError(nil) != nil {
		t.Error("a look that went well is an absence")
	}
}
