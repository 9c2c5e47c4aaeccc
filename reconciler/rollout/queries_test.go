package rollout_test

import (
	"context"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// maxStatements bounds the statements to reconcile one install, including those that
// begin and end its transaction.
const maxStatements = 8

// TestReconcileCostsFewStatements: the number of statements does not depend on the
// number of components, and nothing is written if nothing changed.
func TestReconcileCostsFewStatements(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	meter := storetest.NewStatementCounter(t, w.dsn)
	s, err := store.Open(t.Context(), meter.DSN)
	must(t, err)
	t.Cleanup(s.Close)
	r := rollout.New(s, w.ours)
	must(t, r.Reconcile(t.Context(), w.org, w.install)) // connects, and prepares its statements
	before, rows := meter.Statements(), w.one("select sum(xmin::text::bigint)::text from install_components")
	must(t, r.Reconcile(t.Context(), w.org, w.install))
	if got := meter.Statements() - before; got > maxStatements {
		t.Errorf("reconciling an install took %d statements", got)
	}
	w.want(w.one("select sum(xmin::text::bigint)::text from install_components"), rows)
}

// countedWorld counts how often workflows read installs.
type countedWorld struct {
	workflow.DesiredStateSource
	reads int
}

func (c *countedWorld) Resolve(ctx context.Context, tx *store.Tx, install store.Install,
	supposed *workflow.Assumptions) (
	workflow.ResolvedInstall, error) {
	c.reads++
	return c.DesiredStateSource.Resolve(ctx, tx, install, supposed)
}

// TestAdvanceReadsAnInstallOnce: one read is enough, however many steps start.
func TestAdvanceReadsAnInstallOnce(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.build("network", "succeeded")
	w.build("metrics", "succeeded")
	must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
	w.exec("update jobs set status = 'succeeded', ended_at = now() where status = 'queued'") // both syncs
	world := &countedWorld{DesiredStateSource: w.rollout}
	must(t, workflow.New(w.store, world).Reconcile(t.Context(), w.org,
		w.one("select id from workflows where status = 'running'")))
	if begun := w.list("select id from jobs where status = 'queued' and kind = 'plan'"); len(begun) < 2 {
		t.Fatalf("%d steps began", len(begun))
	}
	if world.reads != 1 {
		t.Errorf("the install was read %d times", world.reads)
	}
}
