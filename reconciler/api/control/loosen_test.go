package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// patch changes the install of w.shop with a token of a role.
func (w *world) patch(role string, c api.InstallChange) answer {
	w.Helper()
	return w.call(w.one.token[role], http.MethodPatch, "/v1/installs/east", c)
}

// asked returns the approvals of settings with a status.
func (w *world) asked(status string) []api.Approval {
	w.Helper()
	var l api.ApprovalList
	must(w, json.Unmarshal([]byte(w.ok(http.MethodGet, "/v1/approvals?status="+status, nil, http.StatusOK)), &l))
	for _, a := range l.Items {
		if a.Kind != api.ApprovalKindSettings {
			w.Fatalf("%s is about %s", a.ID, a.Kind)
		}
	}
	return l.Items
}

// give responds to an approval with a token of a role.
func (w *world) give(role string, a api.Approval, yes api.ResponseAnswer) answer {
	w.Helper()
	return w.call(w.one.token[role], http.MethodPost, "/v1/approvals/"+a.ID+"/response", api.Response{
		Answer: yes, ContentDigest: a.ContentDigest,
	})
}

func (w *world) settings() string {
	w.Helper()
	return w.text(
		"select approval || ' ' || allow_destroy || ' ' || approvals_by_others from installs where name = 'east'",
	)
}

// TestOperatorsCannotLoosen checks that a role that may not approve cannot set a rule that
// approves: not on an install managed by hand, in any field, nor with a new install.
func TestOperatorsCannotLoosen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	must := func(got answer) {
		t.Helper()
		p := w.refusedAs(got, http.StatusForbidden, "forbidden")
		if !strings.Contains(p.Title, "role operator") || !strings.Contains(p.Title, "needs approver") ||
			!strings.Contains(p.Detail, "Ask an approver") {
			t.Errorf("the refusal does not name the role and how to go on: %+v", p)
		}
	}
	must(w.patch("operator", api.InstallChange{Approval: "approve-all"}))
	must(w.patch("operator", api.InstallChange{AllowDestroy: ptr(true)}))
	must(w.patch("operator", api.InstallChange{Approval: "approve-all", ManagedBy: "config"}))
	must(w.call(w.one.token["operator"], http.MethodPost, "/v1/installs", api.NewInstall{
		App: "shop", Name: "west", Approval: "approve-all",
	}))
	must(w.call(w.one.token["operator"], http.MethodPost, "/v1/installs", api.NewInstall{
		App: "shop", Name: "west", AllowDestroy: true,
	}))
	if now := w.settings(); now != "prompt false false" {
		t.Errorf("the settings are %s", now)
	}
	if n := w.text("select count(*)::text from installs where name = 'west'"); n != "0" {
		t.Error("the install was created all the same")
	}
	if got := w.patch("ci", api.InstallChange{
		Approval: "approve-all", By: "config",
	}); got.Status != http.StatusForbidden {
		t.Errorf("a ci token: %d %s", got.Status, got.Body)
	}

	// An approver may, at once, and the audit log records it.
	if got := w.patch("approver", api.InstallChange{
		Approval: "approve-all", AllowDestroy: ptr(true),
	}); got.Status != http.StatusOK {
		t.Fatalf("an approver: %d %s", got.Status, got.Body)
	}
	i := w.install("/v1/installs/east")
	if i.Approval != "approve-all" || !i.AllowDestroy || i.Rule.By != w.one.mark+"-approver" || i.Rule.At.IsZero() ||
		!strings.HasPrefix(i.Rule.Digest, "sha256:") {
		t.Errorf("the rule is %s %t, %+v", i.Approval, i.AllowDestroy, i.Rule)
	}
	if rules := w.texts(
		"select actor || ' ' || (detail->'to'->>'approval') from audit_events where action = 'install.rule'",
	); len(rules) != 1 || rules[0] != w.one.mark+"-approver approve-all" {
		t.Errorf("the audit has %q", rules)
	}

	// Everyone may make it stricter.
	if got := w.patch("operator", api.InstallChange{AllowDestroy: ptr(false)}); got.Status != http.StatusOK ||
		w.settings() != "approve-all false false" {
		t.Errorf("an operator makes it stricter: %d %s, now %s", got.Status, got.Body, w.settings())
	}
	if got := w.patch("operator", api.InstallChange{Approval: "prompt"}); got.Status != http.StatusOK ||
		w.settings() != "prompt false false" {
		t.Errorf("an operator makes it stricter: %d %s, now %s", got.Status, got.Body, w.settings())
	}
}

// TestAFileThatLoosensWaits checks that a looser setting from an install file is stored and waits:
// the stricter one applies until an approver approves the change.
func TestAFileThatLoosensWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	loosen := api.InstallChange{
		By: "config", ManagedBy: "config", Approval: "approve-all", AllowDestroy: ptr(true),
		Labels: map[string]string{"tier": "gold"},
	}
	for range 2 { // a sync may run again and again
		if got := w.patch("operator", loosen); got.Status != http.StatusOK {
			t.Fatalf("a file: %d %s", got.Status, got.Body)
		}
	}
	i := w.install("/v1/installs/east")
	if w.settings() != "prompt false false" || i.Labels["tier"] != "gold" {
		t.Errorf("the settings are %s, the labels %v", w.settings(), i.Labels)
	}
	waiting := w.asked("waiting")
	if len(waiting) != 1 || i.Pending.Approval != waiting[0].ID || i.Pending.Author != w.one.mark+"-operator" ||
		i.Pending.Settings.Approval != "approve-all" || i.Status == "waiting_for_approval" {
		t.Fatalf("waiting %+v, pending %+v, status %s", waiting, i.Pending, i.Status)
	}
	if !strings.Contains(string(waiting[0].Report), "approve-all") || waiting[0].ContentDigest == "" ||
		waiting[0].Author != i.Pending.Author {
		t.Errorf("the question shows %s", waiting[0].Report)
	}
	w.refusedAs(w.give("operator", waiting[0], api.ResponseAnswerApprove), http.StatusForbidden, "forbidden")
	old := waiting[0]

	// A smaller change replaces it: the waiting one is withdrawn, and its approval changes nothing.
	if got := w.patch("operator", api.InstallChange{By: "config", Approval: "approve-all"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.give("approver", old, api.ResponseAnswerApprove), http.StatusConflict, "approval_gone")
	if waiting = w.asked("waiting"); len(waiting) != 1 || waiting[0].ID == old.ID {
		t.Fatalf("waiting %+v", waiting)
	}

	// A rejection is remembered.
	if got := w.give("approver", waiting[0], api.ResponseAnswerReject); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := w.patch("operator", api.InstallChange{
		By: "config", Approval: "approve-all",
	}); got.Status != http.StatusOK || len(w.asked("waiting")) != 0 || w.settings() != "prompt false false" {
		t.Errorf("asked again after a no: %d %s; %s", got.Status, got.Body, w.settings())
	}

	// A different change is not rejected, and takes effect when it is approved.
	if got := w.patch("operator", loosen); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := w.give("approver", w.asked("waiting")[0], api.ResponseAnswerApprove); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	i = w.install("/v1/installs/east")
	if w.settings() != "approve-all true false" || i.Rule.By != w.one.mark+"-operator" ||
		i.Rule.ApprovedBy != w.one.mark+"-approver" || i.Pending.Approval != "" {
		t.Errorf("after a yes: %s, %+v, pending %+v", w.settings(), i.Rule, i.Pending)
	}

	// An install that a file creates starts with the strictest settings.
	made := w.ok(http.MethodPost, "/v1/installs",
		api.NewInstall{App: "shop", Name: "west", ManagedBy: "config", Approval: "approve-all"}, http.StatusCreated)
	if !strings.Contains(made, `"approval":"prompt"`) || len(w.asked("waiting")) != 1 {
		t.Errorf("made as %s", made)
	}
}

// TestFourEyes checks that, where an install requires it, nobody can approve what they requested
// themselves.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	if got := w.patch("approver", api.InstallChange{ApprovalsByOthers: ptr(true)}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	w.refusedAs(w.patch("operator", api.InstallChange{ApprovalsByOthers: ptr(false)}),
		http.StatusForbidden, "forbidden")
	if got := w.patch("approver", api.InstallChange{
		Approval: "approve-all", ApprovalsByOthers: ptr(false),
	}); got.Status != http.StatusOK || w.settings() != "prompt false true" {
		t.Fatalf("an approver loosens alone: %d %s, now %s", got.Status, got.Body, w.settings())
	}
	waiting := w.asked("waiting")
	if len(waiting) != 1 || !strings.Contains(string(waiting[0].Report), "approvals_by_others") {
		t.Fatalf("waiting %+v", waiting)
	}
	w.refusedAs(w.give("approver", waiting[0], api.ResponseAnswerApprove), http.StatusConflict, "own_change")
	if got := w.give("admin", waiting[0], api.ResponseAnswerApprove); got.Status != http.StatusOK ||
		w.settings() != "approve-all false false" {
		t.Errorf("another approver: %d %s, now %s", got.Status, got.Body, w.settings())
	}
}

// TestWhoChangedAnInstall checks that an install stores who created it or changed its desired state through each
// operation, and nobody who changed something else. It also checks which of them end an approver's rule for a running
// workflow.
func TestWhoChangedAnInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop() // of the operator
	stored := func() string {
		t.Helper()
		return w.text("select array_to_string(desired_by, ' ') from installs where name = 'east'")
	}
	created := w.one.mark + "-operator"
	if got := stored(); got != created {
		t.Fatalf("created by %q", got)
	}
	w.one.add("workflows", "id", "wfl_east", "install_id", w.text("select id from installs where name = 'east'"),
		"kind", "deploy", "number", 1, "status", "running", "reason", "r", "requested_by", "nuon")
	override := func(vars string) api.InstallChange {
		return api.InstallChange{Overrides: map[string]api.ComponentOverride{"web": {TFVars: vars}}}
	}
	input := func(size string) api.InstallChange {
		return api.InstallChange{Inputs: []api.InputValue{{Name: "size", Value: size}}}
	}
	output := func(vpc string) map[string]any {
		return map[string]any{"set": []any{map[string]any{"name": "vpc_id", "value": vpc}}}
	}
	w.ok(http.MethodPatch, path, input("m"), http.StatusOK)
	toggle := api.InstallChange{Toggles: map[string]bool{"api": false}}
	account := func(key, value string) api.InstallChange {
		return api.InstallChange{Account: map[string]map[string]string{"aws_account": {key: value}}}
	}
	for name, c := range map[string]struct {
		method, path string
		body         any
		changes      bool
		ends         string // what a rule for a workflow names that has ended
	}{
		"a label":           {http.MethodPatch, path, api.InstallChange{Labels: map[string]string{"a": "b"}}, false, ""},
		"a setting":         {http.MethodPatch, path, api.InstallChange{AllowDestroy: ptr(true)}, false, ""},
		"a toggle":          {http.MethodPatch, path, toggle, true, "toggles"},
		"an override":       {http.MethodPatch, path, override("a = 2"), true, "overrides"},
		"the same override": {http.MethodPatch, path, override("a = 1"), false, ""},
		"an override's end": {http.MethodPatch, path, override(""), true, "overrides"},
		"an input":          {http.MethodPatch, path, input("l"), false, "inputs"},
		"the same input":    {http.MethodPatch, path, input("m"), false, ""},
		"stack outputs":     {http.MethodPost, path + "/stack-outputs", output("vpc-2"), true, "stack outputs"},
		"the same outputs":  {http.MethodPost, path + "/stack-outputs", output("vpc-1"), false, ""},
		"a region":          {http.MethodPatch, path, account("region", "eu-west-1"), true, "cloud account"},
		"the same account":  {http.MethodPatch, path, account("account_id", "123456789012"), false, ""},
		"a pin":             {http.MethodPost, path + "/pin", api.NewPin{Release: 1}, true, "pin"},
		"a pin's end":       {http.MethodDelete, path + "/pin", nil, true, "pin"},
		"a deploy":          {http.MethodPost, path + "/workflows", api.NewWorkflow{Kind: "deploy"}, true, ""},
	} {
		w.ok(http.MethodPost, path+"/stack-outputs", output("vpc-1"), http.StatusOK)
		w.exec(`update installs i set desired_by = '{}', toggles = '{}', overrides = '{"web": {"tf_vars": "a = 1"}}',
			account = '{"aws_account": {"account_id": "123456789012"}}',
			pin_release_id = (select r.id from releases r where r.app_id = i.app_id) where name = 'east'`)
		w.exec("update install_inputs set value = 'm' where name = 'size'")
		w.exec(`update workflows set rule = '{"by": "vera", "token": "tok_vera"}' where id = 'wfl_east'`)
		if got := w.call(w.one.token["approver"], c.method, c.path, c.body); got.Status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", name, got.Status, got.Body)
		}
		want, void := "", ""
		if c.changes {
			want = w.one.mark + "-approver"
		}
		if got := stored(); got != want {
			t.Errorf("%s: stored are %q, want %q", name, got, want)
		}
		if c.ends != "" {
			void = w.one.mark + "-approver changed the " + c.ends + " of the install afterwards"
		}
		if got := w.text("select coalesce(rule->>'void', '') from workflows where id = 'wfl_east'"); got != void {
			t.Errorf("%s: the rule of the workflow ended because of %q, want %q", name, got, void)
		}
	}
}
