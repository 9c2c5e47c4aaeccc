package actions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// scripted is a fake control plane in which the script of a run waits for approval
// after its step was pending for two polls.
type scripted struct {
	role    string
	looks   int
	status  api.ApprovalStatus
	answers []string
}

func (s *scripted) workflow() api.Workflow {
	w := api.Workflow{ID: "wfl_1", App: "hello", Install: "acme", InstallID: "ins_1", Kind: "action",
		Number: 4, Status: "running"}
	step := api.Step{ID: "stp_1", Kind: api.StepKindAction, Action: "migrate", Status: api.StepStatusPending}
	if s.looks++; s.looks > 2 {
		step.Status, step.Approval = api.StepStatusWaiting, "apr_1"
	}
	if s.status != api.ApprovalStatusWaiting {
		step.Status = api.StepStatusRunning
	}
	w.Steps = []api.Step{step}
	return w
}

func (s *scripted) approval() api.Approval {
	r := &diff.Report{Kind: diff.KindTerraform, Applyable: true, Changes: []diff.Change{{
		Address:      "script migrate",
		Action:       diff.Create,
		ResourceKind: "script",
		Name:         "migrate",
		Risk:         diff.Create.Risk(),
		Fields: []diff.FieldChange{{Path: "command", Before: diff.ShownValue{Absent: true},
			After: diff.ShownValue{Text: "psql -f up.sql", Type: diff.TypeString}}},
	}}}
	r.Sort()
	r.Totals = r.Count()
	raw, _ := json.Marshal(r)
	return api.Approval{
		ID:            "apr_1",
		Kind:          api.ApprovalKindScripts,
		Status:        s.status,
		App:           "hello",
		Install:       "acme",
		InstallID:     "ins_1",
		Workflow:      "wfl_1",
		ContentDigest: "sha256:content",
		Scripts:       []api.ApprovalScript{{Action: "migrate", Digest: "sha256:script"}},
		Report:        raw,
	}
}

// run runs an action with a person who types, or without a terminal if types is empty.
func (s *scripted) run(t *testing.T, types string, args ...string) (string, error) {
	t.Helper()
	s.status = api.ApprovalStatusWaiting
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux.HandleFunc("GET /v1/apps/hello/config", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.AppConfig{Version: 3, Actions: []api.DeclaredAction{{Name: "migrate"}}})
	})
	mux.HandleFunc("GET /v1/installs/acme", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.Install{ID: "ins_1", App: "hello", Name: "acme", Target: 3})
	})
	mux.HandleFunc("GET /v1/whoami", func(w http.ResponseWriter, _ *http.Request) { give(w, api.Whoami{Role: s.role}) })
	mux.HandleFunc("POST /v1/installs/acme/workflows", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.Asked{Workflow: s.workflow()})
	})
	mux.HandleFunc("GET /v1/workflows/wfl_1", func(w http.ResponseWriter, _ *http.Request) { give(w, s.workflow()) })
	mux.HandleFunc("GET /v1/approvals/apr_1", func(w http.ResponseWriter, _ *http.Request) { give(w, s.approval()) })
	mux.HandleFunc("POST /v1/approvals/apr_1/response", func(w http.ResponseWriter, r *http.Request) {
		var given api.Response
		if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
			t.Error(err)
		}
		s.answers, s.status = append(s.answers, fmt.Sprint(given.Answer, " ", given.ContentDigest)),
			api.ApprovalStatusApproved
		give(w, s.approval())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	out := &strings.Builder{}
	c := &console.Console{In: strings.NewReader(types + "\n"), Out: out, Err: out, Output: "table",
		InIsTerminal: types != "", ErrIsTerminal: types != ""}
	err := execute(t, NewRun(&cmdenv.Env{Console: c}), append([]string{"acme", "migrate"}, args...)...)
	return out.String(), err
}

// TestARunApprovesItsScript checks that an approver on a terminal is shown the script
// and asked, and that a program can pass the digest of the script that was read.
// Nothing else is approved, and a person who may not approve is not asked.
func TestARunApprovesItsScript(t *testing.T) {
	const approved = "approve sha256:content"
	for name, c := range map[string]struct {
		role  string
		types string
		args  []string
		want  string
		code  int
		says  string
	}{
		"yes":                {"approver", "y", nil, approved, 0, "psql -f up.sql"},
		"no is no rejection": {"approver", "n", nil, "", 0, "not approved: review it with `nuon review apr_1`"},
		"an operator":        {"operator", "y", nil, "", 0, "script migrate needs approval"},
		"the digest": {"approver", "", []string{"--approve-script", "sha256:script"}, approved, 0,
			"approved: script migrate for hello/acme"},
		"on a terminal, too": {"admin", "n", []string{"--approve-script", "sha256:script"}, approved, 0,
			"approved: script migrate"},
		"another digest": {"approver", "", []string{"--approve-script", "sha256:other"}, "", exitcode.Usage,
			"its digest sha256:script is not the one of --approve-script; review it with `nuon review apr_1`"},
		"nobody to ask": {"approver", "", nil, "", 0, "action 4 of hello/acme (wfl_1): running"},
		"nothing would begin": {"approver", "", []string{"--approve-script", "sha256:script", "--dry-run"}, "",
			exitcode.Failed, "none of the others can be"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{role: c.role}
			out, err := s.run(t, c.types, c.args...)
			if err != nil {
				out += err.Error()
			}
			if got := strings.Join(s.answers, "; "); got != c.want || exitcode.CodeOf(err) != c.code ||
				!strings.Contains(out, c.says) {
				t.Errorf("answered %q, ended with %v after\n%s", got, err, out)
			}
		})
	}
}
