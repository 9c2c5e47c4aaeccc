// Package observetest sets up a control plane with an observer and one watched repository, for tests.
package observetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// Fixture is a control plane with an observer, an app and a watch. Its methods fail the test on an error.
type Fixture struct {
	T        testing.TB
	Store    *store.Store
	Org      string
	Identity seal.Identity
	// Options are those of Observer.
	Options  observe.Options
	Observer *observe.Observer
	// Watch is the id of the watch that Connect created last.
	Watch string

	dsn    string
	polled time.Time // when the last Poll began, by the database's clock
}

// New returns a control plane with an observer of its own mirrors and an empty org.
func New(t testing.TB, options observe.Options) *Fixture {
	t.Helper()
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	if err != nil {
		t.Fatal(err)
	}
	identity, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	options.MirrorDir = filepath.Join(t.TempDir(), "mirrors")
	return &Fixture{T: t, Store: s, Org: org.ID, Identity: identity, Options: options,
		Observer: observe.New(s, identity, options), dsn: dsn}
}

// FileOptions returns options that allow a repository to be read from its directory.
func FileOptions(repo *gittest.Repo) observe.Options {
	return observe.Options{AllowFileRemotes: []string{filepath.Dir(repo.Dir)}}
}

// Connect creates an app that follows a ref.
func (f *Fixture) Connect(url, ref, credential string) {
	f.T.Helper()
	f.InTx(func(ctx context.Context, tx *store.Tx) error {
		watch, err := f.Observer.EnsureWatch(ctx, tx, url, ref, credential)
		if err != nil {
			return err
		}
		f.Watch = watch.ID
		app := id.New("app")
		_, err = tx.AddApp(ctx, store.AddAppParams{OrgID: f.Org, ID: app, Name: "hello-" + app[len(app)-6:],
			WatchID: &watch.ID, Directory: "."})
		return err
	})
}

// InTx runs work in a transaction of the org.
func (f *Fixture) InTx(work func(context.Context, *store.Tx) error) {
	f.T.Helper()
	if err := f.Store.InTx(f.T.Context(), f.Org, work); err != nil {
		f.T.Fatal(err)
	}
}

// Poll polls, and returns the watch and its revision (nil if there is none).
func (f *Fixture) Poll() (store.Watch, *store.Revision) {
	f.T.Helper()
	f.SQL(func(c *pgx.Conn) error {
		return c.QueryRow(f.T.Context(), "select clock_timestamp()").Scan(&f.polled)
	})
	if err := f.Observer.Poll(f.T.Context(), f.Org, f.Watch); err != nil {
		f.T.Fatal(err)
	}
	return f.Current()
}

// Current returns the stored watch and its revision (nil if there is none).
func (f *Fixture) Current() (watch store.Watch, revision *store.Revision) {
	f.T.Helper()
	f.InTx(func(ctx context.Context, tx *store.Tx) (err error) {
		if watch, err = tx.WatchByID(ctx, f.Org, f.Watch); err != nil || watch.RevisionID == nil {
			return err
		}
		row, err := tx.WatchRevision(ctx, f.Org, *watch.RevisionID)
		revision = &row
		return err
	})
	return watch, revision
}

// MustPoll polls, and returns the revision. It fails the test if the poll fails.
func (f *Fixture) MustPoll() store.Revision {
	f.T.Helper()
	watch, revision := f.Poll()
	if watch.Error != "" || revision == nil {
		f.T.Fatalf("the poll gave no revision: %q", watch.Error)
	}
	return *revision
}

// PollFails polls, and fails the test unless the watch then has an error that contains all words.
func (f *Fixture) PollFails(words ...string) {
	f.T.Helper()
	watch, _ := f.Poll()
	for _, word := range words {
		if !strings.Contains(watch.Error, word) {
			f.T.Fatalf("the watch's error is %q, want it to contain %q", watch.Error, word)
		}
	}
}

// UntilDue returns the time until the next poll of the watch, by the database's clock. It fails the
// test if the watch is not due.
func (f *Fixture) UntilDue() time.Duration {
	f.T.Helper()
	var seconds float64
	f.SQL(func(c *pgx.Conn) error {
		return c.QueryRow(f.T.Context(), "select extract(epoch from at - now())::float8 from due where id = $1",
			f.Watch).Scan(&seconds)
	})
	return time.Duration(seconds * float64(time.Second))
}

// CheckPause fails the test unless the last Poll made the next poll due after a time from least to most. The time that
// has passed since the start of Poll does not count.
func (f *Fixture) CheckPause(what string, least, most time.Duration) {
	f.T.Helper()
	var at, now time.Time
	f.SQL(func(c *pgx.Conn) error {
		return c.QueryRow(f.T.Context(), "select at, clock_timestamp() from due where id = $1", f.Watch).Scan(&at, &now)
	})
	if longest, shortest := at.Sub(f.polled), at.Sub(now); longest < least || shortest > most {
		f.T.Fatalf("%s: the next poll is %s to %s after the last one, want %s to %s", what, shortest, longest, least, most)
	}
}

// Elapse moves the last poll and the last delivery back, as if that much time had passed.
func (f *Fixture) Elapse(d time.Duration) {
	f.T.Helper()
	f.SQL(func(c *pgx.Conn) error {
		_, err := c.Exec(f.T.Context(), `update watches set checked_at = checked_at - $1 * interval '1 second',
			delivered_at = delivered_at - $1 * interval '1 second'`, d.Seconds())
		return err
	})
}

// SQL runs work on a connection of the database's owner.
func (f *Fixture) SQL(work func(*pgx.Conn) error) {
	f.T.Helper()
	c, err := pgx.Connect(f.T.Context(), f.dsn)
	if err != nil {
		f.T.Fatal(err)
	}
	defer c.Close(f.T.Context()) //nolint:errcheck // nothing is in flight on it
	if err := work(c); err != nil {
		f.T.Fatal(err)
	}
}
