package rollout_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// abandon is a person who declares the key of a component's state lost.
func (w *world) abandon(component string) error {
	w.Helper()
	err := w.in(func(ctx context.Context, tx *store.Tx) error {
		return w.rollout.Abandon(ctx, tx, store.Install{ID: w.install, Name: "acme"}, component, "the disk burnt", "alice")
	})
	w.queue()
	return err
}

// sealedTo sets the key that the states of a component are sealed to.
func (w *world) sealedTo(component, key string) {
	w.Helper()
	w.exec("update states set key_id = $2 where install_component_id = (select id from install_components where "+
		"name = $1)", component, key)
}

// TestAnAbandonedComponentStartsFromNothing: the component's outputs are deleted, so
// what reads them waits. It is planned and approved as if it had never been deployed,
// and every version stays listed.
func TestAnAbandonedComponentStartsFromNothing(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("network", "first", "kept")
	w.putState("network", "other", "contested")
	w.sealedTo("network", "key-lost")
	w.exec(`insert into state_locks (org_id, install_component_id, lock_id, job_id, attempt, info)
		select $1, id, 'l', 'job_gone', 1, '{}' from install_components where name = 'network'`, w.org)
	delete(w.state, "network")
	must(t, w.abandon("network"))
	w.want(w.list("select status || ': ' || reason from states order by version"),
		"[dismissed: abandoned by alice: the disk burnt dismissed: abandoned by alice: the disk burnt]")
	w.want(w.one("select count(*)::text from outputs where owner = 'network'"), "0")
	w.want(w.one("select count(*)::text from state_locks"), "0")
	if _, reason := w.component("web"); !strings.Contains(reason, "network") {
		t.Errorf("web reads the outputs of network, and its reason is %q", reason)
	}
	if _, reason := w.component("network"); !strings.Contains(reason,
		"abandoned by alice: the disk burnt; what exists of it is unknown") {
		t.Errorf("who is to approve reads %q", reason)
	}
	w.want(w.runJobs(), "[plan network]")
	w.want(w.asked(), "[network]")
	w.approveAll()
	for _, name := range []string{"network", "web"} {
		status, _ := w.component(name)
		w.want(status, "current")
	}
	w.want(w.one("select abandoned from install_components where name = 'network'"), "")
}

// TestAnAbandonedComponentThatIsToBeGoneIsGone: no plan could remove resources that
// nobody knows of, so the install can be deleted.
func TestAnAbandonedComponentThatIsToBeGoneIsGone(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("metrics", "first", "kept")
	w.sealedTo("metrics", "key-lost")
	w.break_["plan metrics"] = "failed" // the runner cannot open the state
	w.ask("absent")
	w.runJobs()
	w.approveAll()
	w.want(w.one("select (applied_artifact <> '')::text from install_components where name = 'metrics'"), "true")
	must(t, w.abandon("metrics"))
	w.runJobs()
	w.approveAll()
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		gone, err := rollout.FullyRemoved(ctx, tx, w.install)
		if !gone {
			t.Error("the install is not gone")
		}
		return err
	}))
}

func TestWhatCannotBeAbandonedIsRefusedInWords(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("network", "first", "kept")
	w.sealedTo("network", "key-lost")
	w.putState("web", "first", "kept")
	w.sealedTo("web", w.key.Recipient().KeyID())
	for _, c := range []struct{ component, before, after, code string }{
		{"netwrk", "", "", rollout.CodeUnknownComponent},
		{"metrics", "", "", rollout.CodeNoState},
		{"web", "", "", rollout.CodeReadable},
		{"network", "update installs set approval = 'approve-all'", "update installs set approval = 'prompt'",
			rollout.CodeApproveAll},
		{"network", "update runners set recipient = ''", "", rollout.CodeKeyUnknown},
	} {
		if c.before != "" {
			w.exec(c.before)
		}
		err := w.abandon(c.component)
		var conflict *refusal.Error
		if !errors.As(err, &conflict) || conflict.Code != c.code || conflict.Remedy == "" {
			t.Errorf("%s: %v, want %s", c.component, err, c.code)
		}
		if c.after != "" {
			w.exec(c.after)
		}
	}
	w.want(w.list("select status from states"), "[kept kept]")
}

// TestNothingIsDismissedThatARuleWouldPlan: the plan after a dismissed version starts from an older
// state and may create again what exists, so an install that approves plans automatically is
// refused, and the version stays contested. With approvals, a person answers that plan.
func TestNothingIsDismissedThatARuleWouldPlan(t *testing.T) {
	w := newProvisionedWorld(t)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	for n, status := range []string{"contested", "withheld"} {
		version := 2*n + 2
		w.putState("network", "first", "kept")
		w.putState("network", "other", status)
		err := w.dismiss("network", version)
		var conflict *refusal.Error
		if !errors.As(err, &conflict) || conflict.Code != rollout.CodeApproveAll ||
			!strings.Contains(conflict.Remedy, "nuon installs update hello/acme --approval prompt") {
			t.Errorf("%s: %v", status, err)
		}
		w.want(w.one("select status from states where version = $1", version), status)
	}
	if err := w.dismiss("network", 1); !errors.Is(err, tfstate.ErrNotContested) {
		t.Errorf("a kept version: %v", err)
	}
	if err := w.dismiss("netwrk", 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another component: %v", err)
	}
	w.exec("update installs set approval = 'prompt'")
	delete(w.state, "network")
	for _, version := range []int{2, 4} {
		must(t, w.dismiss("network", version))
	}
	w.want(w.runJobs(), "[plan network]")
	w.want(w.asked(), "[network]")
}

// TestNoRuleForAWorkflowApprovesAPlanAfterADismissedState checks that the plan which follows a dismissed state version
// waits for a person in a workflow that an approver had approved as a whole.
func TestNoRuleForAWorkflowApprovesAPlanAfterADismissedState(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("network", "succeeded")
	w.build("web", "succeeded")
	w.look() // web comes after network
	must(t, w.whole("vera", w.approver("vera", "approver")))
	w.putState("web", "first", "kept")
	w.putState("web", "other", "contested")
	delete(w.state, "web")
	must(t, w.dismiss("web", 2))
	for _, component := range []string{"network", "web"} {
		w.runJobs()
		w.want(w.asked(), "["+component+"]")
		w.want(w.one("select reason from approvals where status = 'waiting'"), "the rule of vera for the workflow does not "+
			"approve it: alice changed the state of web of the install afterwards")
		must(t, w.answer(component, workflow.Approve, "read it"))
	}
	w.runJobs()
	w.want(w.one("select count(*)::text from workflows where kind = 'deploy'"), "1")
	status, _ := w.component("web")
	w.want(status, "current")
}

// TestARuleForAWorkflowEndsWithAChangedState checks that each decision about a component's state ends an approver's
// rule for a running workflow.
func TestARuleForAWorkflowEndsWithAChangedState(t *testing.T) {
	for name, change := range map[string]func(w *world) error{
		"dismissed": func(w *world) error {
			w.putState("metrics", "second", "contested")
			return w.dismiss("metrics", 2)
		},
		"restored": func(w *world) error {
			w.putState("metrics", "second", "kept")
			return w.askRestore("metrics", 1)
		},
		"abandoned": func(w *world) error {
			w.sealedTo("metrics", "key-lost")
			return w.abandon("metrics")
		},
	} {
		w := newProvisionedWorld(t)
		w.putState("metrics", "first", "kept")
		w.build("web", "succeeded")
		w.look()
		must(t, w.whole("vera", w.approver("vera", "approver")))
		deploy := w.running()
		if err := change(w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.want(name+": "+w.one("select coalesce(rule->>'void', '') from workflows where id = $1", deploy),
			name+": alice changed the state of metrics of the install afterwards")
	}
}

// TestNothingIsAbandonedUnderAWorkflow: a component that a workflow is changing
// cannot be abandoned.
func TestNothingIsAbandonedUnderAWorkflow(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("metrics", "first", "kept")
	w.sealedTo("metrics", "key-lost")
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs() // its plan waits for approval
	var conflict *refusal.Error
	if err := w.abandon("metrics"); !errors.As(err, &conflict) || conflict.Code != workflow.CodeBusy {
		t.Errorf("abandoned under a plan that waits: %v", err)
	}
}
