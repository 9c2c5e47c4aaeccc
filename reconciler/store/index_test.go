package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestLargeTablesAreReadByIndex: these queries use an index in an org with a long history. Each
// of them once read its whole table.
func TestLargeTablesAreReadByIndex(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	for _, sql := range []string{
		`insert into orgs (id, name) values ('o', 'acme')`,
		`insert into apps (org_id, id, name) values ('o', 'app', 'hello')`,
		`insert into components (org_id, id, app_id, name, kind) values ('o', 'cmp', 'app', 'web', 'terraform_module')`,
		`insert into runners (org_id, id, name, kind) values ('o', 'run', 'acme', 'install')`,
		`insert into installs (org_id, id, app_id, name, runner_id) select 'o', 'ins' || g, 'app', 'i' || g, 'run' from generate_series(1, 1000) g`,
		`insert into install_components (org_id, id, install_id, component_id, name) select org_id, 'ico' || id, id, 'cmp', 'web' from installs`,
		`insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by, created_at, ended_at)
			select 'o', 'wfl' || i.id || n, i.id, n, case when n = 1 and i.id < 'ins2' then 'restore' else 'deploy' end, 'succeeded', 'r', 'nuon', at, at
			from installs i cross join generate_series(1, 10) n cross join lateral (select now() - n * interval '10 days') a (at)`,
		`insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, install_id, spec, reason, created_at, ended_at)
			select 'o', 'job' || i.id || n, 'run', 'health', 'succeeded', 'health', i.id, i.id, '{}', 'r', at, at
			from installs i cross join generate_series(1, 10) n cross join lateral (select now() - n * interval '10 days') a (at)`,
		`insert into rejections (org_id, install_component_id, desired_digest, kind, actor, reason, workflow_id)
			select 'o', c.id, 'd' || n, 'rejected', 'alice', 'r', 'wfl' || c.install_id || n from install_components c cross join generate_series(1, 5) n`,
		`insert into runner_logs (org_id, runner_id, seq, lines, many, size, at) select 'o', 'run', g, '', 1, 1, now() - g * interval '1 minute' from generate_series(1, 10000) g`,
		`analyze`,
	} {
		exec(t, dsn, sql)
	}
	db, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	defer db.Close(t.Context()) //nolint:errcheck // the test is over
	old := (95 * 24 * time.Hour).Seconds()
	for _, c := range []struct {
		statement, index string
		args             []any
	}{
		{"DeleteEndedJobsOfOwner", "jobs_of_owner", []any{"o", "health", "ins7", "job_kept"}},
		{"DeleteRejectionsOfWorkflow", "rejections_of_workflow", []any{"o", "wflins71", []string{"web"}}},
		{"RetainJobs", "jobs_ended", []any{"o", old, 500}},
		{"RetainWorkflows", "workflows_ended", []any{"o", old, 500}},
		{"RetainRunnerLogs", "runner_logs_age", []any{"o", (9900 * time.Minute).Seconds(), 500}},
		{"ViewWorkflows", "workflows_by_kind", []any{"o", "", "", "restore", "zz", 100}},
		{"ChangedInstalls", "installs_changed", []any{"o", "app", int64(1) << 40}},
		{"ChangedInstalls", "workflows_changed", []any{"o", "app", int64(1) << 40}},
		{"StoredComponentsOfInstalls", "install_components_org_id_install_id_component_id_key",
			[]any{"o", []string{"ins1", "ins2"}}},
	} {
		rows, err := db.Query(t.Context(), "explain "+store.Statements[c.statement], c.args...)
		must(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		if text := strings.Join(plan, "\n"); !strings.Contains(text, c.index) {
			t.Errorf("%s does not use the index %s:\n%s", c.statement, c.index, text)
		}
	}
}
