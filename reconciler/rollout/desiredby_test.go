package rollout_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// cancel cancels the running workflow.
func (w *world) cancel(actor string) {
	w.Helper()
	running := w.running()
	must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
		return workflow.Cancel(ctx, tx, running, actor, "something else first")
	}))
	w.queue()
}

// ownChange reports whether a person's approval of what waits for one is refused because they requested it.
func (w *world) ownChange(actor string) bool {
	w.Helper()
	waiting := w.list("select id from approvals where status = 'waiting'")
	if len(waiting) == 0 {
		w.dump()
		w.Fatal("nothing waits for an approval")
	}
	refused := 0
	for _, approval := range waiting {
		err := w.respond(approval, workflow.Approve, actor, "")
		if no := (*refusal.Error)(nil); errors.As(err, &no) && no.Code == workflow.CodeOwnChange {
			refused++
		} else {
			must(w, err)
		}
	}
	w.queue()
	if refused > 0 && refused < len(waiting) {
		w.Fatalf("%s approved %d of %d", actor, len(waiting)-refused, len(waiting))
	}
	return refused > 0
}

// reject is vera's no to the plans of components.
func (w *world) reject(components ...string) {
	w.Helper()
	for _, component := range components {
		approval := w.one(`select a.id from approvals a join plans p on p.id = a.plan_id where a.status = 'waiting' and
			p.component = $1`, component)
		must(w, w.respond(approval, workflow.Reject, "vera", "not now"))
	}
	w.queue()
}

// TestNobodyApprovesTheirOwnChangeLater checks that on an install with approvals_by_others, a person does not approve
// what starts later because of their request, such as a teardown while another workflow was running: it is in nobody's
// name. Another person may approve it, and after it, the first may approve what a push causes.
func TestNobodyApprovesTheirOwnChangeLater(t *testing.T) {
	redeploy := rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"metrics"}, Redeploy: true}
	request := func(w *world, wish rollout.DeployRequest) {
		w.Helper()
		_, err := w.wish(wish) // alice's
		must(w, err)
	}
	for name, c := range map[string]struct {
		change func(w *world)
		want   string // the workflow that it leads to
	}{
		"a deprovision during a deploy": {func(w *world) {
			request(w, redeploy)
			request(w, rollout.DeployRequest{Kind: workflow.KindDeprovision})
		}, "deprovision"},
		"a teardown during a deploy": {func(w *world) {
			request(w, redeploy)
			request(w, rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
		}, "teardown"},
		"a rollback": {func(w *world) {
			w.build("web", "succeeded")
			w.look()
			w.approveAll()
			must(w, w.pin(1))
			w.queue()
		}, "deploy"},
		"the end of a rollback": {func(w *world) {
			must(w, w.pin(1))
			w.build("web", "succeeded")
			w.look()
			must(w, w.pin(0))
			w.queue()
		}, "deploy"},
		"a rollback after a canceled deploy": {func(w *world) {
			w.build("web", "succeeded")
			w.build("metrics", "succeeded")
			w.look()
			w.approveAll()
			request(w, redeploy)
			w.cancel("alice")
			must(w, w.pin(1))
			w.queue()
		}, "deploy"},
		"a retry of what another person rejected": {func(w *world) {
			w.build("web", "succeeded")
			w.build("metrics", "succeeded")
			w.look()
			w.runJobs()
			w.reject("metrics")
			w.retry("plan", "metrics")
		}, "deploy"},
		"a retry in a new workflow, which is canceled": {func(w *world) {
			w.build("metrics", "succeeded")
			w.look()
			w.runJobs()
			w.reject("metrics")
			w.retry("plan", "metrics")
			w.cancel("alice")
			w.build("metrics", "succeeded")
			w.look()
		}, "deploy"},
		"a restore of what another person rejected, which is canceled": {func(w *world) {
			w.putState("network", "first", "kept")
			w.putState("network", "second", "kept")
			w.build("network", "succeeded")
			w.look()
			w.runJobs()
			w.reject("network")
			must(w, w.askRestore("network", 1))
			w.cancel("alice")
			w.look()
		}, "deploy"},
		"a dismissed state": {func(w *world) {
			w.putState("network", "first", "kept")
			w.putState("network", "other", "contested")
			w.look()
			delete(w.state, "network")
			must(w, w.dismiss("network", 2))
		}, "deploy"},
		"an abandoned state": {func(w *world) {
			w.putState("network", "first", "kept")
			w.sealedTo("network", "key-lost")
			delete(w.state, "network")
			must(w, w.abandon("network"))
		}, "deploy"},
		"a change that another person added to": {func(w *world) {
			request(w, redeploy)
			request(w, rollout.DeployRequest{Kind: workflow.KindDeprovision})
			must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
				return rollout.RecordDesiredBy(ctx, tx, w.install, "bob")
			}))
		}, "deprovision"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProvisionedWorld(t)
			w.TB = t
			w.exec("update installs set approvals_by_others = true")
			c.change(w)
			w.runJobs()
			w.want(w.one("select kind from workflows order by number desc limit 1"), c.want)
			if !w.ownChange("alice") {
				t.Error("alice approved her own change")
			}
			for len(w.list("select id from approvals where status = 'waiting'")) > 0 {
				if w.ownChange("vera") {
					t.Fatal("vera may not approve the change of others")
				}
				w.runJobs()
			}
			if c.want == "deprovision" {
				status, _ := w.status()
				w.want(status, "deprovisioned")
				return
			}

			// It is done: what a push causes is nobody's.
			must(t, w.pin(0))
			w.queue()
			for w.runJobs(); len(w.asked()) > 0; w.runJobs() {
				w.want(w.ownChange("vera"), false)
			}
			w.build("network", "succeeded")
			w.look()
			w.runJobs()
			w.want(w.asked(), "[network]")
			w.want(w.ownChange("alice"), false)
		})
	}
}
