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

// TestReconcileSeesOneRelease creates a release with another config and another build of two components before each
// of the statements of a reconcile in turn: what the install is to have is then all of the one release or all of the
// other.
func TestReconcileSeesOneRelease(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for at, created := int64(1), true; created; at++ {
		w := newProvisionedWorld(t)
		w.look()
		meter := storetest.NewStatementCounter(t, w.dsn)
		s, err := store.Open(t.Context(), meter.DSN)
		must(t, err)
		r := rollout.New(s, w.ours)
		must(t, r.Reconcile(t.Context(), w.org, w.install)) // connects, and prepares its statements

		for i, c := range w.app.Components {
			if c.Name == "network" || c.Name == "metrics" {
				w.app.Components[i].Terraform.Vars = map[string]string{"pushed": "yes"}
				w.addBuild(c.Name, "succeeded")
			}
		}
		w.addVersion()
		desired := func() string {
			return w.one("select string_agg(name || ' ' || desired_digest, ', ' order by name) from install_components " +
				"where name in ('metrics', 'network')")
		}
		before, first := desired(), meter.Statements()
		created = false
		var failed error
		meter.Before(func(n int64) {
			if n == first+at {
				created, failed = true, w.tryRelease()
			}
		})
		must(t, r.Reconcile(t.Context(), w.org, w.install))
		s.Close() // ends the proxy's connections, and with them the calls that set failed
		got := desired()
		must(t, failed)
		w.release()
		w.look()
		switch after := desired(); got {
		case before:
			outcomes["before"]++
		case after:
			outcomes["after"]++
		default:
			t.Errorf("a release before statement %d: the install is to have %s, want %s or %s", at, got, before, after)
		}
	}
	if outcomes["before"] < 2 || outcomes["after"] < 2 {
		t.Errorf("the release was created at %v", outcomes)
	}
}
