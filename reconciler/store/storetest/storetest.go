// Package storetest gives each test a private, migrated database on one Postgres per test run
// (NUON_TEST_DATABASE_URL; without it a private cluster is started for the test process).
//
// The next test uses the database that a test has left, in the same process or another one:
// emptying it takes a third of the processor time of making one, which is a copy of a thousand
// files. A database that differs from a new one afterwards, or that something is still connected
// to, is dropped instead. A run makes about as many databases as it runs tests at a time.
package storetest

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// New returns a store on an empty, migrated database with one org.
func New(t testing.TB) (*store.Store, store.Org) {
	t.Helper()
	s, err := store.Open(t.Context(), DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme-"+strings.TrimPrefix(id.New("x"), "x_"))
	if err != nil {
		t.Fatal(err)
	}
	return s, org
}

// DSN returns the address of an empty, migrated database, as its owner.
func DSN(t testing.TB) string {
	t.Helper()
	return takeDatabase(t).dsn
}

// Snapshot holds the rows of a database, for tests that all start with the same rows.
type Snapshot struct{ rows snapshot }

// TakeSnapshot reads all rows of a test's database.
func TakeSnapshot(t testing.TB, dsn string) Snapshot {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing is in flight on it
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.snapshot(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return Snapshot{rows}
}

// DSN returns the address of a database with the frozen rows, as its owner.
func (f Snapshot) DSN(t testing.TB) string {
	t.Helper()
	d := takeDatabase(t)
	if err := f.rows.restore(t.Context(), d.admin); err != nil {
		t.Fatal(err)
	}
	return d.dsn
}

// takeDatabase returns an empty database. It goes back when the test ends.
func takeDatabase(t testing.TB) *database {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.take(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.give(d) })
	return d
}

// newServer starts or finds the server and makes the template, once a process.
var newServer = sync.OnceValues(func() (*server, error) {
	dsn := os.Getenv("NUON_TEST_DATABASE_URL")
	ctx := context.Background()
	if dsn == "" {
		dir, err := os.MkdirTemp("", "nuon-pg-")
		if err != nil {
			return nil, err
		}
		// The cluster ends with the process that started it; its directory is the system's temporary one.
		c, err := pgcluster.Start(ctx, pgcluster.Options{Dir: dir, Settings: map[string]string{"fsync": "off"}})
		if err != nil {
			return nil, err
		}
		dsn = c.DSN("postgres")
	}
	return connect(ctx, dsn)
})

// withDatabase names another database in a DSN of either form.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name
}
