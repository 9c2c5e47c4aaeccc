package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestReindexQueue: a store rebuilds the indexes of the work queue, which its role for everything else may not do. It
// removes what an interrupted rebuild left, and leaves out indexes that the user of the database does not own.
func TestReindexQueue(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	const index = "river_job_unique_idx"
	file := func() (n uint32) {
		t.Helper()
		row := db.QueryRow(t.Context(), "select relfilenode from pg_class where relname = $1", index)
		if err := row.Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := file()
	if rebuilt, err := s.ReindexQueue(t.Context(), 64<<20); err != nil || len(rebuilt) > 0 || file() != before {
		t.Errorf("small indexes: rebuilt %q, %v", rebuilt, err)
	}
	for _, statement := range []string{
		"create index river_job_kind_ccnew on river.river_job (kind)",
		"update pg_index set indisvalid = false where indexrelid = 'river.river_job_kind_ccnew'::regclass",
	} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt, err := s.ReindexQueue(t.Context(), 0)
	if err != nil || !slices.Contains(rebuilt, index) || file() == before {
		t.Errorf("rebuilt %q, %v", rebuilt, err)
	}
	var left int
	err = db.QueryRow(t.Context(), "select count(*) from pg_class where relname like '%\\_ccnew%'").Scan(&left)
	if err != nil || left > 0 {
		t.Errorf("%d indexes of an interrupted rebuild are left, %v", left, err)
	}

	other, err := store.Open(t.Context(), asOther(t, db))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if rebuilt, err := other.ReindexQueue(t.Context(), 0); err != nil || len(rebuilt) > 0 {
		t.Errorf("another user: rebuilt %q, %v", rebuilt, err)
	}
	// River, which has that role, could not do it.
	if _, err := db.Exec(t.Context(), "set role nuon_app"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), "reindex index concurrently river."+index); err == nil {
		t.Error("the role nuon_app may rebuild indexes")
	}
	if _, err := db.Exec(t.Context(), "reset role"); err != nil {
		t.Fatal(err)
	}
}

// asOther returns the address of db for another user, who may take the role nuon_app and owns nothing.
func asOther(t *testing.T, db *pgx.Conn) string {
	t.Helper()
	const name = "nuon_reindex_test"
	drop := func() {
		if _, err := db.Exec(context.WithoutCancel(t.Context()), "drop role if exists "+name); err != nil {
			t.Error(err)
		}
	}
	drop() // that of a test that was killed
	if _, err := db.Exec(t.Context(), "create role "+name+" login password 'test' in role nuon_app"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(drop)
	of := db.Config()
	return fmt.Sprintf("host=%s port=%d user=%s password=test dbname=%s sslmode=disable", of.Host, of.Port, name,
		of.Database)
}
