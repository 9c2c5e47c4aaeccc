package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// TestAnApprovedPlanIsKeptWhileItsRoleIsOff checks that a customer who switches a role off between the
// approval and the apply only delays the apply: the step says what it waits for, the runner cannot take the
// apply, and the plan that was approved is applied once the role is on again.
func TestAnApprovedPlanIsKeptWhileItsRoleIsOff(t *testing.T) {
	w := newProvisionedWorld(t)
	w.app.Runner = &format.Runner{Type: "aws"}
	w.app.Permissions = []format.StandingRole{{Type: "maintenance", Role: format.Role{Name: "m"}},
		{Type: "custom", Role: format.Role{Name: "deployer"}}}
	w.app.OperationRoles = []format.OperationRule{{Principal: "nuon::component:web", Operation: "deploy",
		Role: "deployer"}}
	w.version()
	customRoles := func(roles string) {
		t.Helper()
		must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
			_, _, err := stackoutputs.Record(ctx, tx, w.install, "alice", stackoutputs.Change{Source: stackoutputs.PhoneHome,
				Set: map[string]json.RawMessage{"maintenance_iam_role_arn": []byte(`"arn:aws:iam::1:role/m"`),
					"custom_role_arns": []byte(roles)}})
			return err
		}))
		w.look()
	}
	const on, off = `{"deployer":"arn:aws:iam::1:role/deployer"}`, `{}`
	customRoles(on)
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Approve, ""))
	offers := w.offers() // the runner has the offer of the apply, and is slow to accept

	customRoles(off)
	if _, ok := w.accept(offers["apply web"]); ok {
		t.Fatal("an apply was accepted though its role is off")
	}
	w.look()
	w.runJobs()
	const plans = "select p.status from plans p join workflows w on w.id = p.workflow_id where w.kind = 'deploy' " +
		"order by p.created_at"
	w.want(w.list(plans), "[approved]")
	step := w.one("select s.status || ': ' || s.reason from steps s join workflows w on w.id = s.workflow_id " +
		"where w.kind = 'deploy' and s.kind = 'apply'")
	if !strings.HasPrefix(step, "pending: waits: the deploy of web runs under the role deployer, which is switched off "+
		"in the customer's stack; the customer switches it on there") {
		t.Error(step)
	}
	if status, reason := w.component("web"); status != "waiting" || !strings.Contains(reason, "which is switched off") {
		t.Errorf("the component is %s: %s", status, reason)
	}

	customRoles(on)
	w.runJobs()
	w.want(w.list(plans), "[applied]")
}

// TestAnApplyWaitsForARoleThatRefuses checks that an apply of which nothing ran, because the account refused its role,
// keeps its plan and its approval: the step says what it waits for, and that plan is applied when the role works.
func TestAnApplyWaitsForARoleThatRefuses(t *testing.T) {
	w := newProvisionedWorld(t)
	w.app.Runner = &format.Runner{Type: "aws"}
	w.app.Permissions = []format.StandingRole{{Type: "maintenance", Role: format.Role{Name: "m"}}}
	w.version()
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := stackoutputs.Record(ctx, tx, w.install, "alice", stackoutputs.Change{Source: stackoutputs.PhoneHome,
			Set: map[string]json.RawMessage{"maintenance_iam_role_arn": []byte(`"arn:aws:iam::1:role/m"`)}})
		return err
	}))
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	const applied = "select coalesce(applied_digest, '') from install_components ic join components c " +
		"on c.id = ic.component_id where c.name = 'web'"
	before := w.one(applied)
	must(t, w.answer("web", workflow.Approve, ""))
	refused := api.JobResult{Status: api.JobResultStatusNotStarted, Error: "the account refuses it",
		UnusableRole: api.UnusableRole{Role: "m", Refused: true, Reason: "AccessDenied"}}
	const plans = "select p.status || coalesce(' ' || p.consumed_at::text, '') from plans p join workflows w " +
		"on w.id = p.workflow_id where w.kind = 'deploy' order by p.created_at"
	for range 3 { // more often than a lost job is tried again
		offer := w.offers()["apply web"]
		if _, ok := w.accept(offer); !ok {
			t.Fatal("the apply was not accepted")
		}
		if got := w.one("select status from plans where consumed_at is not null and status = 'consumed'"); got != "consumed" {
			t.Error(got)
		}
		must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: offer.Job, Attempt: offer.Attempt}, refused))
		w.look()
		w.want(w.list(plans), "[approved]")
		if got := w.one(applied); got != before {
			t.Errorf("applied is %q, and was %q", got, before)
		}
		step := w.one("select s.status || ': ' || j.waits from steps s join workflows w on w.id = s.workflow_id " +
			"join jobs j on j.id = s.job_id where w.kind = 'deploy' and s.kind = 'apply'")
		if !strings.HasPrefix(step, "running: it needs the role m, which is off or refuses the runner; it starts") {
			t.Error(step)
		}
	}
	w.runJobs()
	w.want(w.list("select p.status from plans p join workflows w on w.id = p.workflow_id where w.kind = 'deploy'"),
		"[applied]")
	w.want(w.list("select status from workflows where kind = 'deploy'"), "[succeeded]")
}
