package control_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestDryRun checks that it returns what would be started, and changes no row.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update install_components set applied_artifact = 'sha256:a'")
	ask := func(n api.NewWorkflow) *api.CreateWorkflowResponse {
		n.DryRun = true
		got, err := w.one.as("operator").CreateWorkflowWithResponse(t.Context(), w.one.mark+"-inst",
			&api.CreateWorkflowParams{IdempotencyKey: "k"}, n)
		must(t, err)
		return got
	}
	w.status(w.one.token["operator"]) // records the first use of the token
	before := w.rows("")
	got := ask(api.NewWorkflow{Kind: api.NewWorkflowKindDeprovision})
	if got.JSON201 == nil {
		t.Fatalf("%s", got.Body)
	}
	flow, steps := got.JSON201.Workflow, []string{}
	for _, s := range flow.Steps {
		steps = append(steps, string(s.Kind)+" "+s.ID+" <- "+strings.Join(s.Needs, ","))
	}
	if flow.ID != "" || flow.Kind != "deprovision" ||
		strings.Join(steps, "; ") != "sync 1 <- ; plan 2 <- 1; approve 3 <- 2; apply 4 <- 3" ||
		flow.Install != w.one.mark+"-inst" {
		t.Errorf("it would start %+v", flow)
	}
	if got := ask(api.NewWorkflow{
		Kind: api.NewWorkflowKindDeprovision, PlanOnly: true,
	}); len(got.JSON201.Workflow.Steps) != 2 || !got.JSON201.Workflow.PlanOnly {
		t.Errorf("it would only plan %s", got.Body)
	}
	if got := ask(api.NewWorkflow{Kind: api.NewWorkflowKindDeploy}); got.JSON201 == nil ||
		got.JSON201.Workflow.ID != "" || got.JSON201.Outcome == "" && len(got.JSON201.Workflow.Steps) == 0 {
		t.Errorf("a deploy would be %s", got.Body)
	}
	if got := ask(api.NewWorkflow{
		Kind: api.NewWorkflowKindAction, Action: "none",
	}); got.ApplicationProblemJSONDefault == nil || got.ApplicationProblemJSONDefault.Code != "unknown_action" {
		t.Errorf("an unknown action would be %s", got.Body)
	}
	if after := w.rows(""); after != before {
		t.Errorf("a row was changed:\n%s\n%s", before, after)
	}
}

func TestWishesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	for _, c := range []struct {
		wish   map[string]any
		status int
		code   string
	}{
		{map[string]any{"kind": "destroy"}, http.StatusUnprocessableEntity, "bad_kind"},
		{map[string]any{"kind": "deprovision", "components": []string{"web"}}, http.StatusBadRequest, "bad_request"},
		{map[string]any{"kind": "deploy", "dependents": true}, http.StatusBadRequest, "bad_request"},
		{
			map[string]any{"kind": "teardown", "components": []string{"web"}, "redeploy": true},
			http.StatusBadRequest, "bad_request",
		},
		{map[string]any{"kind": "action", "action": "smoke", "plan_only": true}, http.StatusBadRequest, "bad_request"},
		{map[string]any{"kind": "deploy", "inputs": map[string]string{"a": "b"}}, http.StatusBadRequest, "bad_request"},
		{map[string]any{"kind": "deploy", "components": make([]string, 1001)}, http.StatusBadRequest, "bad_request"},
		{map[string]any{"kind": "teardown"}, http.StatusConflict, "no_components"},
		{
			map[string]any{"kind": "deploy", "components": []string{"web\x1b[31m"}},
			http.StatusConflict, "unknown_component",
		},
		{
			map[string]any{"kind": "teardown", "components": []string{"nope"}, "plan_only": true},
			http.StatusConflict, "unknown_component",
		},
	} {
		p := w.refusedAs(w.call(w.one.token["operator"], http.MethodPost,
			"/v1/installs/"+w.one.ids["install"]+"/workflows", c.wish), c.status, c.code)
		if p.Title == "" || p.Detail == "" || strings.ContainsRune(p.Title, 0x1b) {
			t.Errorf("%v: %q, %q", c.wish, p.Title, p.Detail)
		}
	}
}

// TestWhatOnlyPlansIsNotWhatWasAskedFor checks that a request for a deploy does not return a
// running workflow that changes nothing.
func TestWhatOnlyPlansIsNotWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	for _, c := range []struct{ kind, set, want string }{
		{"deploy", "plan_only = true", "it starts once workflow 1, which only plans, has ended: "},
		{"action", "plan_only = false", "nothing to do: "},
		{"deploy", "plan_only = false", ""},
	} {
		w.exec("update workflows set status = 'running', kind = $1, "+c.set, c.kind)
		w.exec("update steps set status = 'running', component = case $1 when 'action' then '' else component end",
			c.kind)
		got := w.call(w.one.token["operator"], http.MethodPost, "/v1/installs/"+w.one.ids["install"]+"/workflows",
			map[string]any{"kind": "deploy"})
		var asked api.Asked
		must(t, json.Unmarshal([]byte(got.Body), &asked))
		if !strings.HasPrefix(asked.Outcome, c.want) || (asked.Workflow.ID == "") != (c.want != "") {
			t.Errorf("%+v: %d %q, workflow %q", c, got.Status, asked.Outcome, asked.Workflow.ID)
		}
	}
}

func TestGetPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update plans set status = 'superseded', reason = 'planned only'")
	got, err := w.one.as("viewer").GetPlanWithResponse(t.Context(), w.one.ids["plan"])
	must(t, err)
	if p := got.JSON200; p == nil || p.ID != w.one.ids["plan"] || p.Status != "superseded" ||
		p.Reason != "planned only" || p.Install != w.one.mark+"-inst" ||
		p.Workflow != w.one.ids["workflow"] || !strings.Contains(string(p.Report), w.one.mark) {
		t.Errorf("%s", got.Body)
	}
	w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/plans/none", nil), http.StatusNotFound, "not_found")
}

func TestStepsThatCannotBeRetriedOrSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.actionStep("succeeded")
	path := "/v1/workflows/" + w.one.ids["workflow"] + "/steps/"
	operator := w.one.token["operator"]
	w.refusedAs(w.call(operator, http.MethodPost, path+w.one.ids["step"]+"/retry", nil),
		http.StatusConflict, "not_retryable")
	w.refusedAs(w.call(operator, http.MethodPost, path+"none/retry", nil), http.StatusNotFound, "not_found")
	w.refusedAs(w.call(operator, http.MethodPost, path+w.one.ids["step"]+"/skip", map[string]any{"reason": "r"}),
		http.StatusConflict, "not_skippable")
	w.refusedAs(w.call(operator, http.MethodPost, path+w.one.ids["step"]+"/skip",
		map[string]any{"reason": strings.Repeat("x", 5000)}), http.StatusConflict, "too_long")
}

// TestTheSameAnswerAgain checks that an answer whose response was lost can be given again: it is recorded once. An
// answer that differs in anything is refused.
func TestTheSameAnswerAgain(t *testing.T) {
	t.Parallel()
	w := asking(t)
	digest := "sha256:" + w.one.mark + "-content"
	for range 2 {
		got := w.respond("approver", api.ResponseAnswerApprove, digest, "fine")
		if got.JSON200 == nil || got.JSON200.Status != api.ApprovalStatusApproved || got.JSON200.Response.Reason != "fine" {
			t.Fatalf("%s", got.Body)
		}
	}
	const count = "select (select count(*) from approval_responses) || ' ' || " +
		"(select count(*) from audit_events where action = 'approval.approve')"
	if got := w.text(count); got != "1 1" {
		t.Errorf("responses and audit entries: %s", got)
	}
	for name, again := range map[string]struct {
		caller string
		answer api.ResponseAnswer
		digest string
		reason string
	}{
		"another person":  {"admin", api.ResponseAnswerApprove, digest, "fine"},
		"another answer":  {"approver", api.ResponseAnswerReject, digest, "fine"},
		"another content": {"approver", api.ResponseAnswerApprove, digest + "0", "fine"},
		"another reason":  {"approver", api.ResponseAnswerApprove, digest, "well"},
	} {
		f := w.respond(again.caller, again.answer, again.digest, again.reason).ApplicationProblemJSONDefault
		if f == nil || f.Status != http.StatusConflict || f.Code != "approval_gone" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestTheSecondToAnswerIsTold checks that the error names who responded first, and when.
func TestTheSecondToAnswerIsTold(t *testing.T) {
	t.Parallel()
	w := asking(t)
	digest := "sha256:" + w.one.mark + "-content"
	if got := w.respond("approver", api.ResponseAnswerApprove, digest, "looks fine"); got.JSON200 == nil {
		t.Fatalf("%s", got.Body)
	}
	late := w.respond("admin", api.ResponseAnswerReject, digest, "wait").ApplicationProblemJSONDefault
	told := regexp.MustCompile(`: approved by ` + w.one.mark +
		`-approver: looks fine, on 20\d\d-\d\d-\d\d at \d\d:\d\d:\d\d UTC$`)
	if late == nil || late.Status != http.StatusConflict || late.Code != "approval_gone" ||
		!told.MatchString(late.Title) {
		t.Errorf("the second is told %+v", late)
	}
}

func TestWorkflowsOfOneKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	for kind, n := range map[string]int{"deploy": 1, "action": 0, "": 1} {
		got, err := w.one.as("viewer").ListWorkflowsWithResponse(t.Context(), &api.ListWorkflowsParams{Kind: kind})
		must(t, err)
		if got.JSON200 == nil || len(got.JSON200.Items) != n {
			t.Errorf("of kind %q: %s", kind, got.Body)
		}
	}
}
