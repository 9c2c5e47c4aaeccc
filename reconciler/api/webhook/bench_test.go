package webhook_test

import (
	"context"
	"path/filepath"
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

// bench is a control plane with an observer, an app and a watch.
type bench struct {
	t        testing.TB
	store    *store.Store
	org      string
	identity seal.Identity
	options  observe.Options
	observer *observe.Observer
	watch    string
	dsn      string
}

func newBench(t testing.TB, options observe.Options) *bench {
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
	return &bench{t: t, store: s, org: org.ID, identity: identity, options: options,
		observer: observe.New(s, identity, options), dsn: dsn}
}

// connect creates an app that follows a ref.
func (b *bench) connect(url, ref, credential string) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) error {
		watch, err := b.observer.EnsureWatch(ctx, tx, url, ref, credential)
		if err != nil {
			return err
		}
		b.watch = watch.ID
		app := id.New("app")
		_, err = tx.AddApp(ctx, store.AddAppParams{OrgID: b.org, ID: app, Name: "hello-" + app[len(app)-6:],
			WatchID: &watch.ID, Directory: "."})
		return err
	})
}

func (b *bench) in(work func(context.Context, *store.Tx) error) {
	b.t.Helper()
	if err := b.store.InTx(b.t.Context(), b.org, work); err != nil {
		b.t.Fatal(err)
	}
}

// poll polls, and returns the watch and its revision (nil if there is none).
func (b *bench) poll() (store.Watch, *store.Revision) {
	b.t.Helper()
	if err := b.observer.Poll(b.t.Context(), b.org, b.watch); err != nil {
		b.t.Fatal(err)
	}
	return b.now()
}

func (b *bench) now() (watch store.Watch, revision *store.Revision) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		if watch, err = tx.WatchByID(ctx, b.org, b.watch); err != nil || watch.RevisionID == nil {
			return err
		}
		row, err := tx.WatchRevision(ctx, b.org, *watch.RevisionID)
		revision = &row
		return err
	})
	return watch, revision
}

func (b *bench) mustPoll() store.Revision {
	b.t.Helper()
	watch, revision := b.poll()
	if watch.Error != "" || revision == nil {
		b.t.Fatalf("the look gave no revision: %q", watch.Error)
	}
	return *revision
}

func fileOptions(repo *gittest.Repo) observe.Options {
	return observe.Options{AllowFileRemotes: []string{filepath.Dir(repo.Dir)}}
}

// due returns the time until the next poll of the watch, by the database's clock.
func (b *bench) due() time.Duration {
	b.t.Helper()
	var seconds float64
	b.sql(func(c *pgx.Conn) error {
		return c.QueryRow(b.t.Context(), "select extract(epoch from at - now())::float8 from due where id = $1",
			b.watch).Scan(&seconds)
	})
	return time.Duration(seconds * float64(time.Second))
}

// passed moves the last poll and the last delivery back, as if that much time had passed.
func (b *bench) passed(d time.Duration) {
	b.t.Helper()
	b.sql(func(c *pgx.Conn) error {
		_, err := c.Exec(b.t.Context(), `update watches set checked_at = checked_at - $1 * interval '1 second',
			delivered_at = delivered_at - $1 * interval '1 second'`, d.Seconds())
		return err
	})
}

// sql runs do as the database's owner.
func (b *bench) sql(do func(*pgx.Conn) error) {
	b.t.Helper()
	c, err := pgx.Connect(b.t.Context(), b.dsn)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close(b.t.Context()) //nolint:errcheck // nothing is in flight on it
	if err := do(c); err != nil {
		b.t.Fatal(err)
	}
}
