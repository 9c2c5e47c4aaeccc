package storetest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/id"
)

// used takes a database in a test that ends, and does something to it on a connection that it may leave open.
// It returns the name.
func used(t *testing.T, leave bool, statements ...string) (name string) {
	t.Helper()
	t.Run("first", func(t *testing.T) {
		db := open(t, DSN(t))
		name = text(t, db, "select current_database()")
		for _, sql := range statements {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if !leave {
			must(t, db.Close(t.Context()))
		}
	})
	return name
}

// add are statements that fill some tables: with foreign keys, with a trigger against deletion, with a sequence.
var add = []string{
	"insert into orgs (id, name) values ('org_1', 'acme'), ('org_2', 'globex')",
	"select nextval(seqrelid) from pg_sequence",
}

const rows = "select (select count(*) from orgs) || ' ' || (select count(*) from token_keys) || ' ' || (select " +
	"count(*) from schema_version)"

const sequences = "select string_agg(seqrelid::regclass || ' ' || coalesce(pg_sequence_last_value(seqrelid), 0), ',' " +
	"order by seqrelid) from pg_sequence"

func TestADatabaseIsUsedAgain(t *testing.T) {
	fresh := ""
	t.Run("fresh", func(t *testing.T) {
		db := open(t, DSN(t))
		fresh = text(t, db, sequences)
		must(t, db.Close(t.Context()))
	})
	first := used(t, false, add...)
	db := open(t, DSN(t))
	if name := text(t, db, "select current_database()"); name != first {
		t.Errorf("the next test has %s, not %s", name, first)
	}
	if got := text(t, db, rows); got != "0 1 1" {
		t.Errorf("it has %s rows of orgs, token_keys and schema_version", got)
	}
	if got := text(t, db, sequences); got != fresh {
		t.Errorf("its sequences are at %s, not %s", got, fresh)
	}
	must(t, db.Close(t.Context()))
}

func TestAChangedDatabaseIsDropped(t *testing.T) {
	for what, statements := range map[string][]string{
		"a column":    {"alter table orgs add column colour text"},
		"a collation": {`alter table orgs alter column name type text collate "C"`},
		"an index":    {"create index more on orgs (name)"},
		"a right":     {"revoke select on orgs from nuon_app"},
		"a policy":    {"alter table apps disable row level security"},
		"a function":  {"create function one() returns int language sql return 1"},
		"a table":     {"create table other (id int)"},
		"a kept row":  {"update token_keys set key = sha256('x')"},
		"a setting": {"do $$ begin execute format('alter database %I set work_mem = 1024', " +
			"current_database()); end $$"},
		"statistics":       {"insert into orgs (id, name) values ('org_1', 'acme')", "analyze orgs"},
		"a large table":    {"insert into orgs (id, name) select 'org_' || n, 'o' || n from generate_series(1, 60000) n"},
		"an open database": nil,
	} {
		t.Run(what, func(t *testing.T) {
			first := used(t, statements == nil, statements...)
			db := open(t, DSN(t))
			if name := text(t, db, "select current_database()"); name == first {
				t.Errorf("the next test has the same database")
			}
			if n := text(t, db, "select count(*)::text from pg_database where datname = '"+first+"'"); n != "0" {
				t.Errorf("the database is still there")
			}
			if got := text(t, db, rows); got != "0 1 1" {
				t.Errorf("the new one has %s rows of orgs, token_keys and schema_version", got)
			}
			must(t, db.Close(t.Context()))
		})
	}
}

func TestFrozenRows(t *testing.T) {
	dsn := DSN(t)
	db := open(t, dsn)
	for _, sql := range add {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	frozen := TakeSnapshot(t, dsn)
	const all = "select (select string_agg(o::text, ',' order by id) from orgs o) || (select " +
		"string_agg(pg_sequence_last_value(seqrelid)::text, ' ' order by seqrelid) from pg_sequence)"
	want := text(t, db, all)
	must(t, db.Close(t.Context()))
	for range 2 {
		t.Run("thawed", func(t *testing.T) {
			db := open(t, frozen.DSN(t))
			if got := text(t, db, all); got != want {
				t.Errorf("it has %s, not %s", got, want)
			}
			if _, err := db.Exec(t.Context(), "insert into orgs (id, name) values ($1, 'more')", id.New("org")); err != nil {
				t.Error(err)
			}
			must(t, db.Close(t.Context()))
		})
	}
}

func TestDSNsInBothForms(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:p@h:1/postgres?sslmode=disable": "postgres://u:p@h:1/other?sslmode=disable",
		"host=/run user=u dbname=postgres":            "host=/run user=u dbname=postgres dbname=other",
	} {
		if got := withDatabase(dsn, "other"); got != want || !strings.Contains(got, "other") {
			t.Errorf("%s becomes %s", dsn, got)
		}
	}
}

func open(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	return db
}

func text(t *testing.T, db *pgx.Conn, sql string) (value string) {
	t.Helper()
	must(t, db.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestStatementsAreCounted checks that simple queries and executions of prepared statements count, and pings do not.
func TestStatementsAreCounted(t *testing.T) {
	meter := NewStatementCounter(t, DSN(t))
	db := open(t, meter.DSN)
	before := meter.Statements()
	for range 3 {
		must(t, db.Ping(t.Context()))
	}
	if n := meter.Statements() - before; n != 0 {
		t.Errorf("pings counted as %d statements", n)
	}
	if got := text(t, db, "select 'a'::text"); got != "a" {
		t.Errorf("the query returned %q", got)
	}
	_, err := db.Exec(t.Context(), "-- look")
	must(t, err)
	if n := meter.Statements() - before; n != 2 {
		t.Errorf("two statements counted as %d", n)
	}
	must(t, db.Close(t.Context()))
}
