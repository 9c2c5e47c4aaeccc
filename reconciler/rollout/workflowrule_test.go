package rollout_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// approver adds a token with a role, and returns its id.
func (w *world) approver(name, role string) string {
	w.Helper()
	token := id.New("tok")
	w.exec("insert into tokens (org_id, id, name, role, hash) values ($1, $2, $3, $4, $5)", w.org, token, name, role,
		[]byte(token))
	return token
}

// running returns the running workflow.
func (w *world) running() string {
	w.Helper()
	return w.one("select id from workflows where status = 'running'")
}

// whole has an approver approve the running workflow as a whole.
func (w *world) whole(name, token string) error {
	w.Helper()
	return w.approveWorkflow(w.running(), workflow.Approver{Name: name, Token: token, Reason: "read the release"})
}

func (w *world) approveWorkflow(id string, by workflow.Approver) error {
	return w.in(func(ctx context.Context, tx *store.Tx) error { return workflow.ApproveWorkflow(ctx, tx, id, by) })
}

func (w *world) revoke() error {
	w.Helper()
	running := w.running()
	return w.in(func(ctx context.Context, tx *store.Tx) error { return workflow.RevokeWorkflowRule(ctx, tx, running) })
}

// refusedWith verifies that an error is a conflict with a code.
func (w *world) refusedWith(err error, code string) {
	w.Helper()
	var conflict *refusal.Error
	if !errors.As(err, &conflict) || conflict.Code != code || conflict.Title == "" || conflict.Remedy == "" {
		w.Errorf("refused with %v, want %s", err, code)
	}
}

// TestAWholeProvisionIsApproved: an approver's rule approves pending and later plans of the
// workflow in the approver's name, leaves unseen scripts to a person, and ends with the workflow.
func TestAWholeProvisionIsApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.strict = true
	w.look()
	w.runJobs()
	w.want(w.asked(), "[sandbox]")
	must(t, w.whole("vera", w.approver("vera", "approver")))
	w.runJobs()
	w.want(w.asked(), "[web]") // it is shown with an unseen script
	w.want(w.one("select reason from steps where kind = 'approve' and component = 'web'"),
		"the rule of vera for the workflow does not approve it: its scripts were not approved for this install")
	given := `select p.component || ' ' || a.status || ' ' || r.answer || ' ' || r.actor || ': ' || r.reason || ' ' || (r.rule->>'workflow' = a.workflow_id)
		from approvals a join plans p on p.id = a.plan_id join approval_responses r on r.approval_id = a.id order by 1`
	by := " approved approve vera: by the rule for the whole workflow: read the release true"
	w.want(w.list(given), "[metrics"+by+" network"+by+" sandbox"+by+"]")
	w.want(w.one("select count(*)::text from audit_events where actor = 'vera' and action = 'approval.approve' and "+
		"detail->'rule'->>'by' = 'vera'"), "3")
	w.want(w.one("select reason from steps where kind = 'approve' and component = 'network'"),
		"approved by vera: by the rule for the whole workflow: read the release")
	must(t, w.answer("web", workflow.Approve, "read it"))
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded]")

	// The next workflow needs approvals again, and the one that ended accepts no rule.
	w.input("greeting", "hi")
	w.look()
	w.runJobs()
	w.want(w.asked(), "[web]")
	ended := w.one("select id from workflows where status = 'succeeded'")
	w.refusedWith(w.approveWorkflow(ended, workflow.Approver{Name: "vera", Token: "tok_x"}), workflow.CodeWorkflowEnded)
	w.refusedWith(w.in(func(ctx context.Context, tx *store.Tx) error {
		return workflow.RevokeWorkflowRule(ctx, tx, ended)
	}), workflow.CodeWorkflowEnded)
	if err := w.approveWorkflow("wfl_none", workflow.Approver{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a workflow that is not there: %v", err)
	}
}

// TestAWholeWorkflowLeavesToAPersonWhatMustBeSeen: destroys, replacements and plans whose
// report is not complete need a person, also when one replaces a plan that was approved.
func TestAWholeWorkflowLeavesToAPersonWhatMustBeSeen(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	vera := w.approver("vera", "admin")
	w.input("greeting", "hi")
	w.look()
	must(t, w.whole("vera", vera))
	w.replaces = map[string]bool{"web": true}
	w.runJobs()
	w.want(w.asked(), "[web]")
	w.want(strings.HasSuffix(w.one("select reason from approvals where status = 'waiting'"),
		"it does not cover plans that delete or replace something"), true)

	// The desired state changes, and the new plan is covered; it changes again, and
	// that plan is not.
	w.replaces = nil
	w.input("greeting", "ho")
	w.look()
	offer := w.until("apply web")
	w.replaces = map[string]bool{"web": true}
	w.input("greeting", "hey")
	w.look()
	if _, taken := w.accept(offer); taken {
		t.Error("the apply of a plan that was replaced was taken")
	}
	w.runJobs()
	w.want(w.asked(), "[web]")
	must(t, w.answer("web", workflow.Approve, "it may be replaced"))
	w.runJobs()

	w.replaces = nil
	w.findings = map[string][]diff.Finding{"web": {{Rule: "not-shown", Source: "s",
		Message:            "3 changed lines are not shown",
		IndividualApproval: true}}}
	w.input("greeting", "hello again")
	w.look()
	must(t, w.whole("vera", vera))
	w.runJobs()
	w.want(w.asked(), "[web]")
	w.want(strings.HasSuffix(w.one("select reason from approvals where status = 'waiting'"),
		"a finding of the plan requires a separate approval"), true)
	must(t, w.answer("web", workflow.Approve, "read it"))
	w.runJobs()

	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
	must(t, err)
	w.refusedWith(w.whole("vera", vera), workflow.CodeNotCovered)
	w.runJobs()
	w.want(w.asked(), "[metrics]")
}

// until has the runner work until it is offered a job, which it does not take yet.
func (w *world) until(job string) api.Offer {
	w.Helper()
	for range 20 {
		w.queue()
		offers := w.offers()
		if offer, has := offers[job]; has {
			return offer
		}
		for name, offer := range offers {
			w.runJob(name, offer)
		}
	}
	w.dump()
	w.Fatalf("the runner is not offered %s", job)
	return api.Offer{}
}

// TestAWholeWorkflowIsCheckedWhenItsApprovalIsUsed: between the approval and the
// apply the rule is withdrawn, its approver loses the permission, or a person changes
// what the workflow plans. Then nothing is applied, and a person must approve.
func TestAWholeWorkflowIsCheckedWhenItsApprovalIsUsed(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	vera := w.approver("vera", "approver")
	for n, c := range []struct {
		name   string
		happen func()
		says   string
	}{
		{"taken back", func() { must(t, w.revoke()) }, "it was revoked"},
		{"the token is revoked", func() { w.exec("update tokens set revoked_at = now() where id = $1", vera) },
			"vera can no longer approve: the token was revoked or has expired"},
		{"it has run out", func() { w.exec("update tokens set expires_at = now() where id = $1", vera) },
			"vera can no longer approve"},
		{"another role", func() { w.exec("update tokens set role = 'operator' where id = $1", vera) },
			"vera can no longer approve"},
		{"for another app alone", func() {
			w.exec("insert into apps (org_id, id, name) values ($1, 'app_other', 'other')", w.org)
			w.exec("update tokens set app_id = 'app_other' where id = $1", vera)
		}, "vera can no longer approve"},
		{"the install is changed", func() { must(t, w.pin(1)) }, "alice changed the pin of the install afterwards"},
	} {
		w.exec("update tokens set revoked_at = null, expires_at = null, role = 'approver', app_id = null")
		w.input("greeting", strings.Repeat("h", n+1))
		w.look()
		must(t, w.whole("vera", vera))
		offer := w.until("apply web")
		c.happen()
		if _, taken := w.accept(offer); taken {
			t.Errorf("%s: the apply was taken", c.name)
		}
		w.runJobs()
		w.want(w.asked(), "[web]")
		w.want(strings.Contains(w.one("select string_agg(reason, ' ') from approvals where status = 'withdrawn'"), c.says),
			true)
		must(t, w.answer("web", workflow.Approve, "once more"))
		w.runJobs()
	}
	if status, reason := w.status(); status != "current" {
		t.Errorf("in the end it is %s: %s", status, reason)
	}
}

// TestOneApproverApprovesAWorkflow: if two approvers approve a workflow at the same
// time, one succeeds. The other takes over only once the first has lost the
// permission. The requester of a workflow, or of a change that the install has not
// reached yet, may not approve it on an install with approvals_by_others, and a rule
// covers no other workflow.
func TestOneApproverApprovesAWorkflow(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	tokens := map[string]string{"vera": w.approver("vera", "approver"), "alice": w.approver("alice", "approver")}
	w.input("greeting", "hi")
	w.look()
	running := w.running()
	w.refusedWith(w.revoke(), workflow.CodeNoRule)
	var group sync.WaitGroup
	var mutex sync.Mutex
	failed := map[string]error{}
	for name, token := range tokens {
		group.Go(func() {
			err := w.approveWorkflow(running, workflow.Approver{Name: name, Token: token})
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				failed[name] = err
			}
		})
	}
	group.Wait()
	first := w.one("select rule->>'by' from workflows where id = $1", running)
	if len(failed) != 1 || failed[first] != nil {
		t.Fatalf("%s approves it, and failed %v", first, failed)
	}
	second := map[string]string{"vera": "alice", "alice": "vera"}[first]
	w.refusedWith(failed[second], workflow.CodeHasRule)
	must(t, w.whole(first, tokens[first])) // a second call changes nothing
	w.exec("update tokens set revoked_at = now() where id = $1", tokens[first])
	must(t, w.whole(second, tokens[second]))
	w.want(w.one("select rule->>'by' from workflows where id = $1", running), second)
	w.runJobs()
	w.want(w.one("select actor from approval_responses where rule->>'workflow' = $1", running), second)

	w.exec("update tokens set revoked_at = null")
	w.exec("update installs set approvals_by_others = true")
	// by alice
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"metrics"}, Redeploy: true})
	must(t, err)
	w.refusedWith(w.whole("alice", tokens["alice"]), workflow.CodeOwnChange)
	must(t, w.whole("vera", tokens["vera"]))
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		return rollout.RecordDesiredBy(ctx, tx, w.install, "vera")
	}))
	w.refusedWith(w.whole("vera", tokens["vera"]), workflow.CodeOwnChange)
}

// TestNoRuleApprovesWhatAPersonRejected checks that a person must approve what another one rejected once a third one
// retries it: a rule does not, neither an approver's for the workflow nor the install's, in the same workflow or in a
// new one. What a person has approved since is approved by the rule again.
func TestNoRuleApprovesWhatAPersonRejected(t *testing.T) {
	t.Parallel()
	approveAll := func(w *world) { w.exec("update installs set approval = 'approve-all'") }
	byDora := func(w *world) { must(w, w.whole("dora", w.approver("dora", "approver"))) }
	for name, c := range map[string]struct {
		loosen func(w *world)
		ended  bool // the workflow has ended when the step is retried
	}{
		"an approver's rule":               {byDora, false},
		"the install's":                    {approveAll, false},
		"the install's, in a new workflow": {approveAll, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newProvisionedWorld(t)
			w.build("web", "succeeded")
			if !c.ended {
				w.build("metrics", "succeeded")
			}
			w.look()
			w.runJobs()
			w.reject("web")
			rejected := w.one("select workflow_id from plans where status = 'rejected'")
			c.loosen(w)
			w.want(w.retry("plan", "web") != rejected, c.ended)
			w.runJobs()
			w.want(w.list(`select a.individual_approval || ' ' || p.group_digest || substring(a.reason from 'vera .*')
				from approvals a join plans p on p.id = a.plan_id where a.status = 'waiting' and p.component = 'web'`),
				"[true vera rejected an earlier plan of this change]")
			w.want(w.one("select count(*)::text from plans where component = 'web' and status = 'applied' and workflow_id = $1",
				rejected), "0")
			must(t, w.answer("web", workflow.Approve, "now it may be"))
			w.approveAll()
			status, _ := w.component("web")
			w.want(status, "current")

			approveAll(w)
			delete(w.state, "web")
			_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"web"}, Redeploy: true})
			must(t, err)
			w.runJobs()
			w.want(w.asked(), "[]")
			w.want(w.one("select p.status || ' ' || p.rejected_by from plans p order by p.id desc limit 1"), "applied ")
		})
	}
}
