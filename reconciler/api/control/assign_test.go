package control_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func (w *world) assign(role string, body map[string]any) answer {
	w.Helper()
	return w.call(w.one.token[role], http.MethodPut, "/v1/approvals/"+w.one.ids["approval"]+"/assignee", body)
}

// TestAssignments assigns an approval to those who may answer it, and refuses to take it from somebody
// else unknowingly.
func TestAssignments(t *testing.T) {
	t.Parallel()
	w := asking(t)
	me, admin := w.one.mark+"-approver", w.one.mark+"-admin"
	if got := w.assign("approver", map[string]any{"assignee": "me", "expected": ""}); got.Status != http.StatusOK {
		t.Fatalf("%d: %s", got.Status, got.Body)
	}
	list := func(role, assignee string) []string {
		t.Helper()
		got, err := w.one.as(role).ListApprovalsWithResponse(t.Context(), &api.ListApprovalsParams{Assignee: assignee})
		must(t, err)
		if got.JSON200 == nil {
			t.Fatalf("%s", got.Body)
		}
		out := []string{}
		for _, a := range got.JSON200.Items {
			if a.Yours != (role == "approver" && a.Assignee == me) {
				t.Errorf("%s: yours is %t for %s", role, a.Yours, a.Assignee)
			}
			out = append(out, a.Assignee+" by "+a.AssignedBy)
		}
		return out
	}
	taken := []string{me + " by " + me}
	for who, want := range map[string][]string{"": taken, "me": taken, me: taken, "none": {}, admin: {}} {
		if got := list("approver", who); !slices.Equal(got, want) {
			t.Errorf("assignee=%s lists %q", who, got)
		}
	}
	if got := list("admin", "me"); len(got) != 0 {
		t.Errorf("somebody else's own: %q", got)
	}

	p := w.refusedAs(w.assign("admin", map[string]any{"assignee": "me", "expected": ""}), http.StatusConflict,
		"assignee_changed")
	if !strings.Contains(p.Title, "is assigned to "+me+" now (by "+me+")") {
		t.Errorf("the message is %q", p.Title)
	}
	for name, problem := range map[string]string{"nobody-knows": "there is no token of this name",
		w.one.mark + "-viewer": "only approvers and admins can answer", w.two.mark + "-admin": "there is no token"} {
		if p := w.refusedAs(w.assign("admin", map[string]any{"assignee": name}), http.StatusUnprocessableEntity,
			"no_approver"); !strings.Contains(p.Title, problem) {
			t.Errorf("%s: %s", name, p.Title)
		}
	}
	if got := w.assign("admin", map[string]any{"assignee": admin, "expected": me}); got.Status != http.StatusOK {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got := w.assign("approver", map[string]any{"assignee": "none"}); got.Status != http.StatusOK {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	want := []string{me + " " + me, admin + " " + admin, me + " "}
	if got := w.texts("select actor || ' ' || (detail->>'assignee') from audit_events where action = 'approval.assign' " +
		"order by id"); !slices.Equal(got, want) {
		t.Errorf("the audit has %q", got)
	}
	w.exec("update approvals set status = 'withdrawn', reason = 'superseded'")
	w.refusedAs(w.assign("approver", map[string]any{"assignee": "me"}), http.StatusConflict, "approval_gone")
}

// TestADeniedPlanCannotBeApproved refuses the approval of a plan that a policy denies, and accepts its
// rejection.
func TestADeniedPlanCannotBeApproved(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.exec(`update plans set report = '{"totals": {"create": 1, "denied": 2}, "policies": [{"policy": "private", ` +
		`"result": "deny"}, {"policy": "small", "result": "warn"}, {"policy": "cheap", "result": "deny"}]}'`)
	for _, brief := range []bool{true, false} {
		list, err := w.one.as("viewer").ListApprovalsWithResponse(t.Context(), &api.ListApprovalsParams{Brief: brief})
		must(t, err)
		if got := list.JSON200.Items[0].DeniedBy; !slices.Equal(got, []string{"private", "cheap"}) {
			t.Errorf("brief %t: denied by %q", brief, got)
		}
	}
	digest := "sha256:" + w.one.mark + "-content"
	f := w.respond("admin", api.ResponseAnswerApprove, digest, "").ApplicationProblemJSONDefault
	if f == nil || f.Status != http.StatusConflict || f.Code != "policy_denies" {
		t.Fatalf("%+v", f)
	}
	if got := w.respond("approver", api.ResponseAnswerReject, digest, "closed first"); got.JSON200 == nil {
		t.Errorf("%s", got.Body)
	}
}
