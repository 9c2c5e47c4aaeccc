package actions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/form"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane is a fake control plane with an app hello with two actions, and an install
// acme whose target is release 3.
type plane struct {
	asked   *api.NewWorkflow
	release string // the release whose config was requested
}

func start(t *testing.T) (*plane, *cmdenv.Env, *strings.Builder) {
	t.Helper()
	p := &plane{}
	safe := "safe"
	config := api.AppConfig{Version: 3, Actions: []api.DeclaredAction{
		{Name: "migrate", Description: "Moves the data", Timeout: "5m", Triggers: []string{"manual"},
			Steps: []string{"copy", "check"}, Inputs: []api.DeclaredParameter{
				{Name: "to", Type: "number", Description: "which\x1b[2J shape", Required: true},
				{Name: "mode", Type: "string", Required: true, Default: &safe}, {Name: "note", Type: "string"},
			}},
		{Name: "nightly", Timeout: "2m", Triggers: []string{"cron", "manual"}, IdleTriggers: []string{"cron"},
			Steps: []string{"check"}},
		{Name: "smoke_test", Timeout: "2m", Triggers: []string{"post-deploy-component:web", "post-provision"},
			Steps: []string{"check"}},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/apps/hello/config", func(w http.ResponseWriter, r *http.Request) {
		p.release = r.URL.Query().Get("release")
		_ = json.NewEncoder(w).Encode(config)
	})
	mux.HandleFunc("GET /v1/installs/acme", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.Install{ID: "ins_1", App: "hello", Name: "acme", Target: 3})
	})
	mux.HandleFunc("POST /v1/installs/acme/workflows", func(w http.ResponseWriter, r *http.Request) {
		p.asked = &api.NewWorkflow{}
		if err := json.NewDecoder(r.Body).Decode(p.asked); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(api.Asked{Workflow: api.Workflow{ID: "wfl_1", App: "hello", Install: "acme",
			Kind: "action", Number: 4, Status: "running"}})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	out := &strings.Builder{}
	return p, &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: out, Err: out, Output: "table"}}, out
}

func execute(t *testing.T, c *cobra.Command, args ...string) error {
	t.Helper()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// TestDeclared checks the actions of an app, and of the target release of an install.
func TestDeclared(t *testing.T) {
	migrate := `migrate: Moves the data
  timeout 5m
runs
  manual
inputs
  to                 number  required
    which [2J shape
  mode               string  default "safe"
  note               string  optional
steps
  copy
  check

nuon run acme migrate --input to=…
`
	for line, c := range map[string]struct {
		version string
		code    int
		want    string
	}{
		"list --app hello": {"", 0, "migrate\tmanual\tto, mode, note\t5m\tMoves the data\nnightly\tcron (no " +
			"effect yet), manual\t-\t2m\t\nsmoke_test\tpost-deploy-component:web, post-provision\t-\t2m\t\n"},
		"list --install acme":        {"3", 0, "migrate\tmanual"},
		"get migrate --install acme": {"3", 0, migrate},
		"get nightly --app hello": {"", 0, "nightly\n  timeout 2m\nruns\n  cron (no effect yet)\n  manual\nsteps\n " +
			" check\n\nnuon run INSTALL nightly\n"},
		"get smoke_test --app hello": {"", 0, "smoke_test\n  timeout 2m\nruns\n  post-deploy-component:web\n  " +
			"post-provision\nsteps\n  check\n"},
		"get smoke --app hello": {"", exitcode.Failed,
			`action "smoke" not found: the app has migrate, nightly, smoke_test`},
		"list":                            {"", exitcode.Failed, "at least one of the flags"},
		"list --app hello --install acme": {"", exitcode.Failed, "none of the others can be"},
		"list --app hello --limit 1":      {"", 0, "migrate\t"},
	} {
		t.Run(line, func(t *testing.T) {
			p, e, out := start(t)
			err := execute(t, New(e), strings.Fields(line)...)
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if exitcode.CodeOf(err) != c.code || !strings.HasPrefix(said, c.want) && !strings.Contains(said, c.want) ||
				c.code == 0 && p.release != c.version && p.release != "0" {
				t.Errorf("ended with %v after %q, of release %q", err, said, p.release)
			}
		})
	}
}

// TestRun checks that inputs and environment are sent as given, also from files, and
// that the short form is equivalent.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"acme", "migrate", "--input", "to=42", "--input-file", "note=@" + file, "--env",
		"A=1=2", "--env", "B="}
	want := &api.NewWorkflow{Kind: "action", Action: "migrate", Inputs: map[string]string{"to": "42", "note": "{}"},
		Env: map[string]string{"A": "1=2", "B": ""}}
	for name, run := range map[string]func(e *cmdenv.Env) error{
		"run":         func(e *cmdenv.Env) error { return execute(t, NewRun(e), args...) },
		"actions run": func(e *cmdenv.Env) error { return execute(t, New(e), append([]string{"run"}, args...)...) },
		"at a terminal, with nothing missing": func(e *cmdenv.Env) error {
			e.Console.InIsTerminal, e.Console.ErrIsTerminal = true, true
			return execute(t, NewRun(e), args...)
		},
	} {
		p, e, out := start(t)
		if err := run(e); err != nil || !strings.Contains(out.String(), "action 4 of hello/acme (wfl_1): running") {
			t.Errorf("%s ended with %v after %s", name, err, out)
		}
		if d := cmp.Diff(want, p.asked); d != "" {
			t.Errorf("%s\n%s", name, d)
		}
	}
	for _, wrong := range [][]string{{"--env", "A"}, {"--input", "to"}, {"--input-file", "to=@" + file + ".none"}} {
		p, e, _ := start(t)
		if err := execute(t, NewRun(e),
			append([]string{"acme", "migrate"}, wrong...)...); exitcode.CodeOf(err) != exitcode.Usage || p.asked != nil {
			t.Errorf("%v ended with %v", wrong, err)
		}
	}
}

// TestNeeded checks that only required inputs without a default are asked for.
func TestNeeded(t *testing.T) {
	p, e, _ := start(t)
	client, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	a, err := declaredOn(t.Context(), client, "acme", "migrate")
	if err != nil || p.release != "3" {
		t.Fatal(err, p.release)
	}
	for given, want := range map[string]bool{"": true, "mode": true, "to": false} {
		if got := form.RequiredPages(form.Parameters(a, map[string]string{given: ""})); (got != nil) != want {
			t.Errorf("with %q: %v", given, got)
		}
	}
	if _, err := declaredOn(t.Context(), client, "acme", "x"); err == nil ||
		!strings.Contains(fmt.Sprint(err), "migrate, nightly, smoke_test") {
		t.Errorf("ended with %v", err)
	}
}
