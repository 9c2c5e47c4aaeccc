package retention

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// world is a database with rows of any age.
type world struct {
	*testing.T
	store *store.Store
	db    *pgx.Conn // as its owner
	org   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &world{T: t, store: s}
	if w.db, err = pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close(context.WithoutCancel(t.Context())) })
	w.org = w.seed("org_1")
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

// seed creates an org with the rows that all others refer to.
func (w *world) seed(org string) string {
	w.Helper()
	if _, err := w.store.AddOrg(w.Context(), org, "name-"+org[4:]); err != nil {
		w.Fatal(err)
	}
	w.exec("insert into watches (org_id, id, url, ref) values ($1, 'wat', 'u', 'main')", org)
	w.exec("insert into apps (org_id, id, name, watch_id) values ($1, 'app', 'app', 'wat')", org)
	w.exec("insert into components (org_id, id, app_id, name, kind) values ($1, 'cmp', 'app', 'web', 'terraform_module')",
		org)
	w.exec("insert into runners (org_id, id, name, kind) values ($1, 'run', 'run', 'install')", org)
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) values ($1, 'ins', 'app', 'ins', 'run')", org)
	w.exec("insert into install_components (org_id, id, install_id, component_id, name) values ($1, 'ico', 'ins', "+
		"'cmp', 'web')", org)
	return org
}

// workflow creates a workflow that ended some days ago, with a plan step, its plan with a status,
// and an ended plan job with a log.
func (w *world) workflow(id string, number, days int, plan string) {
	w.Helper()
	at := time.Now().AddDate(0, 0, -days)
	w.exec(`insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by, created_at, ended_at)
		values ($1, $2, 'ins', $3, 'deploy', 'succeeded', 'r', 'p', $4, $4)`, w.org, id, number, at)
	w.exec("insert into steps (org_id, id, workflow_id, position, kind, status) values ($1, $2, $3, 0, 'plan', "+
		"'succeeded')", w.org, "stp-"+id, id)
	w.exec(`insert into plans (org_id, id, step_id, workflow_id, install_id, install_component_id, component, status, desired_digest, basis, basis_digest,
		bundle_digest, report, report_digest, content_digest, destructive, target, created_at)
		values ($1, $2, $3, $4, 'ins', 'ico', 'web', $5, 'd', '{}', 'b', 'b', '{}', 'r', 'c', false, '{}', $6)`, w.org, "pln-"+id, "stp-"+id, id, plan, at)
	w.exec("insert into approvals (org_id, id, plan_id, step_id, workflow_id, install_id, content_digest, status) "+
		"values ($1, $2, $3, 's', $4, 'ins', 'c', 'approved')",
		w.org, "apr-"+id, "pln-"+id, id)
	w.exec("insert into approval_responses (org_id, id, approval_id, content_digest, answer, actor) values ($1, $2, $3, "+
		"'c', 'approve', 'vera')", w.org, "rsp-"+id, "apr-"+id)
	w.job("job-"+id, "step", "stp-"+id, days)
	w.exec("update jobs set kind = 'apply', plan_id = $2 where id = $3 and org_id = $1", w.org, "pln-"+id, "job-"+id)
}

// job creates an ended job with an attempt and a log.
func (w *world) job(id, owner, ownerID string, days int) {
	w.Helper()
	at := time.Now().AddDate(0, 0, -days)
	w.exec(`insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, spec, reason, created_at, ended_at)
		values ($1, $2, 'run', 'plan', 'succeeded', $3, $4, '{}', 'r', $5, $5)`, w.org, id, owner, ownerID, at)
	w.exec("insert into attempts (org_id, job_id, number, runner_id, status, lease_until, ended_at) values ($1, $2, 1, "+
		"'run', 'succeeded', $3, $3)", w.org, id, at)
	w.exec("insert into log_chunks (org_id, job_id, attempt, seq, lines, at) values ($1, $2, 1, 1, '', $3), ($1, $2, 1, "+
		"2, '', $3)", w.org, id, at)
}

// left returns one column of all remaining rows of the org, in order.
func (w *world) left(sql string) []string {
	w.Helper()
	rows, err := w.db.Query(w.Context(), sql, w.org)
	if err != nil {
		w.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *world) wantLeft(sql string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, w.left(sql)...)); diff != "" {
		w.Errorf("%s (-want +left):\n%s", sql, diff)
	}
}

// TestWhatGoesAndWhatStays has old and new rows of each kind, and old rows that something still
// needs.
func TestWhatGoesAndWhatStays(t *testing.T) {
	w := newWorld(t)
	w.workflow("gone", 1, 400, "applied")
	w.workflow("refused", 2, 400, "rejected")
	w.workflow("waits", 3, 400, "approved")
	w.workflow("works", 4, 400, "superseded")
	w.workflow("applied", 5, 399, "applied") // the last applied one
	w.workflow("young", 6, 40, "superseded")
	w.workflow("newest", 7, 400, "superseded")
	w.exec("insert into rejections (org_id, install_component_id, desired_digest, kind, actor, reason, workflow_id) "+
		"values ($1, 'ico', 'd', 'rejected', 'v', 'no', 'refused')", w.org)
	w.exec("update jobs set status = 'running', ended_at = null where id = 'job-works'")
	w.job("job-lone", "step", "stp-long-gone", 400)
	w.job("job-holds", "step", "stp-long-gone", 400)
	w.exec("insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) values ($1, 'ico', "+
		"'l', '{}', 'job-holds', 1)", w.org)
	w.job("job-contests", "step", "stp-long-gone", 400)
	w.job("job-debug", "inspection", "ins", 400)
	w.exec("update jobs set kind = 'debug_command' where id = 'job-debug'")
	w.job("job-built", "build", "bld", 400)
	w.job("job-yesterday", "step", "stp-long-gone", 1)
	w.exec("insert into component_inputs (org_id, id, component_id, digest, recipe, revision_id, reason) values ($1, "+
		"'inp', 'cmp', 'd', '{}', 'rev-2', 'r')", w.org)
	w.exec(`insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, reason, job_id)
		values ($1, 'bld', 'cmp', 'inp', 1, 'succeeded', 'u', 'c', 'r', 'job-built')`, w.org)
	for n := range 6 {
		w.exec("insert into revisions (org_id, id, watch_id, number, commit, tree, reason, observed_at) values ($1, $2, "+
			"'wat', $3, 'c', 't', 'r', now() - interval '400 days')",
			w.org, fmt.Sprint("rev-", n), n)
	}
	w.exec("update watches set revision_id = 'rev-4'")
	w.exec("update apps set revision_id = 'rev-1'")
	w.exec("insert into app_versions (org_id, id, app_id, number, digest, config, revision_id, reason) values ($1, "+
		"'ver', 'app', 1, 'd', '{}', 'rev-3', 'r')", w.org)
	for n := 1; n <= 60; n++ {
		status := map[int]string{3: "contested", 4: "dismissed"}[n]
		if status == "" {
			status = "kept"
		}
		w.exec(`insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt, status, created_at)
			values ($1, 'ico', $2::int, $2::int, 'l', 'd', '{}', $4, 1, $3, now() - interval '400 days')`, w.org, n, status, map[bool]string{true: "job-contests"}[n == 3])
	}
	w.exec("insert into registrations (org_id, id, runner_id, hash, expires_at, used_at) values ($1, 'used', 'run', "+
		"'a', now() + interval '1 day', now() - interval '31 days'), "+
		"($1, 'out', 'run', 'b', now() - interval '31 days', null), ($1, 'good', 'run', 'c', now() + interval '1 "+
		"hour', null)", w.org)
	w.exec("insert into idempotency_keys (org_id, key, request, response, created_at) values ($1, 'old', '', '{}', "+
		"now() - interval '8 days'), ($1, 'new', '', '{}', now())", w.org)
	w.exec("insert into webhooks (org_id, id, sealed) values ($1, 'hook', '{}')", w.org)
	w.exec("insert into webhook_deliveries (org_id, webhook_id, delivery, received_at) values ($1, 'hook', 'old', now() "+
		"- interval '2 days'), ($1, 'hook', 'new', now())", w.org)
	w.exec("insert into runner_logs (org_id, runner_id, seq, lines, many, size, at) select $1, 'run', n, '', 1, 1, "+
		"now() - n * interval '1 day' from generate_series(1, 11) n", w.org)
	first := w.org
	w.org = w.seed("org_2") // separate from the first org
	w.job("job-of-others", "step", "stp-long-gone", 400)
	w.org = first

	r := New(w.store, Options{})
	r.batchSize = 3 // so that there are several batches
	want := []Removed{
		{"log chunks", 20}, {"runner log chunks", 5}, {"workflows", 1}, {"jobs", 3}, {"state versions", 9}, {"revisions", 1},
		{"registrations", 2}, {"idempotency keys", 1}, {"webhook deliveries", 1},
	}
	would, err := r.DryRun(t.Context(), w.org)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, would); diff != "" {
		t.Errorf("a dry run says (-want +got):\n%s", diff)
	}
	if n := len(w.left("select id from workflows where org_id = $1")); n != 7 {
		t.Fatalf("a dry run left %d workflows", n)
	}
	did, err := r.Run(t.Context(), w.org)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("a run says (-want +got):\n%s", diff)
	}
	w.wantLeft("select id from workflows where org_id = $1 order by number", "refused", "waits", "works", "applied",
		"young", "newest")
	w.wantLeft("select id from plans where org_id = $1 order by id", "pln-applied", "pln-newest", "pln-refused",
		"pln-waits", "pln-works", "pln-young")
	w.wantLeft("select id from approval_responses where org_id = $1 and id = 'rsp-gone'")
	w.wantLeft("select id from jobs where org_id = $1 order by id", "job-applied", "job-contests", "job-debug",
		"job-holds",
		"job-newest", "job-refused", "job-waits", "job-works", "job-yesterday", "job-young")
	w.wantLeft("select distinct job_id from log_chunks where org_id = $1 order by job_id", "job-debug",
		"job-works", "job-yesterday")
	w.wantLeft("select max(seq) || ' ' || count(*) from runner_logs where org_id = $1", "6 6")
	w.wantLeft("select coalesce(job_id, 'none') from builds where org_id = $1", "none")
	w.wantLeft("select id from revisions where org_id = $1 order by number", "rev-1", "rev-2", "rev-3", "rev-4",
		"rev-5")
	w.wantLeft("select min(version) filter (where status <> 'contested') || ' ' || max(version) || ' ' || count(*) from "+
		"states where org_id = $1", "11 60 51")
	w.wantLeft("select id from registrations where org_id = $1", "good")
	w.wantLeft("select key from idempotency_keys where org_id = $1", "new")
	w.org = "org_2"
	w.wantLeft("select id from jobs where org_id = $1", "job-of-others")
	w.org = first
	if again, err := r.Run(t.Context(), w.org); err != nil || len(again) > 0 {
		t.Errorf("again it removed %v, %v", again, err)
	}
}

// TestTheNewestKeptStateStays: also if any number of contested or dismissed versions came after
// it; while a restore runs, all versions stay.
func TestTheNewestKeptStateStays(t *testing.T) {
	w := newWorld(t)
	for n := 1; n <= 120; n++ {
		status := "dismissed"
		if n <= 2 {
			status = "kept"
		}
		w.exec(`insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt, status, created_at)
			values ($1, 'ico', $2::int, $2::int, 'l', 'd', '{}', 'j', 1, $3, now() - interval '400 days')`, w.org, n, status)
	}
	w.exec(`insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by) values ($1, 'restore', 'ins', 1, 'restore', 'running', 'r', 'p')`, w.org)
	r := New(w.store, Options{})
	if removed, err := r.Run(t.Context(), w.org); err != nil || len(removed) > 0 {
		t.Errorf("during a restore it removed %v, %v", removed, err)
	}
	w.exec("update workflows set status = 'failed', ended_at = now()")
	if _, err := r.Run(t.Context(), w.org); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select version::text from states where org_id = $1 and status = 'kept'", "2")
}

// TestAContestedVersionGoesOnlyLongAfterItWasResolved: regardless of its age; a version that only
// its runner has is never removed.
func TestAContestedVersionGoesOnlyLongAfterItWasResolved(t *testing.T) {
	w := newWorld(t)
	for n := 1; n <= 60; n++ {
		w.exec(`insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt, status, created_at)
			values ($1, 'ico', $2::int, $2::int, 'l', 'd', '{}', 'j', 1, 'kept', now() - interval '400 days')`, w.org, n)
	}
	w.exec("update states set status = 'contested' where version = 1")
	w.exec("update states set status = 'withheld', sealed = null where version = 2")
	w.exec("update states set status = 'dismissed', resolved_at = now() - interval '364 days' where version = 3")
	w.exec("update states set status = 'dismissed', resolved_at = now() - interval '366 days' where version = 4")
	if _, err := New(w.store, Options{}).Run(t.Context(), w.org); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select string_agg(version::text, ' ' order by version) from states where org_id = $1 and version <= 10",
		"1 2 3")
}

// TestWhatAPinNeedsStays: the release that an install is pinned to stays, with its config, inputs
// and builds, and the revisions of both, regardless of age.
func TestWhatAPinNeedsStays(t *testing.T) {
	w := newWorld(t)
	for n := range 4 {
		w.exec("insert into revisions (org_id, id, watch_id, number, commit, tree, reason, observed_at) values ($1, $2, "+
			"'wat', $3, 'c', 't', 'r', now() - interval '900 days')",
			w.org, fmt.Sprint("rev-", n), n)
	}
	w.exec("update watches set revision_id = 'rev-3'")
	for n, made := range []string{"rev-0", "rev-2"} {
		w.exec("insert into app_versions (org_id, id, app_id, number, digest, config, revision_id, reason, created_at) "+
			"values ($1, $2, 'app', $3::int, $2, '{}', $4, 'r', now() - interval '900 days')",
			w.org, fmt.Sprint("ver-", n), n+1, made)
	}
	w.exec("update apps set version_id = 'ver-1'")
	w.exec("insert into component_inputs (org_id, id, component_id, digest, recipe, revision_id, reason, created_at) "+
		"values ($1, 'inp', 'cmp', 'd', '{}', 'rev-1', 'r', now() - interval '900 days')", w.org)
	w.job("job-built", "build", "bld", 900)
	w.exec(`insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, artifact_digest, reason, job_id, created_at, ended_at)
		values ($1, 'bld', 'cmp', 'inp', 1, 'succeeded', 'u', 'c', 'sha256:a', 'r', 'job-built', now() - interval '900 days', now() - interval '900 days')`, w.org)
	w.exec("insert into releases (org_id, id, app_id, number, digest, version_id, status, cause, created_at) values "+
		"($1, 'rel', 'app', 1, 'd', 'ver-0', 'complete', 'r', now() - interval '900 days')", w.org)
	w.exec("insert into release_components (org_id, release_id, component_id, input_id) values ($1, 'rel', 'cmp', 'inp')",
		w.org)
	w.exec("update installs set pin_release_id = 'rel'")
	if _, err := New(w.store, Options{}).Run(t.Context(), w.org); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select id from app_versions where org_id = $1 order by number", "ver-0", "ver-1")
	w.wantLeft("select input_id from release_components where org_id = $1", "inp")
	w.wantLeft("select artifact_digest from builds where org_id = $1", "sha256:a")
	w.wantLeft("select id from revisions where org_id = $1 order by number", "rev-0", "rev-1", "rev-2", "rev-3")
	w.wantLeft("select id from jobs where org_id = $1")
}

// TestReconcile: Reconcile schedules the next run and writes an audit event; a run out of time
// continues soon.
func TestReconcile(t *testing.T) {
	w := newWorld(t)
	w.job("job-lone", "step", "stp-long-gone", 400)
	r := New(w.store, Options{})
	if err := w.store.ScheduleRetention(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.maxRunTime = -time.Second // the time is already over
	if err := r.Reconcile(t.Context(), w.org); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select (at < now() + interval '2 minutes')::text from due where kind = 'org' and org_id = $1", "true")
	r.maxRunTime = time.Minute
	if err := r.Reconcile(t.Context(), w.org); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select (at > now() + interval '23 hours')::text from due where kind = 'org' and org_id = $1", "true")
	w.wantLeft("select actor || ' ' || action || ' ' || (detail ->> 'jobs') || ' ' || (detail ->> 'log chunks') from "+
		"audit_events where org_id = $1", "retention org.retain 1 2")
	// Scheduling again does not change the time.
	if err := w.store.ScheduleRetention(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantLeft("select (at > now() + interval '23 hours')::text from due where kind = 'org' and org_id = $1", "true")
}

// TestRetentionFollowsTheDatabasesClock: a replica whose clock is years behind removes the same
// rows.
func TestRetentionFollowsTheDatabasesClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.job("old", "build", "bld", 400)
	w.job("new", "build", "bld", 1)
	dsn, org := w.db.Config().ConnString(), w.org
	synctest.Test(t, func(t *testing.T) { // the bubble starts in the year 2000
		s, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := New(s, Options{}).Run(t.Context(), org); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff([]string{"new"}, w.left("select id from jobs where org_id = $1 order by id")); diff != "" {
		t.Error(diff)
	}
}
