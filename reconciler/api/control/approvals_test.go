package control_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// asking returns a world with one plan that waits for a person.
func asking(t *testing.T) *world {
	w := newWorld(t)
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	return w
}

func (w *world) respond(role string, answer api.ResponseAnswer, digest, reason string) *api.RespondApprovalResponse {
	w.Helper()
	got, err := w.one.as(role).RespondApprovalWithResponse(w.Context(), w.one.ids["approval"], api.Response{
		Answer: answer, Plan: w.one.ids["plan"], ContentDigest: digest, Reason: reason,
	})
	must(w, err)
	return got
}

// TestApprovalBindsToWhatWasShown checks that only the waiting digest can be approved, only by
// those who may, once.
func TestApprovalBindsToWhatWasShown(t *testing.T) {
	t.Parallel()
	w := asking(t)
	digest := "sha256:" + w.one.mark + "-content"
	for _, role := range []string{"viewer", "operator"} {
		if f := w.respond(role, api.ResponseAnswerApprove, digest, "").ApplicationProblemJSONDefault; f == nil ||
			f.Status != http.StatusForbidden || f.Code != "forbidden" {
			t.Errorf("%s: %+v", role, f)
		}
	}
	for _, other := range []string{"", "sha256:other", digest + " ", strings.ToUpper(digest)} {
		if f := w.respond("approver", api.ResponseAnswerApprove, other, "").ApplicationProblemJSONDefault; f == nil ||
			f.Status != http.StatusConflict || f.Code != "plan_changed" {
			t.Errorf("the digest %q: %+v", other, f)
		}
	}
	for _, plan := range []string{"", "pln_other"} {
		got, err := w.one.as("approver").RespondApprovalWithResponse(t.Context(), w.one.ids["approval"], api.Response{
			Answer: api.ResponseAnswerApprove, Plan: plan, ContentDigest: digest,
		})
		must(w, err)
		f := got.ApplicationProblemJSONDefault
		if f == nil || f.Status != http.StatusConflict || f.Code != "plan_changed" ||
			!strings.Contains(f.Title, "(plan "+w.one.ids["plan"]+")") {
			t.Errorf("an answer about plan %q: %+v", plan, f)
		}
	}
	if now := w.text(
		"select a.status || ' ' || p.status from approvals a join plans p on p.id = a.plan_id",
	); now != "waiting ready" {
		t.Errorf("after refusals the approval is %s", now)
	}
	got := w.respond("approver", api.ResponseAnswerApprove, digest, "looks good")
	if got.JSON200 == nil || got.JSON200.Status != api.ApprovalStatusApproved ||
		got.JSON200.Response.Actor != w.one.mark+"-approver" || got.JSON200.Response.Reason != "looks good" {
		t.Errorf("%s", got.Body)
	}
	if f := w.respond("admin", api.ResponseAnswerReject, digest, "").ApplicationProblemJSONDefault; f == nil ||
		f.Status != http.StatusConflict || f.Code != "approval_gone" {
		t.Errorf("a second answer: %+v", f)
	}
	if all := w.texts(
		"select actor || ' ' || action || ' ' || (detail->>'content_digest') from audit_events where subject = $1",
		w.one.ids["approval"],
	); len(all) != 1 || all[0] != w.one.mark+"-approver approval.approve "+digest {
		t.Errorf("the audit has %q", all)
	}
	if work := w.texts("select args::text from river.river_job where kind = 'advance'"); len(work) != 1 ||
		!strings.Contains(work[0], w.one.ids["workflow"]) {
		t.Errorf("the queue has %q", work)
	}
}

// TestABriefListLeavesOutTheReports checks that it includes their totals, so that a queue of large
// plans loads quickly.
func TestABriefListLeavesOutTheReports(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.exec(`update plans set report = '{"totals": {"create": 3}, "changes": ["much"]}'`)
	list := func(brief bool) api.Approval {
		t.Helper()
		got, err := w.one.as("viewer").ListApprovalsWithResponse(t.Context(), &api.ListApprovalsParams{Brief: brief})
		must(t, err)
		if got.JSON200 == nil || len(got.JSON200.Items) != 1 {
			t.Fatalf("%s", got.Body)
		}
		return got.JSON200.Items[0]
	}
	whole, brief := list(false), list(true)
	if !strings.Contains(string(whole.Report), "much") || len(brief.Report) != 0 {
		t.Errorf("reports: %s, brief: %s", whole.Report, brief.Report)
	}
	for _, a := range []api.Approval{whole, brief} {
		if string(a.Totals) != `{"create":3}` || a.ContentDigest != "sha256:"+w.one.mark+"-content" ||
			a.Install != w.one.mark+"-inst" {
			t.Errorf("%+v", a)
		}
	}
}

// TestRejection checks that a rejection is stored with its reason.
func TestRejection(t *testing.T) {
	t.Parallel()
	w := asking(t)
	got := w.respond("approver", api.ResponseAnswerReject, "sha256:"+w.one.mark+"-content", "not on a Friday")
	if got.JSON200 == nil || got.JSON200.Status != api.ApprovalStatusRejected ||
		!strings.Contains(got.JSON200.Reason, "not on a Friday") {
		t.Errorf("%s", got.Body)
	}
}

// TestAnswerIsTakenEvenIfNothingGoesOnAtOnce checks that the response does not fail: the queue
// continues, and the response must not claim that the decision was lost.
func TestAnswerIsTakenEvenIfNothingGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.advance = func() error { return errors.New("busy") }
	if got := w.respond(
		"approver", api.ResponseAnswerApprove, "sha256:"+w.one.mark+"-content", "",
	); got.JSON200 == nil || got.JSON200.Status != api.ApprovalStatusApproved {
		t.Errorf("%d %s", got.StatusCode(), got.Body)
	}
}

// TestOneAnswerWins checks concurrent responses of one person: the first counts, each copy of it is confirmed,
// and the other ones are conflicts.
func TestOneAnswerWins(t *testing.T) {
	t.Parallel()
	w := asking(t)
	var group sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		answer := api.ResponseAnswerApprove
		if i%2 == 0 {
			answer = api.ResponseAnswerReject
		}
		group.Go(func() {
			codes[i] = w.respond("approver", answer, "sha256:"+w.one.mark+"-content", "because").StatusCode()
		})
	}
	group.Wait()
	confirmed := 0
	for _, code := range codes {
		switch code {
		case http.StatusOK:
			confirmed++
		case http.StatusConflict:
		default:
			t.Errorf("answered %d", code)
		}
	}
	const stored = "select (select count(*) from approval_responses) || ' ' || " +
		"(select count(*) from audit_events where action like 'approval.%')"
	if got := w.text(stored); confirmed != len(codes)/2 || got != "1 1" {
		t.Errorf("%d of %d answers were confirmed; responses and audit entries: %s", confirmed, len(codes), got)
	}
}

// TestCancelWorkflow checks that a workflow is cancelled once, and that an ended one cannot be.
func TestCancelWorkflow(t *testing.T) {
	t.Parallel()
	w := asking(t)
	cancel := func() *api.CancelWorkflowResponse {
		got, err := w.one.as("operator").CancelWorkflowWithResponse(t.Context(), w.one.ids["workflow"],
			api.Reason{Reason: "wrong customer"})
		must(t, err)
		return got
	}
	if got := cancel(); got.JSON200 == nil {
		t.Errorf("%s", got.Body)
	}
	w.exec("update workflows set status = 'cancelled'")
	if f := cancel().ApplicationProblemJSONDefault; f == nil || f.Status != http.StatusConflict ||
		f.Code != "workflow_ended" {
		t.Errorf("%+v", f)
	}
}

// TestWorkflowRule checks that an approver approves a workflow as a whole and revokes that, that
// the workflow and its explanation name the approver, and that they show if the approver has lost
// the role.
func TestWorkflowRule(t *testing.T) {
	t.Parallel()
	w := asking(t)
	ctx, id := t.Context(), w.one.ids["workflow"]
	set, err := w.one.as("approver").SetWorkflowRuleWithResponse(ctx, id, api.Reason{Reason: "read the release"})
	must(t, err)
	if set.JSON200 == nil || set.JSON200.Rule.By != w.one.mark+"-approver" ||
		set.JSON200.Rule.Reason != "read the release" || set.JSON200.Rule.Void != "" {
		t.Fatalf("%s", set.Body)
	}
	listed := func() api.WorkflowRule {
		list, err := w.one.as("viewer").ListWorkflowsWithResponse(ctx, &api.ListWorkflowsParams{})
		must(t, err)
		at := slices.IndexFunc(list.JSON200.Items, func(w api.Workflow) bool { return w.ID == id })
		return list.JSON200.Items[at].Rule
	}
	if listed() != set.JSON200.Rule {
		t.Errorf("the list has the rule %+v", listed())
	}
	again, err := w.one.as("admin").SetWorkflowRuleWithResponse(ctx, id, api.Reason{})
	must(t, err)
	if f := again.ApplicationProblemJSONDefault; f == nil || f.Status != http.StatusConflict || f.Code != "has_rule" {
		t.Errorf("of a second approver: %s", again.Body)
	}
	w.exec("update tokens set revoked_at = now() where name = $1", w.one.mark+"-approver")
	if listed().Void == "" {
		t.Error("the list does not say that the rule approves nothing any more")
	}
	chain, err := w.one.as("viewer").ExplainWithResponse(ctx, "workflow", id)
	must(t, err)
	want := w.one.mark +
		"-approver approved what it plans until it ends: read the release; it approves nothing any more: " +
		w.one.mark + "-approver can no longer approve: the token was revoked or has expired"
	if chain.JSON200 == nil ||
		!slices.ContainsFunc(chain.JSON200.Chain,
			func(c api.Cause) bool { return c.Record == "workflow_rule" && c.Reason == want }) {
		t.Errorf("explained as %s", chain.Body)
	}
	gone, err := w.one.as("operator").RevokeWorkflowRuleWithResponse(ctx, id)
	must(t, err)
	if gone.JSON200 == nil || gone.JSON200.Rule.By != "" {
		t.Errorf("%s", gone.Body)
	}
}

// TestAlikePlansAreListedTogether checks that every list shows the group, that the group is a
// filter, and that an unknown group gives an empty list.
func TestAlikePlansAreListedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.manyRows(3)
	w.exec("update plans set group_digest = 'sha256:alike' where component = 'web'")
	w.exec("update approvals a set group_digest = p.group_digest from plans p where p.id = a.plan_id")
	list := func(p api.ListApprovalsParams) (groups []string) {
		got, err := w.one.as("viewer").ListApprovalsWithResponse(w.Context(), &p)
		must(w, err)
		if got.JSON200 == nil {
			t.Fatalf("%s", got.Body)
		}
		for _, a := range got.JSON200.Items {
			groups = append(groups, a.Group)
		}
		return groups
	}
	for name, c := range map[string]struct {
		ask  api.ListApprovalsParams
		want string
	}{
		"all":        {api.ListApprovalsParams{}, "sha256:alike sha256:alike sha256:alike "},
		"all, brief": {api.ListApprovalsParams{Brief: true}, "sha256:alike sha256:alike sha256:alike "},
		"a group": {
			api.ListApprovalsParams{Group: "sha256:alike"}, "sha256:alike sha256:alike sha256:alike",
		},
		"a group, brief": {
			api.ListApprovalsParams{Group: "sha256:alike", Brief: true}, "sha256:alike sha256:alike sha256:alike",
		},
		"no such group": {api.ListApprovalsParams{Group: "sha256:other"}, ""},
		"answered of one": {
			api.ListApprovalsParams{Group: "sha256:alike", Status: api.ListApprovalsParamsStatusApproved}, "",
		},
		"a part of a digest": {api.ListApprovalsParams{Group: "sha256:"}, ""},
	} {
		got := list(c.ask)
		// One without a group comes first in the list.
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(b, a) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	one, err := w.one.as("viewer").GetApprovalWithResponse(w.Context(), w.one.ids["approval"])
	must(w, err)
	if one.JSON200 == nil || one.JSON200.Group != "" || strings.Contains(string(one.Body), `"group"`) {
		t.Errorf("one that is like no other: %s", one.Body)
	}
}
