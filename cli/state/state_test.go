package state_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/state"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane is a fake control plane with fixed answers. It records the requests.
type plane struct {
	answers map[string]any // by method and path with query
	asked   []string       // with bodies
}

// run runs `nuon state` against the plane and returns its output.
func (p *plane) run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an incomplete body shows up in asked
		what := r.Method + " " + r.URL.RequestURI()
		p.asked = append(p.asked, strings.TrimSpace(what+" "+string(body)))
		answer, known := p.answers[what]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !known:
			w.WriteHeader(http.StatusNotFound)
			answer = api.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "there is nothing at " + what}
		case answer == nil:
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "t")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "none"))
	var screen bytes.Buffer
	c := state.New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &screen, Err: &screen,
		Output: "table", OutIsTerminal: true}})
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SilenceUsage, c.SilenceErrors = true, true
	err = c.ExecuteContext(context.WithoutCancel(t.Context()))
	return screen.String(), err
}

func version(number int, status api.StateVersionStatus, reason string) api.StateVersion {
	return api.StateVersion{
		Version:   number,
		Status:    status,
		Reason:    reason,
		Serial:    int64(number + 10),
		Lineage:   "lin",
		Digest:    "hmac:1",
		KeyID:     "key-1",
		Bytes:     900,
		Job:       "job_1",
		Attempt:   2,
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local),
	}
}

// has checks that the output contains these texts.
func has(t *testing.T, out string, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("the screen has no %q:\n%s", w, out)
		}
	}
}

func TestListShowsStatesAndLocks(t *testing.T) {
	p := &plane{answers: map[string]any{"GET /v1/installs/acme/states": api.ComponentStateList{Items: []api.ComponentState{
		{Component: "network", Newest: version(3, api.Kept, ""), Contested: []api.StateVersion{version(5, api.Contested, ""),
			version(4, api.Contested, "")}},
		{Component: "web", Newest: version(1, api.Kept, ""), Lock: api.HeldLock{ID: "l", Job: "job_9", Attempt: 1,
			Runner: "berlin", Live: true}},
		{Component: "db", Contested: []api.StateVersion{version(2, api.Contested, "")}},
		{Component: "late", Lock: api.HeldLock{ID: "l", Job: "job_8", Attempt: 1, Runner: "berlin"}},
	}}}}
	out, err := p.run(t, "list", "acme")
	has(t, out, err, "network    3        13      2026-03-01 12:00:00  -", "versions 4, 5", "  version 2",
		"attempt 1 of job job_9 on berlin", "late       -        -       -", "left by attempt 1 of job job_8")
}

func list(versions ...api.StateVersion) api.StateVersionList {
	return api.StateVersionList{Items: versions}
}

func TestShow(t *testing.T) {
	contested := version(2, api.Contested, "attempt 2 of job job_1 wrote it and did not know version 1")
	p := &plane{answers: map[string]any{
		"GET /v1/installs/acme/components/web/states?cursor=&limit=20": list(contested, version(1, api.Kept, "")),
		"GET /v1/installs/acme/components/web/states?cursor=3&limit=1": list(contested),
		"GET /v1/installs/acme/components/web/states?cursor=9&limit=1": list(contested),
	}}
	out, err := p.run(t, "show", "acme", "web")
	has(t, out, err, "2        contested  12", "did not know version 1", "1        kept")
	out, err = p.run(t, "show", "acme", "web", "2")
	has(t, out, err, "version 2 of the state of web: contested", "900 bytes, to key key-1",
		`nuon state restore acme web 2 --reason "…"`, `nuon state dismiss acme web 2 --reason "…"`)
	if _, err := p.run(t, "show", "acme", "web", "8"); err == nil ||
		!strings.Contains(err.Error(), "nuon state show acme web") {
		t.Errorf("a version that is not there: %v", err)
	}
	for _, bad := range []string{"0", "x", "1e3", "99999999999"} {
		if _, err := p.run(t, "show", "acme", "web", bad); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("version %s: %v", bad, err)
		}
	}
}

func TestAWordOnAStateNeedsAReason(t *testing.T) {
	for _, args := range [][]string{{"unlock", "acme", "web"}, {"restore", "acme", "web", "2"},
		{"dismiss", "acme", "web", "2"}, {"abandon", "acme", "web", "--yes"}} {
		p := &plane{}
		if _, err := p.run(t, args...); err == nil || !strings.Contains(err.Error(), "reason") || len(p.asked) != 0 {
			t.Errorf("%v without a reason: %v, after %v", args, err, p.asked)
		}
	}
}

func TestWordsOnAState(t *testing.T) {
	p := &plane{answers: map[string]any{
		"DELETE /v1/installs/acme/components/web/lock?reason=left+behind": nil,
		"POST /v1/installs/acme/components/web/states/2/dismiss":          version(2, api.Dismissed, "dismissed by vera: no"),
		"POST /v1/installs/acme/components/web/abandon":                   api.ComponentState{Component: "web"},
		"POST /v1/installs/acme/components/web/states/2/restore": api.Workflow{
			ID:      "wfl_1",
			Kind:    api.WorkflowKindRestore,
			App:     "hello",
			Install: "acme",
			Status:  api.WorkflowStatusRunning,
			Number:  7,
			Reason:  "vera asked",
		},
	}}
	out, err := p.run(t, "unlock", "acme", "web", "--reason", "left behind")
	has(t, out, err, "released the lock of the state of web")
	out, err = p.run(t, "dismiss", "acme", "web", "2", "--reason", "no")
	has(t, out, err, "dismissed version 2 of the state of web")
	before := len(p.asked)
	if _, err := p.run(t, "abandon", "acme", "web", "--reason", "burnt"); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "--yes") || len(p.asked) != before {
		t.Errorf("abandoned by accident: %v, asked %v", err, p.asked[before:])
	}
	out, err = p.run(t, "abandon", "acme", "web", "--reason", "burnt", "--yes")
	has(t, out, err, "abandoned the state of web", "nuon review --install acme")
	out, err = p.run(t, "restore", "acme", "web", "2", "--reason", "yes")
	has(t, out, err, "restore 7 of hello/acme (wfl_1): running", "nuon workflows watch wfl_1", "nuon review")
	if last := p.asked[len(p.asked)-1]; !strings.HasSuffix(last, `{"reason":"yes"}`) {
		t.Errorf("asked %s", last)
	}
}
