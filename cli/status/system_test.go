package status

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// well returns a control plane without problems.
func well() api.System {
	now := time.Now()
	return api.System{
		Version: "1.0.0",
		Replicas: []api.Replica{{ID: "rep_1", Version: "1.0.0", StartedAt: now.Add(-time.Hour),
			SeenAt: now, This: true}},
		Database: api.PartHealth{Ok: true, Milliseconds: 1, Version: "15.4"},
		Registry: api.PartHealth{Ok: true, Milliseconds: 2},
		Runners:  api.RunnerCounts{Online: 2, Offline: 1},
	}
}

func run(t *testing.T, s api.System, output string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/system" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_ = json.NewEncoder(w).Encode(s)
	}))
	t.Cleanup(server.Close)
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: output}})
	c.SetArgs([]string{"--system"})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAllIsWell(t *testing.T) {
	out, err := run(t, well(), "table")
	if err != nil {
		t.Fatalf("ends with %v", err)
	}
	for _, want := range []string{"replica\trunning\trep_1", "database\tok\tPostgreSQL 15.4",
		"runners\tok\t2 online, 0 off, 1 offline"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	var back api.System
	if out, err = run(t, well(), "json"); err != nil || json.Unmarshal([]byte(out), &back) != nil ||
		back.Version != "1.0.0" {
		t.Errorf("JSON is %s, %v", out, err)
	}
}

// TestWhatIsWrong checks that each problem is printed, and alone makes the command exit with 1.
func TestWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*api.System)
		says  string
	}{
		"database":  {func(s *api.System) { s.Database = api.PartHealth{Error: "no route"} }, "the database: no route"},
		"registry":  {func(s *api.System) { s.Registry = api.PartHealth{Error: "refused"} }, "the registry: refused"},
		"late":      {func(s *api.System) { s.Work.LateSeconds = 300 }, "work is 5m0s behind"},
		"failing":   {func(s *api.System) { s.Work.Failing = 3 }, "3 background tasks"},
		"silent":    {func(s *api.System) { s.Work.AttemptsOutOfContact = 1 }, "nuon runners replace"},
		"contested": {func(s *api.System) { s.Work.Contested = 1 }, "nuon state list"},
	} {
		t.Run(name, func(t *testing.T) {
			s := well()
			c.spoil(&s)
			_, err := run(t, s, "table")
			if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), c.says) {
				t.Errorf("ends with %d: %v", exitcode.CodeOf(err), err)
			}
		})
	}
	s := well()
	s.Replicas = append(s.Replicas, api.Replica{ID: "rep_2", SeenAt: time.Now().Add(-time.Hour)})
	if out, err := run(t, s, "table"); err != nil || !strings.Contains(out, "replica\tgone\trep_2") {
		t.Errorf("a replica that is gone: %v\n%s", err, out)
	}
}
