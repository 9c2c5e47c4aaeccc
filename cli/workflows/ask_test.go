package workflows

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// plane is a fake control plane that answers every request for a workflow with the
// same one, and records the requests.
type plane struct {
	answer api.Workflow
	asked  []api.NewWorkflow
	did    []string // path and body of all other POST requests
}

func start(t *testing.T, w api.Workflow, typed string) (*plane, *cmdenv.Env, *strings.Builder) {
	t.Helper()
	p := &plane{answer: w}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/installs/{install}/workflows", func(w http.ResponseWriter, r *http.Request) {
		var n api.NewWorkflow
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		p.asked = append(p.asked, n)
		asked := api.Asked{Install: api.Install{App: "hello", Name: "acme"}, Workflow: p.answer}
		if n.DryRun {
			asked.Workflow.ID = ""
		}
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("GET /v1/workflows/{workflow}", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(p.answer)
	})
	mux.HandleFunc("GET /v1/workflows/{workflow}/events", func(w http.ResponseWriter, _ *http.Request) {
		b, _ := json.Marshal(p.answer)
		_, _ = fmt.Fprintf(w, "event: workflow\nid: 1\ndata: %s\n\n", b)
	})
	mux.HandleFunc("GET /v1/plans/{plan}", func(w http.ResponseWriter, r *http.Request) {
		report := diff.Report{Kind: "test", Notes: []string{"a note of " + r.PathValue("plan")}}
		raw, _ := json.Marshal(report)
		_ = json.NewEncoder(w).Encode(api.Plan{ID: r.PathValue("plan"), Component: "web", App: "hello", Install: "acme",
			Reason: "planned only", Report: raw})
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		_ = json.NewEncoder(&body).Encode(readAll(r))
		p.did = append(p.did, r.URL.Path+" "+strings.TrimSpace(body.String()))
		_ = json.NewEncoder(w).Encode(p.answer)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	out := &strings.Builder{}
	c := &console.Console{In: strings.NewReader(typed), Out: out, Err: out, Output: "table", Width: 80}
	c.InIsTerminal, c.ErrIsTerminal = typed != "", typed != ""
	return p, &cmdenv.Env{Console: c}, out
}

func readAll(r *http.Request) map[string]any {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body
}

func command(a *RequestCommand) *cobra.Command {
	c := &cobra.Command{Use: "do", SilenceErrors: true, SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.Ask(c.Context(), "acme", api.NewWorkflow{Kind: "teardown"})
		}}
	a.Flags(c)
	a.PlanFlag(c)
	a.YesFlag(c)
	return c
}

// TestRisk checks that what cannot be undone is requested only after a person has seen
// the steps and confirmed, and that --yes is required where nobody can be asked.
func TestRisk(t *testing.T) {
	w := standing("running", "pending", "pending", "pending")
	for name, c := range map[string]struct {
		args  []string
		typed string
		code  int
		asked []api.NewWorkflow
		says  string
	}{
		"in a script": {nil, "", exitcode.Usage, nil, "--yes"},
		"in a script, with it": {[]string{"--yes"}, "", 0, []api.NewWorkflow{{Kind: "teardown"}},
			"deploy 7 of hello/acme (wfl_1): running"},
		"yes": {nil, "y\n", 0, []api.NewWorkflow{{Kind: "teardown", DryRun: true}, {Kind: "teardown"}},
			"web: plan → approve → apply"},
		"no": {nil, "n\n", exitcode.Rejected, []api.NewWorkflow{{Kind: "teardown", DryRun: true}},
			"web: plan → approve → apply"},
		"just return": {nil, "\n", exitcode.Rejected, []api.NewWorkflow{{Kind: "teardown", DryRun: true}},
			"this removes web"},
		"not asked again": {[]string{"--yes"}, "n\n", 0, []api.NewWorkflow{{Kind: "teardown"}}, "wfl_1"},
		"looking is no risk": {[]string{"--dry-run"}, "", 0, []api.NewWorkflow{{Kind: "teardown", DryRun: true}},
			"web: plan → approve → apply"},
		"by its other name": {[]string{"--explain"}, "", 0, []api.NewWorkflow{{Kind: "teardown", DryRun: true}},
			"would run these steps"},
		"no wait for nothing": {[]string{"--timeout", "1m", "--yes"}, "", exitcode.Usage, nil, "--timeout needs --wait"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e, out := start(t, w, c.typed)
			do := command(&RequestCommand{Env: e, Risk: "this removes web"})
			do.SetArgs(c.args)
			err := do.ExecuteContext(t.Context())
			said := out.String() + fmt.Sprint(err)
			if exitcode.CodeOf(err) != c.code || !strings.Contains(said, c.says) {
				t.Errorf("ended with %v after\n%s", err, out)
			}
			if d := cmp.Diff(c.asked, p.asked); d != "" {
				t.Errorf("asked for (-want +got)\n%s", d)
			}
		})
	}
}

// TestPlanOnly checks that --plan-only waits for the plans without a further flag,
// asks nothing although Risk is set, and prints what each plan would change.
func TestPlanOnly(t *testing.T) {
	w := standing("succeeded", "succeeded")
	w.PlanOnly, w.Steps[0].Plan = true, "pln_1"
	p, e, out := start(t, w, "")
	do := command(&RequestCommand{Env: e, Risk: "this removes web"})
	do.SetArgs([]string{"--plan-only"})
	if err := do.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]api.NewWorkflow{{Kind: "teardown", PlanOnly: true}}, p.asked); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"deploy (plan only) 7 of hello/acme",
		"deploy web on hello/acme   (pln_1)\nplanned only\n", "a note of pln_1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	out.Reset()
	e.Console.Output = "json"
	get := New(e)
	get.SetArgs([]string{"get", "wfl_1"})
	if err := get.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got api.Workflow
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.ID != "wfl_1" {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestSteps checks that retry and skip find the step that a person means, and that the
// error states what to do if it is ambiguous.
func TestSteps(t *testing.T) {
	w := standing("failed")
	w.Steps = append(group("web", "succeeded"), group("db", "pending")...)
	w.Steps[0].ID, w.Steps[2].Status = "stp_1", "failed"
	w.Steps = append(w.Steps, api.Step{ID: "stp_9", Kind: "action", Action: "migrate", Status: "waiting"})
	two := w
	two.Steps = append([]api.Step{{ID: "stp_0", Kind: "plan", Component: "net", Status: "failed"}}, w.Steps...)
	for line, c := range map[string]struct {
		of   api.Workflow
		did  string
		code int
		says string
	}{
		"retry wfl_1":       {w, "/v1/workflows/wfl_1/steps/web.apply/retry null", 0, ""},
		"retry wfl_1 web":   {w, "/v1/workflows/wfl_1/steps/web.apply/retry null", 0, ""},
		"retry wfl_1 stp_1": {w, "/v1/workflows/wfl_1/steps/stp_1/retry null", 0, ""},
		// the control plane reports why not
		"retry wfl_1 migrate": {w, "/v1/workflows/wfl_1/steps/stp_9/retry null", 0, ""},
		"retry wfl_1 nothing": {w, "", exitcode.Failed, `has no step of "nothing"`},
		"retry wfl_2": {two, "", exitcode.Usage, "name one of net, web, or retry all with " +
			"`nuon deploy hello/acme`"},
		"retry wfl_3": {standing("succeeded", "succeeded"), "", exitcode.Failed,
			"workflow wfl_1 is succeeded and has no failed steps"},
		"retry wfl_1 --timeout 1m":       {w, "", exitcode.Usage, "--timeout needs --wait"},
		"skip wfl_1 db --reason x":       {w, `/v1/workflows/wfl_1/steps/db.plan/skip {"reason":"x"}`, 0, ""},
		"skip wfl_1 migrate --reason x":  {w, `/v1/workflows/wfl_1/steps/stp_9/skip {"reason":"x"}`, 0, ""},
		"cancel wfl_1 --reason x":        {w, `/v1/workflows/wfl_1/cancel {"reason":"x"}`, 0, ""},
		"cancel wfl_1 --reason x --wait": {w, `/v1/workflows/wfl_1/cancel {"reason":"x"}`, 0, "failed"},
		"retry wfl_1 web --wait": {w, "/v1/workflows/wfl_1/steps/web.apply/retry null", exitcode.Failed,
			"workflow wfl_1 failed: came out"},
		"watch wfl_1":                     {standing("running", "waiting"), "", exitcode.Waiting, "nuon review"},
		"watch wfl_1 --timeout 1h":        {standing("succeeded", "succeeded"), "", 0, "succeeded"},
		"cancel wfl_1 --timeout 1h --foo": {w, "", exitcode.Failed, "unknown flag"},
	} {
		t.Run(line, func(t *testing.T) {
			p, e, out := start(t, c.of, "")
			do := New(e)
			do.SilenceErrors, do.SilenceUsage = true, true
			do.SetArgs(strings.Fields(line))
			err := do.ExecuteContext(t.Context())
			if said := out.String() + fmt.Sprint(err); exitcode.CodeOf(err) != c.code || !strings.Contains(said, c.says) {
				t.Errorf("ended with %v after\n%s", err, out)
			}
			if got := strings.Join(p.did, "\n"); got != c.did {
				t.Errorf("did %q, want %q", got, c.did)
			}
		})
	}
}
