// Package storetest gives each test a private, migrated database: a clone of one template on one
// Postgres per test run (NUON_TEST_DATABASE_URL; without it a private cluster is started for the
// test process).
package storetest

import (
	"context"
	"fmt"
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

// New returns a store on an empty, migrated database with one org. The database is dropped when
// the test ends.
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

// DSN returns the address of a new, empty, migrated database, as its owner.
func DSN(t testing.TB) string {
	t.Helper()
	return clone(t, template)
}

// Frozen is a database that does not change for the lifetime of the process, for tests that all
// start with the same rows.
type Frozen struct{ name string }

// Freeze copies a test's database, which must have no open connections.
func Freeze(t testing.TB, dsn string) Frozen {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	server, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	frozen := Frozen{name: strings.ReplaceAll(id.New("frozen"), "-", "_")}
	if err := exec(t.Context(), server, fmt.Sprintf("create database %s template %s", frozen.name, config.Database)); err != nil {
		t.Fatal(err)
	}
	return frozen
}

// DSN returns the address of a new copy of the frozen database, as its owner.
func (f Frozen) DSN(t testing.TB) string {
	t.Helper()
	return clone(t, f.name)
}

// clone returns the address of a new copy of a database, which is dropped when the test ends.
func clone(t testing.TB, like string) string {
	t.Helper()
	server, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(id.New("test"), "-", "_")
	ctx := context.WithoutCancel(t.Context())
	if err := exec(ctx, server, fmt.Sprintf("create database %s template %s", name, like)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec(ctx, server, fmt.Sprintf("drop database if exists %s with (force)", name)); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(server, name)
}

// template is the database that is cloned for tests. Its name contains the process id because
// packages are tested in parallel.
var template = fmt.Sprintf("template_%d", os.Getpid())

// cluster starts or finds the server and creates the template, once per process.
var cluster = sync.OnceValues(func() (string, error) {
	server := os.Getenv("NUON_TEST_DATABASE_URL")
	ctx := context.Background()
	if server == "" {
		dir, err := os.MkdirTemp("", "nuon-pg-")
		if err != nil {
			return "", err
		}
		// The cluster stops with the process that started it; its directory is in the system's
		// temporary directory.
		c, err := pgcluster.Start(ctx, pgcluster.Options{Dir: dir, Settings: map[string]string{"fsync": "off"}})
		if err != nil {
			return "", err
		}
		server = c.DSN("postgres")
	}
	if err := exec(ctx, server, "create database "+template); err != nil {
		return "", err
	}
	return server, store.Migrate(ctx, withDatabase(server, template))
})

func exec(ctx context.Context, dsn, sql string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx) //nolint:errcheck // nothing is in flight on it
	if _, err := c.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// withDatabase replaces the database in a DSN of either form.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name
}
