package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

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
