package fleet_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestSeedCopiesAnInstallWithAllThatIsItsOwn checks that every row of a copy refers to rows of the
// same copy.
func TestSeedCopiesAnInstallWithAllThatIsItsOwn(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		`insert into orgs (id, name) values ('org_1', 'acme')`,
		`select set_config('nuon.org', 'org_1', false)`,
		`insert into apps (org_id, id, name) values ('org_1', 'app_1', 'hello')`,
		`insert into components (org_id, id, app_id, name, kind) values ('org_1', 'cmp_1', 'app_1', 'web', 'terraform_module')`,
		`insert into runners (org_id, id, name, kind) values ('org_1', 'run_abcdef', 'acme', 'install')`,
		`insert into installs (org_id, id, app_id, name, runner_id) values ('org_1', 'ins_abcdef', 'app_1', 'acme', 'run_abcdef')`,
		`insert into install_components (org_id, id, install_id, component_id, name) values ('org_1', 'ico_abcdef', 'ins_abcdef', 'cmp_1', 'web')`,
		`insert into outputs (org_id, install_id, scope, owner, name, value, hash) values ('org_1', 'ins_abcdef', 'component', 'web', 'url', '"u"', 'h')`,
		`insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by) values ('org_1', 'wfl_abcdef', 'ins_abcdef', 1, 'deploy', 'succeeded', 'r', 'nuon')`,
		`insert into steps (org_id, id, workflow_id, position, kind, component, install_component_id, status, job_id, needs)
			select 'org_1', 'stp_' || p || '_abcdef', 'wfl_abcdef', p, k, 'web', 'ico_abcdef', 'succeeded', case p when 0 then 'job_abcdef' end,
				case p when 0 then '[]' else '["stp_0_abcdef"]' end::jsonb
			from (values (0, 'plan'), (1, 'apply')) as k (p, k)`,
		`insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, install_id, spec, reason) values
			('org_1', 'job_abcdef', 'run_abcdef', 'plan', 'succeeded', 'step', 'stp_0_abcdef', 'ins_abcdef', '{}', 'r')`,
		`insert into attempts (org_id, job_id, number, runner_id, status, lease_until) values ('org_1', 'job_abcdef', 1, 'run_abcdef', 'succeeded', now())`,
	} {
		exec(sql)
	}
	rows, err := fleet.Seed(t.Context(), dsn, fleet.SeedOptions{Org: "acme", Install: "acme", Installs: 3, History: 2})
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int64{"runners": 3, "installs": 3, "install_components": 3, "outputs": 3,
		"workflows": 2, "steps": 4, "jobs": 2, "attempts": 2} {
		if rows[table] != want {
			t.Errorf("%s got %d rows, want %d", table, rows[table], want)
		}
	}
	for what, sql := range map[string]string{
		"installs without a runner of their own": `select count(*) from installs i left join runners r on r.id = i.runner_id and r.name = i.name where r.id is null`,
		"components without an install":          `select count(*) from install_components c left join installs i on i.id = c.install_id where i.id is null`,
		"steps without a workflow":               `select count(*) from steps s left join workflows w on w.id = s.workflow_id where w.id is null`,
		"steps without a component":              `select count(*) from steps s left join install_components c on c.id = s.install_component_id where c.id is null`,
		"jobs without a step":                    `select count(*) from jobs j left join steps s on s.id = j.owner_id and s.job_id = j.id where s.id is null`,
		"attempts without a job":                 `select count(*) from attempts a left join jobs j on j.id = a.job_id and j.runner_id = a.runner_id where j.id is null`,
		"needs of other workflows": `select count(*) from steps s, jsonb_array_elements_text(s.needs) n
			left join steps b on b.id = n where b.workflow_id is distinct from s.workflow_id`,
	} {
		var n int
		if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d %v", what, n, err)
		}
	}
}
