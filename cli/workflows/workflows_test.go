package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// streams is a fake control plane that returns one event stream of a workflow's states per
// request, and repeats the last one. It answers in process, so that a test can use a fake clock.
type streams struct {
	bodies []string
	from   []string
}

func (s *streams) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.from = append(s.from, r.Header.Get("Last-Event-ID"))
	w := httptest.NewRecorder()
	_, _ = io.WriteString(w, s.bodies[min(len(s.from), len(s.bodies))-1])
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (s *streams) client(t *testing.T) *apiclient.Client {
	t.Helper()
	c, err := apiclient.New(contexts.Context{URL: "http://plane"})
	if err != nil {
		t.Fatal(err)
	}
	c.Client.Client = s
	return c
}

// event returns a state of wfl_1 as a server-sent event.
func event(t *testing.T, id int, status api.WorkflowStatus, steps ...api.StepStatus) string {
	t.Helper()
	b, err := json.Marshal(standing(status, steps...))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("event: workflow\nid: %d\ndata: %s\n\n", id, b)
}

func standing(status api.WorkflowStatus, steps ...api.StepStatus) api.Workflow {
	w := api.Workflow{ID: "wfl_1", Number: 7, App: "hello", Install: "acme", Kind: "deploy", Status: status,
		Reason: "because", Outcome: "came out"}
	for i, s := range steps {
		kinds := []api.StepKind{api.StepKindPlan, api.StepKindApprove, api.StepKindApply}
		w.Steps = append(w.Steps, api.Step{Kind: kinds[i%3], Component: "web", Status: s, Reason: "why"})
	}
	return w
}

// noTo marks a step as rejected by a person.
func noTo(w api.Workflow, step int) api.Workflow {
	w.Steps[step].RejectedBy = "vera"
	return w
}

var quiet = &console.Console{Out: io.Discard, Err: io.Discard}

// TestWait checks that a workflow is followed to its end, or until only a person can
// continue it, over as many streams as necessary.
func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		streams []string
		want    api.Workflow
		from    []string
	}{
		"its end": {[]string{event(t, 1, "running", "running") + event(t, 2, "running", "succeeded", "pending") +
			event(t, 3, "succeeded", "succeeded") + event(t, 4, "failed")},
			standing("succeeded", "succeeded"), []string{""}},
		"a person is needed": {[]string{event(t, 1, "running", "running") + event(t, 2, "running", "succeeded", "waiting",
			"pending")},
			standing("running", "succeeded", "waiting", "pending"), []string{""}},
		"others go on": {[]string{event(t, 1, "running", "succeeded", "waiting", "running") +
			event(t, 2, "running", "succeeded", "waiting", "succeeded")},
			standing("running", "succeeded", "waiting", "succeeded"), []string{""}},
		"a broken stream": {[]string{event(t, 1, "running", "running") + "event: workflow\nid: 2\ndata: {\"sta",
			event(t, 2, "cancelled")},
			standing("cancelled"), []string{"", "1"}},
		"other events": {[]string{"event: ping\nid: 1\ndata: not JSON\n\n" + event(t, 2, "failed")}, standing("failed"),
			[]string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streams{bodies: c.streams}
				got, err := Wait(t.Context(), quiet, s.client(t), "wfl_1", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff(c.from, s.from); d != "" {
					t.Errorf("asked from (-want +got)\n%s", d)
				}
			})
		})
	}
}

// TestWaitEnds checks the ways in which waiting ends before the workflow: a timeout,
// Ctrl-C, and an invalid event.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begun := &streams{bodies: []string{event(t, 1, "running", "running")}}, time.Now()
		_, err := Wait(t.Context(), quiet, s.client(t), "wfl_1", 90*time.Second)
		if exitcode.CodeOf(err) != exitcode.Failed || err.Error() != "workflow wfl_1 did not end within 1m30s; it "+
			"continues, follow it with `nuon workflows watch wfl_1`" || time.Since(begun) != 90*time.Second {
			t.Errorf("ended after %s with %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // Ctrl-C
			<-time.After(time.Minute)
			cancel()
		}()
		var remarks strings.Builder
		if _, err := Wait(ctx, &console.Console{Out: io.Discard, Err: &remarks}, s.client(t), "wfl_1",
			0); !errors.Is(err, exitcode.Interrupted) {
			t.Errorf("Ctrl-C ended with %v", err)
		}
		want := "stopped waiting: deploy 7 of hello/acme continues with plan web\n" +
			"  nuon workflows watch wfl_1    to wait again\n  nuon workflows cancel wfl_1   to cancel it\n"
		if d := cmp.Diff(want, remarks.String()); d != "" {
			t.Error(d)
		}
		s = &streams{bodies: []string{"event: workflow\ndata: <html>\n\n"}}
		if _, err := Wait(t.Context(), quiet, s.client(t), "wfl_1", 0); err == nil ||
			!strings.Contains(err.Error(), "read workflow wfl_1") || len(s.from) != 1 {
			t.Errorf("nonsense ended with %v", err)
		}
	})
}

// TestVerdict checks the exit codes.
func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		w    api.Workflow
		code int
		says string
	}{
		"succeeded": {standing("succeeded"), exitcode.Done, ""},
		"waits":     {standing("running", "succeeded", "waiting"), exitcode.Waiting, "nuon review"},
		"rejected": {noTo(standing("rejected", "succeeded", "failed", "skipped"), 1), exitcode.Rejected,
			"rejected: came out"},
		"a script":  {noTo(standing("rejected", "failed"), 0), exitcode.Rejected, "rejected: came out"},
		"beside it": {noTo(standing("failed", "succeeded", "failed", "failed"), 1), exitcode.Rejected, "rejected: came out"},
		"failed": {standing("failed", "succeeded", "succeeded", "failed"), exitcode.Failed,
			"workflow wfl_1 failed: came out"},
		"cancelled":  {standing("cancelled", "cancelled"), exitcode.Failed, "workflow wfl_1 cancelled: came out"},
		"superseded": {standing("superseded", "succeeded", "cancelled"), exitcode.Failed, "superseded"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ExitError(c.w)
			if exitcode.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestShow checks that each step is printed, that the reason why a group was skipped
// is printed once, and that nothing moves the cursor.
func TestShow(t *testing.T) {
	w := standing("failed", "succeeded", "failed", "skipped")
	w.Outcome = "no\x1b[2J"
	w.Steps = append(w.Steps,
		api.Step{Kind: "plan", Component: "api", Status: "skipped", Reason: "web failed"}, api.Step{Kind: "apply",
			Component: "api", Status: "skipped", Reason: "web failed"},
		api.Step{Kind: "action", Action: "migrate", Component: "db", Status: "pending"})
	var out strings.Builder
	if err := Show(&out, w); err != nil {
		t.Fatal(err)
	}
	want := `deploy 7 of hello/acme (wfl_1): failed
  no [2J
  ✓ plan     web              succeeded  why
  ✗ approve  web              failed     why
  - apply    web              skipped
  - plan     api              skipped    web failed
  - apply    api              skipped
  · action   migrate          pending
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// TestLines checks that a workflow is shown as a tree with one line for each component, with the step that it is at.
func TestLines(t *testing.T) {
	w := api.Workflow{Steps: group("sandbox", api.StepStatusSucceeded)}
	w.Steps = append(w.Steps, group("db", api.StepStatusPending, "sandbox")...)
	w.Steps = append(w.Steps, group("web", api.StepStatusPending, "db")...)
	w.Steps = append(w.Steps, group("docs", api.StepStatusPending, "sandbox")...)
	w.Steps[3].Status, w.Steps[4].Status, w.Steps[5].Status = "succeeded", "succeeded", "running"
	w.Steps[5].StartedAt = noon
	w.Steps[9].Status, w.Steps[10].Status, w.Steps[10].Reason = "succeeded", "waiting", "2 to create"
	want := []progress.Line{
		{Mark: "✓", Text: "sandbox          apply    succeeded"},
		{Before: "├─ ", Mark: "…", Busy: true, Since: noon, Text: "db            apply    running"},
		{Before: "│  └─ ", Mark: "·", Text: "web        plan     pending"},
		{Before: "└─ ", Mark: "?", Text: "docs          approve  waiting    2 to create"},
	}
	if d := cmp.Diff(want, ShortTree(w)); d != "" {
		t.Error(d)
	}
}

// TestNeedsPerson checks that a workflow needs no person while a step runs, nor for approvals that were answered.
func TestNeedsPerson(t *testing.T) {
	w := api.Workflow{Steps: []api.Step{{Status: "waiting", Approval: "apr_1"}, {Status: "pending"}}}
	answered := func(id string) bool { return id == "apr_1" }
	if !NeedsPerson(w) || needsPerson(w, answered) {
		t.Error("an answered approval counts as one that waits")
	}
	w.Steps[1] = api.Step{Status: "waiting", Approval: "apr_2"}
	if !needsPerson(api.Workflow{Steps: w.Steps[1:]}, answered) {
		t.Error("another approval does not need a person")
	}
	w.Steps[1].Status = "running"
	if NeedsPerson(w) {
		t.Error("it needs a person while a step runs")
	}
}

// TestCommands checks the newest workflow of an install, and the usage errors that are
// found before a request.
func TestCommands(t *testing.T) {
	var query string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Path + "?" + r.URL.RawQuery
		l := api.WorkflowList{}
		if r.URL.Query().Get("install") != "fresh" {
			l.Items = []api.Workflow{standing("succeeded", "succeeded")}
		}
		_ = json.NewEncoder(w).Encode(l)
	}))
	defer s.Close()
	for line, c := range map[string]struct {
		code  int
		says  string
		query string
	}{
		"get latest:acme": {0, "deploy 7 of hello/acme (wfl_1): succeeded",
			"/v1/workflows?install=acme&status=&kind=&cursor=&limit=1"},
		"get latest:fresh": {exitcode.Failed, "nuon installs get fresh",
			"/v1/workflows?install=fresh&status=&kind=&cursor=&limit=1"},
		"get latest:": {exitcode.Usage, "latest:INSTALL", ""},
		"list --status running": {0, "wfl_1\thello/acme\tdeploy\tsucceeded\tcame out\n",
			"/v1/workflows?install=&status=running&kind=&cursor=&limit=20"},
		"list --status done":  {exitcode.Usage, "use one of running, succeeded", ""},
		"list --kind deploy":  {0, "wfl_1\thello/acme", "/v1/workflows?install=&status=&kind=deploy&cursor=&limit=20"},
		"list --kind deploys": {exitcode.Usage, "use one of provision, deploy", ""},
		"list --limit -1":     {exitcode.Usage, "--limit -1", ""},
	} {
		t.Run(line, func(t *testing.T) {
			query = ""
			t.Setenv("NUON_URL", s.URL)
			t.Setenv("NUON_TOKEN", "tok")
			t.Setenv("NUON_CONTEXT", "")
			var out strings.Builder
			command := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table"}})
			command.SilenceErrors, command.SilenceUsage = true, true
			command.SetArgs(strings.Fields(line))
			err := command.ExecuteContext(t.Context())
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if exitcode.CodeOf(err) != c.code || !strings.Contains(said, c.says) {
				t.Errorf("ended with %v after %q, want code %d and %q", err, out.String(), c.code, c.says)
			}
			if query != c.query {
				t.Errorf("asked for %s, want %s", query, c.query)
			}
		})
	}
}
