package logs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.Local)

// chunk is a line that a job said.
func chunk(job, level, text string) api.LogChunk {
	return api.LogChunk{Lines: []api.LogLine{{T: at, L: api.LogLineL(level), M: job + ": " + text}}}
}

// start runs a control plane with a build, a workflow of two jobs, and a log for each job.
func start(t *testing.T, output string) (*env.Env, *strings.Builder, *strings.Builder) {
	t.Helper()
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux.HandleFunc("GET /v1/builds/bld_1", func(w http.ResponseWriter, _ *http.Request) { give(w, api.Build{ID: "bld_1", Job: "job_1"}) })
	mux.HandleFunc("GET /v1/builds/bld_2", func(w http.ResponseWriter, _ *http.Request) { give(w, api.Build{ID: "bld_2"}) })
	deploy := api.Workflow{ID: "wfl_1", Steps: []api.Step{
		{Kind: "plan", Component: "web", Status: "succeeded", Job: "job_1"}, {Kind: "approve", Component: "web", Status: "waiting"}, {Kind: "action", Component: "web", Action: "migrate", Status: "failed", Job: "job_2"},
	}}
	mux.HandleFunc("GET /v1/workflows/wfl_1", func(w http.ResponseWriter, _ *http.Request) { give(w, deploy) })
	mux.HandleFunc("GET /v1/workflows/wfl_2", func(w http.ResponseWriter, _ *http.Request) { give(w, api.Workflow{ID: "wfl_2"}) })
	mux.HandleFunc("GET /v1/workflows", func(w http.ResponseWriter, _ *http.Request) { give(w, api.WorkflowList{Items: []api.Workflow{deploy}}) })
	mux.HandleFunc("GET /v1/jobs/{job}/logs", func(w http.ResponseWriter, r *http.Request) {
		job := r.PathValue("job")
		chunks := []api.LogChunk{chunk(job, "info", "one\x1b[2J"), chunk(job, "error", "two")}
		if r.Header.Get("Accept") != "text/event-stream" {
			give(w, api.LogChunkList{Items: chunks})
			return
		}
		for i, c := range chunks {
			b, _ := json.Marshal(c)
			_, _ = fmt.Fprintf(w, "event: log\nid: 1/%d\ndata: %s\n\n", i+1, b)
		}
		_, _ = fmt.Fprint(w, "event: end\nid: 1/2\ndata: {}\n\n")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out, remarks strings.Builder
	return &env.Env{Console: &console.Console{Out: &out, Err: &remarks, Output: output}}, &out, &remarks
}

func execute(t *testing.T, e *env.Env, args ...string) error {
	t.Helper()
	c := New(e)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// TestLogs: the id says whose log it is; each job's lines come with their time and level and cannot move the cursor; and which
// job they are of is a remark, so that a pipe holds lines alone. Following prints the same and ends with the job.
func TestLogs(t *testing.T) {
	of := func(job string) string {
		return "03:04:05.678 info  " + job + ": one [2J\n03:04:05.678 error " + job + ": two\n"
	}
	const steps = "plan web (succeeded):\naction migrate (failed):\n"
	for name, want := range map[string]struct{ out, remarks string }{
		"job_7":       {of("job_7"), ""},
		"bld_1":       {of("job_1"), ""},
		"wfl_1":       {of("job_1") + of("job_2"), steps},
		"latest:acme": {of("job_1") + of("job_2"), steps},
	} {
		for _, more := range [][]string{nil, {"-f"}} {
			e, out, remarks := start(t, "table")
			if err := execute(t, e, append(more, name)...); err != nil {
				t.Fatal(err)
			}
			if out.String() != want.out || remarks.String() != want.remarks {
				t.Errorf("%s %v printed\n%s\nand said %q", name, more, out, remarks)
			}
		}
	}
}

// TestNoLog: what has none yet says so, and what to look at.
func TestNoLog(t *testing.T) {
	for id, says := range map[string]string{"bld_2": "its job has not been made yet", "wfl_2": "`nuon workflows get wfl_2` says why"} {
		e, _, _ := start(t, "table")
		if err := execute(t, e, id); exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), says) {
			t.Errorf("%s ended with %v", id, err)
		}
	}
}

// TestLogAsData is the chunks of the API: in one list, or one after the other while they come.
func TestLogAsData(t *testing.T) {
	e, out, _ := start(t, "json")
	if err := execute(t, e, "bld_1"); err != nil {
		t.Fatal(err)
	}
	var got api.LogChunkList
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Items) != 2 || got.Items[1].Lines[0].M != "job_1: two" {
		t.Errorf("printed %s, %v", out, err)
	}
	e, out, _ = start(t, "json")
	if err := execute(t, e, "-f", "bld_1"); err != nil {
		t.Fatal(err)
	}
	var said []string
	for d := json.NewDecoder(strings.NewReader(out.String())); ; {
		var c api.LogChunk
		if err := d.Decode(&c); err != nil {
			break
		}
		said = append(said, c.Lines[0].M)
	}
	if len(said) != 2 || said[0] != "job_1: one\x1b[2J" || said[1] != "job_1: two" {
		t.Errorf("printed %s", out)
	}
	e, out, _ = start(t, "yaml")
	if err := execute(t, e, "bld_1"); err != nil || !strings.HasPrefix(out.String(), "items:\n") {
		t.Errorf("printed %s, %v", out, err)
	}
	e, out, _ = start(t, "name")
	if err := execute(t, e, "bld_1"); exit.CodeOf(err) != exit.Usage || out.Len() > 0 {
		t.Errorf("-o name printed %s, %v", out, err)
	}
}
