package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// newWorldWithRoles has a provisioned install whose stack reported the roles p (provision), m (maintenance), c and d
// (custom), and whose action smoke only runs when a person requests it. No script waits.
func newWorldWithRoles(t *testing.T) *world {
	t.Helper()
	w := newProvisionedWorld(t)
	w.app.Runner = &format.Runner{Type: "aws"}
	w.app.Permissions = []format.StandingRole{{Type: "provision", Role: format.Role{Name: "p"}},
		{Type: "maintenance", Role: format.Role{Name: "m"}}, {Type: "custom", Role: format.Role{Name: "c"}},
		{Type: "custom", Role: format.Role{Name: "d"}}}
	w.app.Actions[0].Triggers = []appconfig.Trigger{{Type: "manual"}}
	w.version()
	const arn = `"arn:aws:iam::1:role/`
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := stackoutputs.Record(ctx, tx, w.install, "alice", stackoutputs.Change{Source: stackoutputs.PhoneHome,
			Set: map[string]json.RawMessage{"provision_iam_role_arn": []byte(arn + `p"`),
				"maintenance_iam_role_arn": []byte(arn + `m"`), "custom_role_arns": []byte(`{"c":` + arn + `c","d":` + arn + `d"}`)}})
		return err
	}))
	w.look()
	w.approveAll()
	w.strict = true
	return w
}

// runUnder is oscar requesting a run of smoke under a role; empty for none. It returns the waiting scripts and the
// roles of the runs until now.
func (w *world) runUnder(role string) (waiting, ran string) {
	w.Helper()
	must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, w.org, w.install)
		if err == nil {
			_, err = w.rollout.RequestAction(ctx, tx, install, rollout.ActionRequest{Action: "smoke", Actor: "oscar",
				Role: role})
		}
		return err
	}))
	w.runJobs()
	return w.scripts("waiting"), w.ran()
}

// ran returns the roles of the runs of smoke since its install has roles.
func (w *world) ran() string {
	w.Helper()
	return strings.Join(w.list("select spec->'role'->>'key' from jobs where kind = 'action' and status = 'succeeded' and "+
		"spec->'role'->>'key' <> '' order by id"), " ")
}

// TestARunUnderAnotherRoleWaits checks that an approver approves the role of a script: a run under a role that a person
// chose, or that another file of the app gives it since, waits for an approver, and shows the role. The role that it
// has anyway makes no difference.
func TestARunUnderAnotherRoleWaits(t *testing.T) {
	w := newWorldWithRoles(t)
	want := func(role, waiting, ran string) {
		t.Helper()
		gotWaiting, gotRan := w.runUnder(role)
		w.want(gotWaiting+"; "+gotRan, waiting+"; "+ran)
	}
	approve := func(ran string, shown ...string) {
		t.Helper()
		report := w.one("select report::text from approvals where kind = 'scripts' and status = 'waiting'")
		for _, text := range shown {
			if !strings.Contains(report, text) {
				t.Errorf("%q is not shown in %s", text, report)
			}
		}
		w.sayScripts(workflow.Approve, "")
		w.runJobs()
		w.want(w.ran(), ran)
	}
	want("", "", "m")
	want("m", "", "m m")
	want("p", "smoke", "m m")
	approve("m m p", `"access.role"`, `"text": "p"`, "access.role_kind", "provision")
	want("p", "", "m m p p")
	want("c", "smoke", "m m p p")
	approve("m m p p c")
	want("", "", "m m p p c m")

	// A push that gives the action another role, or another kind of role by the same name.
	w.app.OperationRoles = []format.OperationRule{{Principal: "nuon::action:smoke", Operation: "trigger", Role: "d"}}
	w.version()
	want("", "smoke", "m m p p c m")
	approve("m m p p c m d", `"d"`)
	w.app.OperationRoles, w.app.Actions[0].Role = nil, "c"
	w.version()
	want("", "smoke", "m m p p c m d")
	approve("m m p p c m d c")
	w.app.Permissions[0].Name, w.app.Permissions[2].Name = "c", "p"
	w.version()
	want("", "smoke", "m m p p c m d c")
	approve("m m p p c m d c c", "role_kind", "provision")
}

// TestARunOnAnotherClusterWaits checks that an approver approves the component whose cluster an action reaches, and not
// only the name of the context.
func TestARunOnAnotherClusterWaits(t *testing.T) {
	w := newWorldWithRoles(t)
	w.app.Actions[0].KubeConfig, w.app.Actions[0].KubernetesContext = true, "edge"
	w.app.KubernetesContexts = []format.KubernetesContext{{Name: "edge", Component: "network"}}
	w.version()
	waiting, _ := w.runUnder("")
	w.want(waiting, "smoke")
	w.sayScripts(workflow.Approve, "")
	w.runJobs()
	waiting, ran := w.runUnder("")
	w.want(waiting+"; "+ran, "; m m")

	w.app.KubernetesContexts[0].Component = "metrics"
	w.version()
	waiting, ran = w.runUnder("")
	w.want(waiting+"; "+ran, "smoke; m m")
	report := w.one("select report::text from approvals where kind = 'scripts' and status = 'waiting'")
	for _, shown := range []string{`"network"`, `"metrics"`} {
		if !strings.Contains(report, shown) {
			t.Errorf("%s is not shown in %s", shown, report)
		}
	}
}
