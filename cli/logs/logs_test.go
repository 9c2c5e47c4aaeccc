package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.Local)

// plane is a fake control plane with builds, workflows and logs.
type plane struct {
	t   *testing.T
	url string

	mutex     sync.Mutex
	changed   chan struct{} // closed and replaced at every change
	logs      map[string][]api.LogChunk
	ended     map[string]bool
	workflows map[string]api.Workflow
	breaks    bool // a stream breaks after each event
	streams   int
	jobs      map[string]api.Job
	request   api.NewLogRequest // the last request for logs
	cancelled []string          // ids of cancelled jobs
}

// said adds a chunk of one line to a log.
func (p *plane) said(log, level, text string, after time.Duration) {
	p.change(func() {
		p.logs[log] = append(p.logs[log], api.LogChunk{Attempt: 1, Seq: int64(len(p.logs[log])),
			Lines: []api.LogLine{{T: at.Add(after), L: api.LogLineL(level), M: text}}})
	})
}

func (p *plane) change(do func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	do()
	close(p.changed)
	p.changed = make(chan struct{})
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{t: t, changed: make(chan struct{}), logs: map[string][]api.LogChunk{}, ended: map[string]bool{},
		workflows: map[string]api.Workflow{}}
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux.HandleFunc("GET /v1/builds/{build}", func(w http.ResponseWriter, r *http.Request) {
		give(w, map[string]api.Build{"bld_1": {ID: "bld_1", Job: "job_1"}, "bld_2": {ID: "bld_2"},
			"bld_3": {ID: "bld_3", EndedAt: at}}[r.PathValue("build")])
	})
	mux.HandleFunc("GET /v1/builds", func(w http.ResponseWriter, r *http.Request) {
		l := api.BuildList{Items: []api.Build{}}
		if r.URL.Query().Get("app") == "hello" && r.URL.Query().Get("component") == "web" {
			l.Items = append(l.Items, api.Build{ID: "bld_1", Job: "job_1"})
		}
		give(w, l)
	})
	mux.HandleFunc("GET /v1/workflows/{workflow}", func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		give(w, p.workflows[r.PathValue("workflow")])
	})
	mux.HandleFunc("GET /v1/workflows", func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		// There are two pages, the second with the older half.
		if r.URL.Query().Get("cursor") == "" {
			give(w, api.WorkflowList{Items: []api.Workflow{p.workflows["wfl_1"]}, Next: "older"})
			return
		}
		give(w, api.WorkflowList{Items: []api.Workflow{p.workflows["wfl_0"]}})
	})
	mux.HandleFunc("GET /v1/workflows/{workflow}/events", func(w http.ResponseWriter, r *http.Request) {
		p.stream(w, r, func() ([]string, bool) {
			now := p.workflows[r.PathValue("workflow")]
			raw, _ := json.Marshal(now)
			return []string{fmt.Sprintf("event: workflow\nid: x\ndata: %s\n\n", raw)},
				now.Status != api.WorkflowStatusRunning
		})
	})
	log := func(w http.ResponseWriter, r *http.Request, name string, id func(api.LogChunk) string) {
		if r.Header.Get("Accept") != "text/event-stream" {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			give(w, api.LogChunkList{Items: append([]api.LogChunk{}, p.logs[name]...)})
			return
		}
		next := 0
		p.stream(w, r, func() (events []string, over bool) {
			if last := r.Header.Get("Last-Event-ID"); next == 0 && last != "" {
				next = 1 + slices.IndexFunc(p.logs[name], func(c api.LogChunk) bool { return id(c) == last })
			}
			for ; next < len(p.logs[name]); next++ {
				raw, _ := json.Marshal(p.logs[name][next])
				events = append(events, fmt.Sprintf("event: log\nid: %s\ndata: %s\n\n", id(p.logs[name][next]), raw))
				if p.breaks {
					return events, true
				}
			}
			if p.ended[name] {
				return append(events, "event: end\ndata: {}\n\n"), true
			}
			return events, false
		})
	}
	mux.HandleFunc("POST /v1/installs/{install}/log-requests", func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		_ = json.NewDecoder(r.Body).Decode(&p.request)
		w.WriteHeader(http.StatusCreated)
		give(w, api.Job{ID: r.PathValue("install"), Kind: "logs", Status: api.JobStatusQueued})
	})
	mux.HandleFunc("GET /v1/jobs/{job}", func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		give(w, p.jobs[r.PathValue("job")])
	})
	mux.HandleFunc("POST /v1/jobs/{job}/cancel", func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.cancelled = append(p.cancelled, r.PathValue("job"))
		give(w, api.Job{ID: r.PathValue("job")})
	})
	mux.HandleFunc("GET /v1/jobs/{job}/logs", func(w http.ResponseWriter, r *http.Request) {
		log(w, r, r.PathValue("job"), func(c api.LogChunk) string { return fmt.Sprintf("%d/%d", c.Attempt, c.Seq) })
	})
	mux.HandleFunc("GET /v1/runners/{runner}/logs", func(w http.ResponseWriter, r *http.Request) {
		log(w, r, r.PathValue("runner"), func(c api.LogChunk) string { return fmt.Sprint(c.Seq) })
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	p.url = s.URL
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	p.workflows["wfl_1"] = api.Workflow{ID: "wfl_1", Status: api.WorkflowStatusFailed, Steps: []api.Step{
		{ID: "stp_1", Kind: "plan", Component: "web", Status: "succeeded", Job: "job_1"},
		{ID: "stp_2", Kind: "approve", Component: "web", Status: "waiting"},
		{ID: "stp_3", Kind: "action", Component: "web", Action: "migrate", Status: "failed", Job: "job_2"},
	}}
	p.workflows["wfl_0"] = api.Workflow{ID: "wfl_0", Status: api.WorkflowStatusSucceeded, Steps: []api.Step{
		{ID: "stp_0", Kind: "action", Action: "backup", Status: "succeeded", Job: "job_0"},
		{ID: "stp_00", Kind: "action", Action: "backup", Status: "skipped"},
	}}
	p.workflows["wfl_2"] = api.Workflow{ID: "wfl_2", Status: api.WorkflowStatusRunning,
		Steps: []api.Step{{ID: "stp_9", Kind: "plan", Component: "web", Status: "pending"}}}
	for _, job := range []string{"job_0", "job_1", "job_2", "job_7", "build", "run_1"} {
		p.said(job, "debug", job+": one\x1b[2J", 0)
		p.said(job, "error", job+": two", time.Minute)
		p.ended[job] = true
	}
	return p
}

// stream sends the events that next returns, at first and after every change, until
// next reports the end.
func (p *plane) stream(w http.ResponseWriter, r *http.Request, next func() ([]string, bool)) {
	w.Header().Set("Content-Type", "text/event-stream")
	for first := true; ; first = false {
		p.mutex.Lock()
		if first {
			p.streams++
		}
		events, over := next()
		changed := p.changed
		p.mutex.Unlock()
		_, _ = w.Write([]byte(strings.Join(events, "")))
		w.(http.Flusher).Flush()
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// output is a buffer that can be read while it is written to.
type output struct {
	mutex sync.Mutex
	text  strings.Builder
	wrote chan struct{}
}

func newOutput() *output { return &output{wrote: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	select {
	case o.wrote <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// waitFor waits until text was printed.
func (o *output) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := testtime.After()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.wrote:
		case <-deadline:
			t.Fatalf("%q does not come:\n%s", text, o)
		}
	}
}

// run runs a command line against the plane, and returns its standard output and standard error.
func run(ctx context.Context, t *testing.T, format string, args ...string) (out, remarks *output, end func() error) {
	t.Helper()
	out, remarks = newOutput(), newOutput()
	c := New(&cmdenv.Env{Console: &console.Console{Out: out, Err: remarks, Output: format}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	ended := make(chan error, 1)
	go func() { ended <- c.ExecuteContext(ctx) }()
	return out, remarks, func() error {
		t.Helper()
		select {
		case err := <-ended:
			return err
		case <-testtime.After():
			t.Fatalf("nuon logs %v does not end:\n%s", args, out)
			return nil
		}
	}
}

// TestLogs checks that an id, or a kind with a name, selects the log; that a line has its time
// and level and cannot move the cursor; that the lines of a workflow's steps are sorted by
// time and name their step; and that following prints the same lines and ends with the job.
func TestLogs(t *testing.T) {
	newPlane(t)
	of := func(log string) string {
		return "03:04:05.678 debug " + log + ": one [2J\n03:05:05.678 error " + log + ": two\n"
	}
	const both = "plan web       | 03:04:05.678 debug job_1: one [2J\naction migrate | 03:04:05.678 debug job_2: " +
		"one [2J\n" +
		"plan web       | 03:05:05.678 error job_1: two\naction migrate | 03:05:05.678 error job_2: two\n"
	step := func(called, log string) string {
		return called + " | 03:04:05.678 debug " + log + ": one [2J\n" + called +
			" | 03:05:05.678 error " + log + ": two\n"
	}
	for line, want := range map[string]string{
		"job_7": of("job_7"), "job job_7": of("job_7"), "bld_1": of("job_1"), "build bld_1": of("job_1"),
		"build hello/web": of("job_1"),
		"wfl_1":           both, "latest:acme": both, "workflow latest:acme": both, "workflow wfl_1 --step web": both,
		"workflow wfl_1 --step stp_1": step("plan web", "job_1"), "workflow wfl_1 --step migrate": step("action migrate",
			"job_2"), "workflow wfl_1 --step plan\u00a0web": step("plan web", "job_1"),
		"stp_3": of("job_2"), "step stp_1": of("job_1"), "action acme migrate": of("job_2"),
		"action acme backup": of("job_0"),
		"job_7 --level warn": "03:05:05.678 error job_7: two\n", "job_7 --tail 1": "03:05:05.678 error job_7: two\n",
		"job_7 --since " + at.Add(time.Second).Format(time.RFC3339): "03:05:05.678 error job_7: two\n",
		"wfl_1 --tail 1":              "action migrate | 03:05:05.678 error job_2: two\n",
		"job_7 --timestamps --tail 1": at.Add(time.Minute).Format("2006-01-02T15:04:05.000Z07:00") + " error job_7: two\n",
	} {
		var args []string
		for _, word := range strings.Fields(strings.ReplaceAll(line, "\u00a0", "_")) {
			args = append(args, strings.ReplaceAll(word, "plan_web", "plan web"))
		}
		for _, more := range [][]string{nil, {"-f"}} {
			out, remarks, end := run(t.Context(), t, "table", append(args, more...)...)
			if err := end(); err != nil || out.String() != want || remarks.String() != "" {
				t.Errorf("%v %v: %v, printed\n%swant\n%sand said %q", args, more, err, out, want, remarks)
			}
		}
	}
	for _, args := range [][]string{{"runner", "build"}, {"run_1"}} {
		out, _, end := run(t.Context(), t, "table", args...)
		if err := end(); err != nil || out.String() != of(args[len(args)-1]) {
			t.Errorf("%v: %v, printed\n%s", args, err, out)
		}
	}
}

// TestNoLog checks that the error for an object without a log states what to look at instead.
func TestNoLog(t *testing.T) {
	p := newPlane(t)
	p.logs["job_old"] = nil
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"bld_2": {exitcode.Failed, "its job was not created yet"}, "bld_3": {exitcode.Failed,
			"deleted after the retention period"},
		"wfl_2":                         {exitcode.Failed, "see why with `nuon workflows get wfl_2`"},
		"workflow wfl_1 --step nothing": {exitcode.Failed, "it has plan web, approve web, action migrate"},
		"build hello/api":               {exitcode.Failed, "hello/api has no build"},
		"step stp_77":                   {exitcode.Failed, "none of the newest 1 workflows has a step stp_77"},
		"step stp_2":                    {exitcode.Failed, "has no log: it is waiting"},
		"action acme never":             {exitcode.Failed, "has not run on acme recently"},
		"acme":                          {exitcode.Usage, "is not an ID"}, "job_7 --level loud": {exitcode.Usage,
			"use one of debug, info, warn, error"}, "job_7 --since yesterday": {exitcode.Usage, "such as 10m"},
		"job_7 --since 1s": {exitcode.Done, "no line matches"}, "job_old": {exitcode.Done, "the log is empty"},
		"runner quiet": {exitcode.Done, "has sent no log"},
	} {
		_, remarks, end := run(t.Context(), t, "table", strings.Fields(line)...)
		err := end()
		if said := fmt.Sprint(err, remarks); exitcode.CodeOf(err) != want.code || !strings.Contains(said, want.says) {
			t.Errorf("%s ended with %v and said %q", line, err, remarks)
		}
	}
}

// TestLogAsData checks that each line is printed as an object, also when following.
func TestLogAsData(t *testing.T) {
	newPlane(t)
	for _, args := range [][]string{{"wfl_1"}, {"wfl_1", "-f"}} {
		out, _, end := run(t.Context(), t, "json", args...)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(out.String()), "\n")
		var last line
		if err := json.Unmarshal([]byte(rows[len(rows)-1]), &last); err != nil || len(rows) != 4 ||
			last.M != "job_2: two" || last.L != "error" || last.Of != "action migrate" || last.Job != "job_2" ||
			!last.T.Equal(at.Add(time.Minute)) {
			t.Errorf("%v printed %s, %v", args, out, err)
		}
		out, _, end = run(t.Context(), t, "yaml", args...)
		var all []line
		if err := errors.Join(end(), yaml.Unmarshal([]byte(out.String()), &all)); err != nil || len(all) != 4 ||
			all[0].M != "job_1: one\x1b[2J" {
			t.Errorf("%v printed %s, %v", args, out, err)
		}
	}
	out, _, end := run(t.Context(), t, "name", "bld_1")
	if err := end(); exitcode.CodeOf(err) != exitcode.Usage || out.String() != "" {
		t.Errorf("-o name printed %s, %v", out, err)
	}
}

// TestFollowAWorkflow checks that steps that start later are followed too, over connections that
// break, without missing or repeated lines, and that following ends when all logs have ended.
func TestFollowAWorkflow(t *testing.T) {
	p := newPlane(t)
	p.breaks = true
	step := func(id, component, job string, status api.StepStatus) api.Step {
		return api.Step{ID: id, Kind: "apply", Component: component, Status: status, Job: job}
	}
	p.change(func() {
		p.workflows["wfl_5"] = api.Workflow{ID: "wfl_5", Status: api.WorkflowStatusRunning,
			Steps: []api.Step{step("a", "net", "job_a", "running"), step("b", "web", "", "pending")}}
	})
	p.said("job_a", "info", "before", 0)
	out, remarks, end := run(t.Context(), t, "table", "-f", "workflow", "wfl_5")
	out.waitFor(t, "before")
	p.said("job_a", "info", "first", 0)
	out.waitFor(t, "first")
	p.change(func() {
		p.workflows["wfl_5"] = api.Workflow{ID: "wfl_5", Status: api.WorkflowStatusRunning,
			Steps: []api.Step{step("a", "net", "job_a", "succeeded"),
				{ID: "w", Kind: "approve", Component: "web", Status: "waiting"}, step("b", "web", "", "pending")}}
	})
	remarks.waitFor(t, "waiting for an approval")
	p.change(func() {
		p.workflows["wfl_5"] = api.Workflow{ID: "wfl_5", Status: api.WorkflowStatusRunning,
			Steps: []api.Step{step("a", "net", "job_a", "succeeded"), step("b", "web", "job_b", "running")}}
	})
	p.said("job_b", "warn", "second", 0)
	out.waitFor(t, "second")
	p.change(func() {
		p.workflows["wfl_5"] = api.Workflow{ID: "wfl_5", Status: api.WorkflowStatusSucceeded,
			Steps: []api.Step{step("a", "net", "job_a", "succeeded"), step("b", "web", "job_b", "succeeded")}}
	})
	p.said("job_b", "info", "late", 0) // the end of a log may arrive after the workflow's end
	p.change(func() { p.ended["job_a"], p.ended["job_b"] = true, true })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	want := "apply net | 03:04:05.678 info  before\napply net | 03:04:05.678 info  first\napply web | 03:04:05.678 warn " +
		" second\napply web | 03:04:05.678 info  late\n"
	if out.String() != want || strings.Count(remarks.String(), "\n") != 1 {
		t.Errorf("printed\n%sand said %q", out, remarks)
	}
}

// TestCtrlC checks that Ctrl-C ends following with its exit code, also between two connections.
func TestCtrlC(t *testing.T) {
	for _, args := range [][]string{{"-f", "runner", "build"}, {"-f", "wfl_2"}} {
		p := newPlane(t)
		p.mutex.Lock()
		p.ended["build"] = false // otherwise the log may end first
		p.mutex.Unlock()
		ctx, stop := context.WithCancel(t.Context())
		out, _, end := run(ctx, t, "table", args...)
		if args[1] == "runner" {
			out.waitFor(t, "two")
		}
		stop()
		if err := end(); !errors.Is(err, exitcode.Interrupted) {
			t.Errorf("%v ended with %v", args, err)
		}
	}
}

// TestColour checks that levels are colored on a terminal, and that colors in logged
// text are removed.
func TestColour(t *testing.T) {
	p := &printer{console: &console.Console{Color: true, Output: "table"}, several: true, nameWidth: 4}
	got, err := p.text(line{T: at, L: "error", M: "a\x1b[31mb", Of: "x"})
	if want := "\x1b[2mx    | 03:04:05.678\x1b[0m \x1b[31merror\x1b[0m \x1b[31ma [31mb\x1b[0m\n"; err != nil ||
		got != want {
		t.Errorf("%q, %v", got, err)
	}
}
