package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SeedOptions configures Seed.
type SeedOptions struct {
	// Org is the name of the org, and Install the name or id of one of its installs that was really
	// deployed.
	Org, Install string
	// Installs is the number of copies, each with a separate runner. History is the number of
	// copies that also have its workflows with their steps, plans, approvals and jobs.
	Installs, History int
}

// copied is a table of which rows are copied, with the condition for the install's rows ($1 is its
// id).
type copied struct {
	table, own string
	history    bool
}

// seeded lists the tables in the order of their references.
var seeded = []copied{
	{table: "runners", own: "s.id = (select runner_id from installs where id = $1)"},
	{table: "installs", own: "s.id = $1"},
	{table: "install_inputs", own: "s.install_id = $1"},
	{table: "install_components", own: "s.install_id = $1"},
	{table: "outputs", own: "s.install_id = $1"},
	{table: "states", own: "s.install_component_id in (select id from install_components where install_id = $1)"},
	{table: "workflows", own: "s.install_id = $1", history: true},
	{table: "steps", own: "s.workflow_id in (select id from workflows where install_id = $1)", history: true},
	{table: "plans", own: "s.install_id = $1", history: true},
	{table: "approvals", own: "s.install_id = $1", history: true},
	{table: "approval_responses", own: "s.approval_id in (select id from approvals where install_id = $1)", history: true},
	{table: "script_answers", own: "s.install_id = $1", history: true},
	{table: "jobs", own: "s.install_id = $1", history: true},
	{table: "attempts", own: "s.job_id in (select id from jobs where install_id = $1)", history: true},
}

// ownIDs lists the columns that refer to a row which is copied, too.
var ownIDs = []string{
	"id", "install_id", "runner_id", "install_component_id", "workflow_id", "step_id", "plan_id", "approval_id",
	"job_id", "owner_id",
}

// Seed makes a control plane large: it copies one install that was really deployed many times, in
// SQL and in one transaction. The copies have the same app and the same artifacts and are as
// current as the install; their ids end in six digits. It returns the number of new rows by table.
// dsn is that of the database's owner.
func Seed(ctx context.Context, dsn string, o SeedOptions) (rows map[string]int64, err error) {
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	defer db.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is in flight on it
	rows = map[string]int64{}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var install string
		const find = `select set_config('nuon.org', o.id, true) from orgs o where o.name = $1`
		if err := tx.QueryRow(ctx, find, o.Org).Scan(new(string)); err != nil {
			return fmt.Errorf("find org %s: %w", o.Org, err)
		}
		if err := tx.QueryRow(ctx, "select id from installs where id = $1 or name = $1", o.Install).Scan(
			&install); err != nil {
			return fmt.Errorf("find install %s: %w", o.Install, err)
		}
		if err := trustCopies(ctx, tx); err != nil {
			return err
		}
		for _, c := range seeded {
			many := o.Installs
			if c.history {
				many = o.History
			}
			if rows[c.table], err = c.copy(ctx, tx, install, many); err != nil {
				return fmt.Errorf("copy %s: %w", c.table, err)
			}
		}
		_, err := tx.Exec(ctx, `insert into due (org_id, kind, id, at) select org_id, 'install', id, now() + random() * interval '1 hour' from installs
			on conflict do nothing`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	if _, err := db.Exec(ctx, "analyze"); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	return rows, nil
}

// trustCopies disables the checks of foreign keys, if the database's owner may: copies refer to
// copies.
func trustCopies(ctx context.Context, tx pgx.Tx) error {
	var super bool
	if err := tx.QueryRow(ctx, "select rolsuper from pg_roles where rolname = current_user").Scan(&super); err != nil ||
		!super {
		return err
	}
	_, err := tx.Exec(ctx, "set local session_replication_role = replica")
	return err
}

// copy copies the install's rows in one table.
func (c copied) copy(ctx context.Context, tx pgx.Tx, install string, many int) (int64, error) {
	found, err := tx.Query(ctx, `select column_name::text from information_schema.columns
		where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' and is_identity = 'NO' order by ordinal_position`, c.table)
	if err != nil {
		return 0, err
	}
	columns, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = c.value(column)
	}
	done, err := tx.Exec(ctx, fmt.Sprintf(
		"insert into %s (%s) select %s from %[1]s s cross join generate_series(1, $2::int) g (n) where %[4]s order by g.n",
		c.table, strings.Join(columns, ", "), strings.Join(values, ", "), c.own), install, many)
	return done.RowsAffected(), err
}

// value returns the value of a copy in a column.
func (c copied) value(column string) string {
	named := c.table == "installs" || c.table == "runners"
	switch {
	case slices.Contains(ownIDs, column):
		return copyOf("s." + column)
	case named && column == "name":
		return "s.name || '-' || g.n"
	case c.table == "runners" && column == "last_seen": // as if each were online
		return "now() + interval '1 day'"
	case c.table == "steps" && column == "needs":
		return "coalesce((select jsonb_agg(" + copyOf("x") + ") from jsonb_array_elements_text(s.needs) x), '[]')"
	}
	return "s." + column
}

// copyOf returns the id of the copy of an object.
func copyOf(id string) string {
	return fmt.Sprintf("case when %[1]s = '' then '' else overlay(%[1]s placing to_char(g.n, 'FM000000') from "+
		"length(%[1]s) - 5) end", id)
}
