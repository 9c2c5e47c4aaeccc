package rollout_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// crowd adds installs to the world's app: ins_00001 and so on.
func (w *world) crowd(many int) {
	w.Helper()
	w.exec(`insert into installs (org_id, id, app_id, name, runner_id)
		select i.org_id, 'ins_' || to_char(g, 'fm00000'), i.app_id, 'c' || g, i.runner_id from installs i, generate_series(1, $1) g where i.id = $2`, many, w.install)
	w.exec(`insert into install_inputs (org_id, install_id, name, sealed, hash)
		select n.org_id, i.id, n.name, n.sealed, n.hash from installs i, install_inputs n where n.install_id = $1 and i.id <> $1`, w.install)
}

// reconcileRanges runs the range tasks in the queue, and nothing else.
func (w *world) reconcileRanges(r *rollout.Rollout) {
	w.Helper()
	for _, args := range w.list(
		"delete from river.river_job where kind = 'rollout_range' returning args->>'first' || ' ' || (args->>'last')") {
		first, last, _ := strings.Cut(args, " ")
		must(w, r.ReconcileRange(w.Context(), queue.RolloutRange{Org: w.org, App: w.appID, First: first, Last: last}))
	}
}

// TestFanOutReconcilesEveryInstall: installs are reconciled in ranges, each range is
// queued once even if it is requested several times, and the number of statements
// depends on the ranges, not on the installs.
func TestFanOutReconcilesEveryInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(120)
	for range 3 {
		must(t, w.rollout.FanOut(t.Context(), w.org, w.appID))
	}
	w.want(w.one("select count(*)::text || ' ' || min(priority) || ' ' || min(queue) from river.river_job"),
		"5 2 background")
	w.reconcileRanges(w.rollout)
	w.want(w.one("select count(distinct install_id)::text from workflows where kind = 'provision'"), "121")
	w.want(w.one("select count(*)::text from river.river_job"), "0") // they have started

	meter := storetest.NewStatementCounter(t, w.dsn)
	s, err := store.Open(t.Context(), meter.DSN)
	must(t, err)
	t.Cleanup(s.Close)
	r := rollout.New(s, w.ours)
	must(t, r.Reconcile(t.Context(), w.org, w.install))
	w.exec("delete from workflows")
	w.exec("delete from jobs")
	must(t, w.rollout.FanOut(t.Context(), w.org, w.appID))
	before := meter.Statements()
	w.reconcileRanges(r)
	if got := meter.Statements() - before; got > 5*(maxStatements+11) {
		t.Errorf("five ranges of installs took %d statements", got)
	}
	w.want(w.list("select kind || ' ' || status || ' ' || count(*) from jobs group by kind, status"), "[sync queued 121]")
}

// TestAWorkflowBeginsWithItsInstall: the transaction that starts a workflow queues
// its first jobs, and reads the install only once for both. No queue task is needed.
func TestAWorkflowBeginsWithItsInstall(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	w.build("network", "succeeded")
	w.build("metrics", "succeeded")
	w.exec("delete from river.river_job")
	must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
	w.want(w.list("select kind from river.river_job"), "[]")
	const steps = `select s.kind || ' ' || s.component || ' ' || s.status || ' ' || s.tries || ' ' || coalesce(j.status, '') || ' ' || (s.started_at is not null)
		from steps s join workflows w on w.id = s.workflow_id left join jobs j on j.id = s.job_id and j.owner_id = s.id
		where w.status = 'running' and s.kind in ('sync', 'plan') order by 1`
	begun := "[plan metrics pending 0  false plan network pending 0  false sync metrics running 1 queued true sync " +
		"network running 1 queued true]"
	w.want(w.list(steps), begun)
	rows := w.one("select max(xmin::text::bigint)::text from steps")
	must(t, w.engine.Reconcile(t.Context(), w.org, w.one("select id from workflows where status = 'running'")))
	w.want(w.one("select max(xmin::text::bigint)::text from steps"), rows)
	w.approveAll()
	w.want(w.done, "[plan metrics plan network apply metrics apply network]")
}

// TestAWorkflowBeginsWithThePlanThatCopies: a plan that copies its small artifact
// waits for no sync.
func TestAWorkflowBeginsWithThePlanThatCopies(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	w.build("metrics", "succeeded")
	w.exec("update builds set artifact_bytes = 1000")
	w.exec("delete from river.river_job")
	must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
	w.want(w.list("select kind from river.river_job"), "[]")
	w.want(w.list(`select s.kind || ' ' || s.status || ' ' || s.reason || ' ' || s.tries || ' ' || (s.job_id is not null) || ' ' || (s.ended_at is not null)
		from steps s join workflows w on w.id = s.workflow_id where w.status = 'running' and s.kind in ('sync', 'plan') order by s.position`),
		"[sync succeeded skipped: the plan copies what is missing 1 false true plan running "+
			w.one("select reason from jobs where ended_at is null")+" 1 true false]")
	w.want(w.one("select (spec->'plan'->'from'->>'digest' <> '')::text from jobs where status = 'queued' and "+
		"kind = 'plan'"), "true")
	w.approveAll()
	w.want(w.done, "[plan metrics apply metrics]")
}

// TestAFirstStepThatCannotBeginIsTheQueuesMatter: a first step that cannot start is
// left to a queue task, and blocks no other install of its range.
func TestAFirstStepThatCannotBeginIsTheQueuesMatter(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	w.exec("delete from river.river_job")
	w.exec(`update install_components set applied_inventory = '"none"' where name = 'metrics'`) // invalid
	w.build("metrics", "succeeded")
	must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
	w.want(w.list("select kind || ' ' || queue || ' ' || priority from river.river_job"),
		"[advance default 4]") // lowest priority
	w.want(w.list("select distinct s.status from steps s join workflows w on w.id = s.workflow_id where w.status = "+
		"'running'"), "[pending]")
	w.want(w.list("select kind from jobs where ended_at is null"), "[]")
}

// TestARangeLeavesWhatOthersAreAtWorkOn: a range does not wait for a locked install,
// and queues a task for it.
func TestARangeLeavesWhatOthersAreAtWorkOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(3)
	w.exec("begin")
	w.exec("select from installs where id = 'ins_00002' for update")
	must(t, w.rollout.FanOut(t.Context(), w.org, w.appID))
	w.exec("commit")
	w.want(w.list("select args->>'install' from river.river_job where kind = 'resync'"), "[ins_00002]")
	w.want(w.one("select count(*)::text from workflows"), "3")
}

// TestAnInstallThatCannotBeReadHoldsUpNoOther: the rest of its range is still reconciled.
func TestAnInstallThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(2)
	w.exec(`update installs set toggles = '"none"' where id = 'ins_00001'`)
	must(t, w.rollout.FanOut(t.Context(), w.org, w.appID))
	for _, install := range w.list("delete from river.river_job where kind = 'resync' returning args->>'install'") {
		if err := w.rollout.Reconcile(t.Context(), w.org, install); (err != nil) != (install == "ins_00001") {
			t.Errorf("install %s: %v", install, err)
		}
	}
	w.want(w.one("select count(*)::text from workflows"), "2")
}

// TestStepsAreAddedInOneStatement: one statement adds all steps of a workflow.
func TestStepsAreAddedInOneStatement(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	meter := storetest.NewStatementCounter(t, w.dsn)
	s, err := store.Open(t.Context(), meter.DSN)
	must(t, err)
	t.Cleanup(s.Close)
	r := rollout.New(s, w.ours)
	cost := func(components ...string) int64 {
		for _, name := range components {
			w.build(name, "succeeded")
		}
		before := meter.Statements()
		must(t, r.Reconcile(t.Context(), w.org, w.install))
		after := meter.Statements()
		w.exec("delete from workflows where status = 'running'")
		w.exec("delete from river.river_job")
		return after - before
	}
	cost("metrics") // prepares its statements
	if one, three := cost("metrics"), cost("metrics", "network", "web"); three != one {
		t.Errorf("a workflow of one component took %d statements, of three %d", one, three)
	}
}

// TestARangeThatCannotBeReadIsAskedForAgain: the task must fail, so that the queue retries it.
func TestARangeThatCannotBeReadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(2)
	w.exec("alter table installs rename column app_id to elsewhere")
	if err := w.rollout.ReconcileRange(t.Context(), queue.RolloutRange{Org: w.org, App: w.appID, First: "ins_00001",
		Last: "ins_00002"}); err == nil {
		t.Error("a range of which nothing was read counts as reconciled")
	}
}
