package interactive

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// noon is the clock of the screens.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// hostile is text that would clear the screen, set a title and reverse the direction of reading.
const hostile = "こんにちは 👋 \x1b[2J\x1b]0;owned\x07‮end"

// plane is a fake control plane. Its behavior is changed under its lock.
type plane struct {
	t        testing.TB
	mu       sync.Mutex
	down     bool
	installs []api.InstallSummary
	workflow api.Workflow
	denied   []string          // the policies that deny the waiting plan
	answers  map[string][]byte // the answers for some paths, instead of those of the plane
}

func newPlane(t testing.TB) *plane {
	return &plane{t: t, workflow: deploy(), installs: []api.InstallSummary{
		{ID: "ins_1", App: "hello", Name: "acme", Status: api.InstallSummaryStatusWaitingForApproval, Release: 6,
			Commit: "1a2b3c4d5e", Target: 7, Latest: 7, Reason: "a plan of web waits for approval", Health: "healthy",
			Runner: "berlin", RunnerOnline: true, Behind: []string{"web"}, Labels: map[string]string{"tier": "gold"},
			LastWorkflow: api.WorkflowRef{ID: "wfl_1", Kind: "deploy", Number: 3, Status: "running",
				CreatedAt: before(4 * time.Minute)}},
		{ID: "ins_2", App: "hello", Name: "globex", Status: api.InstallSummaryStatusCurrent, Release: 7,
			Commit: "99ab3c4d5e", Target: 7, Latest: 7, Reason: "at release 7", Health: "healthy", Runner: "berlin",
			RunnerOnline: true, Drift: []api.Drift{{Component: "db", Changes: 4, Objects: []string{"aws_db_instance.main",
				"aws_s3_bucket.logs", "aws_s3_bucket.pages"}, Workflow: "wfl_2", At: before(3 * time.Hour)}},
			LastWorkflow: api.WorkflowRef{ID: "wfl_2", Kind: "deploy", Number: 9, Status: "succeeded",
				CreatedAt: before(3 * time.Hour), EndedAt: before(3*time.Hour - time.Minute)}},
		{ID: "ins_3", App: "hello", Name: "initech", Status: api.InstallSummaryStatusStalled, Release: 5,
			Commit: "55ab3c4d5e", Target: 7, Latest: 7, Reason: "apply of db failed: " + hostile, Health: "unhealthy",
			Runner: "paris", RunnerOnline: false, Behind: []string{"db", "web"},
			LastWorkflow: api.WorkflowRef{ID: "wfl_3", Kind: "deploy", Number: 2, Status: "failed",
				CreatedAt: before(26 * time.Hour), EndedAt: before(25 * time.Hour)}},
	}}
}

// deploy is a running workflow: one step waits, one failed, and one waits for another.
func deploy() api.Workflow {
	return api.Workflow{
		ID: "wfl_1", App: "hello", Install: "acme", InstallID: "ins_1", Kind: api.WorkflowKindDeploy, Number: 3,
		Status: api.WorkflowStatusRunning, Reason: "release 7 is newer", RequestedBy: "vera", Release: 7,
		Commit: "99ab3c4d5e", CreatedAt: before(4 * time.Minute),
		Steps: []api.Step{
			{ID: "stp_1", Kind: api.StepKindPlan, Component: "db", Status: api.StepStatusSucceeded, Job: "job_1",
				StartedAt: before(4 * time.Minute), EndedAt: before(3 * time.Minute), Tries: 1},
			{ID: "stp_2", Kind: api.StepKindApply, Component: "db", Status: api.StepStatusFailed, Job: "job_2",
				Needs: []string{"stp_1"}, StartedAt: before(3 * time.Minute), EndedAt: before(2 * time.Minute), Tries: 3,
				Reason: "terraform: the quota is exceeded " + hostile},
			{ID: "stp_3", Kind: api.StepKindPlan, Component: "web", Status: api.StepStatusSucceeded, Job: "job_3",
				Needs: []string{"stp_1"}, StartedAt: before(2 * time.Minute), EndedAt: before(time.Minute), Tries: 1},
			{ID: "stp_4", Kind: api.StepKindApprove, Component: "web", Status: api.StepStatusWaiting, Approval: "apr_1",
				Needs: []string{"stp_3"}, StartedAt: before(time.Minute), Reason: "waits for an approval"},
			{ID: "stp_5", Kind: api.StepKindApply, Component: "web", Status: api.StepStatusPending,
				Needs: []string{"stp_4"}},
		},
	}
}

func installOf(s api.InstallSummary) api.Install {
	return api.Install{
		ID: s.ID, App: s.App, Name: s.Name, Status: api.InstallStatus(s.Status), Reason: s.Reason, Release: s.Release,
		Commit: s.Commit, Target: s.Target, Latest: s.Latest, Behind: s.Behind, Runner: s.Runner,
		RunnerOnline: s.RunnerOnline, Labels: s.Labels, LastWorkflow: s.LastWorkflow, Approval: "prompt",
		Inputs: []api.InputValue{{Name: "region", Value: "eu-central-1"},
			{Name: "password", Value: "", Sensitive: true}},
		Components: []api.InstallComponent{
			{ID: "icm_1", Name: "db", Kind: "terraform_module", Status: api.InstallComponentStatusCurrent,
				Reason: "applied", AppliedAt: before(3 * time.Hour),
				Outputs: []api.OutputValue{{Name: "address", Value: json.RawMessage(`"10.0.0.1"`)},
					{Name: "token", Sensitive: true}}},
			{ID: "icm_2", Name: "web", Kind: "helm_chart", Status: api.InstallComponentStatusBehind,
				Reason: "waits for approval", AppliedAt: before(50 * time.Hour),
				Health: api.Health{Status: "unhealthy", Objects: []api.ObjectHealth{
					{Status: "unhealthy", Reason: "0 of 2 replicas are available"}}}},
		},
	}
}

// ServeHTTP answers like the control plane. A request that it does not know fails the test.
func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	list := func(items any) { answer(map[string]any{"items": items}) }
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	if given, ok := p.answers[path]; ok {
		_, _ = w.Write(given) // fails if the screen has gone
		return
	}
	switch kind, rest, _ := strings.Cut(path, "/"); {
	case path == "apps":
		list([]api.App{helloApp()})
	case path == "apps/hello":
		answer(helloApp())
	case strings.HasSuffix(path, "/components") && kind == "apps":
		list(components())
	case strings.HasSuffix(path, "/releases"):
		list([]api.Release{helloApp().Release})
	case path == "builds":
		list([]api.Build{components()[0].Build, components()[1].Build})
	case path == "installs":
		list(p.installs)
	case strings.HasSuffix(path, "/components/db/states"):
		list(stateVersions())
	case strings.HasSuffix(path, "/states"):
		list([]api.ComponentState{{Component: "db", Newest: stateVersions()[0], Contested: stateVersions()[:1]}})
	case kind == "installs":
		n := slices.IndexFunc(p.installs, func(i api.InstallSummary) bool {
			return slices.Contains([]string{i.ID, i.Name, i.App + "/" + i.Name}, rest)
		})
		answer(installOf(p.installs[max(n, 0)]))
	case path == "break-glass":
		list([]api.BreakGlassRequest{})
	case path == "approvals":
		list([]api.Approval{p.question()})
	case kind == "approvals":
		answer(p.question())
	case path == "workflows":
		list([]api.Workflow{p.workflow, ended()})
	case strings.HasSuffix(path, "/events"):
		w.Header().Set("Content-Type", "text/event-stream")
		raw, _ := json.Marshal(p.workflow)
		fmt.Fprintf(w, "event: workflow\nid: %d\ndata: %s\n\n", p.workflow.Revision, raw)
	case kind == "workflows":
		answer(p.workflow)
	case path == "runners":
		list([]api.Runner{runnerOf("berlin", true), runnerOf("paris", false)})
	case kind == "runners":
		answer(runnerOf(rest, true))
	case path == "system":
		answer(api.System{Version: "0.1.0", Replicas: []api.Replica{{SeenAt: time.Now()}},
			Runners: api.RunnerCounts{Online: 1, Offline: 1}, Database: api.PartHealth{Ok: true},
			Registry: api.PartHealth{Ok: true}})
	case path == "audit":
		list([]api.AuditEvent{
			{ID: 2, At: before(time.Minute), Actor: "vera", Action: "approval.respond", Subject: "apr_1",
				Detail: json.RawMessage(`{"answer":"approve"}`)},
			{ID: 1, At: before(time.Hour), Actor: "rollout", Action: "workflow.create", Subject: "wfl_1"}})
	case kind == "explain":
		answer(api.Explanation{Chain: []api.Cause{
			{Record: "revision", Name: "99ab3c4 Serve another page", Reason: "main moved", At: before(time.Hour)},
			{Record: "build", ID: "bld_2", Name: "build 2 of web", Reason: "its input changed", At: before(50 * time.Minute)},
			{Record: "workflow", ID: "wfl_1", Name: "deploy 3", Reason: "release 7 is newer", At: before(4 * time.Minute)}}})
	default:
		p.t.Errorf("the fake control plane has no route for %s %s", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
		answer(api.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "there is no " + path})
	}
}

// question is a plan that waits for an approval.
func (p *plane) question() api.Approval {
	return api.Approval{ID: "apr_1", App: "hello", Install: "acme", InstallID: "ins_1", Component: "web",
		Workflow: "wfl_1", Kind: api.ApprovalKindPlan, Status: api.ApprovalStatusWaiting,
		CreatedAt: before(time.Minute), Because: "artifact changed", Totals: json.RawMessage(`{"update":2}`),
		DeniedBy: p.denied}
}

// stateVersions are the versions of a state; two attempts wrote the newest ones.
func stateVersions() []api.StateVersion {
	version := func(n int, status api.StateVersionStatus, age time.Duration, workflow, reason string) api.StateVersion {
		return api.StateVersion{Version: n, Status: status, Serial: int64(10 + n), Digest: fmt.Sprintf("sha256:%064d", n),
			Job: "job_2", Attempt: 1, Bytes: 2048, Workflow: workflow, Reason: reason, CreatedAt: before(age)}
	}
	return []api.StateVersion{
		version(3, api.Contested, 2*time.Minute, "wfl_1", "attempt 1 wrote it after attempt 2 had started"),
		version(2, api.Kept, 3*time.Hour, "wfl_2", ""), version(1, api.Kept, 50*time.Hour, "wfl_2", ""),
	}
}

func ended() api.Workflow {
	return api.Workflow{ID: "wfl_2", App: "hello", Install: "globex", Kind: api.WorkflowKindDeploy, Number: 9,
		Status: api.WorkflowStatusSucceeded, Outcome: "2 components applied", RequestedBy: "rollout", Release: 5,
		Commit: "55ab3c4d5e", CreatedAt: before(3 * time.Hour), EndedAt: before(3*time.Hour - time.Minute)}
}

func helloApp() api.App {
	return api.App{ID: "app_1", Name: "hello", Repository: "https://git.example/hello", Ref: "main", Directory: ".",
		Unbuilt: []api.UnbuiltComponent{{Name: "web", Build: api.NewestBuild{ID: "bld_2", Number: 2,
			Status: api.BuildStatusFailed, Error: "chart: no such file", EndedAt: before(59 * time.Minute)}}},
		Release: api.Release{ID: "rel_7", Number: 7, Commit: "99ab3c4d5e", Status: "complete",
			Cause: "commit 99ab3c4 changed modules/web", CreatedAt: before(time.Hour),
			Commits: []api.ReleasedCommit{{Commit: "99ab3c4d5e", Subject: "Serve another page",
				Repository: "https://git.example/hello", Ref: "main"}}},
		Revision: api.Revision{ID: "rev_1", Commit: "99ab3c4d5e", Subject: "Serve another page"}}
}

func components() []api.Component {
	return []api.Component{
		{ID: "cmp_1", Name: "db", Kind: "terraform_module", Build: api.Build{ID: "bld_1", Component: "db", Number: 1,
			Status: api.BuildStatusSucceeded, Reason: "first build", Job: "job_8", CreatedAt: before(5 * time.Hour),
			ArtifactDigest: "sha256:0123456789abcdef"}},
		{ID: "cmp_2", Name: "web", Kind: "helm_chart", DependsOn: []string{"db"}, Build: api.Build{ID: "bld_2",
			Component: "web", Number: 2, Status: api.BuildStatusFailed, Error: "chart: no such file", Job: "job_9",
			CreatedAt: before(time.Hour), EndedAt: before(59 * time.Minute)}},
	}
}

func runnerOf(name string, online bool) api.Runner {
	return api.Runner{ID: "run_" + name, Name: name, Kind: api.RunnerKindInstall, Online: online, Registered: true,
		LastSeen: before(20 * time.Second), Version: "0.1.0", Capacity: 2, Policy: api.RunnerPolicy{Window: "Mon-Fri 8-18"},
		Attempts: []api.RunnerAttempt{{Job: "job_1", Kind: "apply", Install: "acme", Status: "running", Attempt: 1,
			OfferedAt: before(time.Minute)}}}
}

// clientOf returns a client of a plane.
func clientOf(t testing.TB, p http.Handler) *apiclient.Client {
	t.Helper()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	client, err := apiclient.New(contexts.Context{URL: s.URL, Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// recorder is a test that records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestAMissingRouteFailsTheTest checks that the fake control plane names a route that it does not have.
func TestAMissingRouteFailsTheTest(t *testing.T) {
	var r recorder
	w := httptest.NewRecorder()
	newPlane(&r).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/nothing/of-this?limit=1", nil))
	want := []string{"the fake control plane has no route for GET /v1/nothing/of-this"}
	if !slices.Equal(r.errors, want) || w.Code != http.StatusNotFound {
		t.Errorf("code %d, errors %q", w.Code, r.errors)
	}
}
