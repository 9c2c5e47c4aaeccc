package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// open are the tables that every org may read: names of orgs, and the minimal list of due items.
var open = []string{"due", "orgs", "replicas", "schema_version", "token_keys", "uptime"}

func TestEveryTableButTheOpenOnesIsSeenByItsOrgAlone(t *testing.T) {
	c, err := pgx.Connect(t.Context(), storetest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context()) //nolint:errcheck // the test is over
	rows, err := c.Query(t.Context(), `
		select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = 'public' and c.relkind = 'r'
		and not (c.relrowsecurity and c.relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(bare, open) {
		t.Fatalf("tables without a policy: %v, want only %v", bare, open)
	}
}

func TestAnOrgSeesNothingOfAnother(t *testing.T) {
	s, one := storetest.New(t)
	two, err := s.AddOrg(t.Context(), id.New("org"), "other")
	if err != nil {
		t.Fatal(err)
	}
	token := store.CreateTokenParams{OrgID: one.ID, ID: id.New("tok"), Name: "ci", Role: "viewer", Hash: []byte("hash")}
	must(t, s.InTx(t.Context(), one.ID, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token)
		return err
	}))

	// An org can neither read nor write the other's rows, even if the query names the other org.
	err = s.InTx(t.Context(), two.ID, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.TokenByHash(ctx, one.ID, token.Hash)
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("org %s reads a token of %s: %v", two.Name, one.Name, err)
	}
	token.ID, token.Hash = id.New("tok"), []byte("forged")
	if err := s.InTx(t.Context(), two.ID, func(ctx context.Context, tx *store.Tx) error {
		_,
			err := tx.CreateToken(ctx, token)
		return err
	}); err == nil {
		t.Fatal("one org made a token in another")
	}
}

// TestAScopeIsMadeOfIds: a scope with a string that is not an id is rejected before any query.
func TestAScopeIsMadeOfIds(t *testing.T) {
	s, one := storetest.New(t)
	enter := func(scope store.Scope) error {
		return s.InScopedTx(t.Context(), scope,
			func(context.Context, *store.Tx) error { t.Errorf("%q was entered", scope); return nil })
	}
	for _, bad := range []string{one.ID + "'", one.ID + "\x00", `\`,
		"', true); select set_config('nuon.org', '" + one.ID} {
		if err := enter(store.Scope{Org: bad}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("org %q: %v", bad, err)
		}
		if err := enter(store.Scope{Org: one.ID, App: bad}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("app %q: %v", bad, err)
		}
	}
}

// TestAScopeOfOneAppSeesThatAppAlone: it can also not write to another app, even if the query
// names it.
func TestAScopeOfOneAppSeesThatAppAlone(t *testing.T) {
	s, org := storetest.New(t)
	apps := map[string]store.App{}
	must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		for _, name := range []string{"shop", "zebra"} {
			if apps[name], err = tx.AddApp(ctx, store.AddAppParams{OrgID: org.ID, ID: id.New("app"), Name: name,
				Directory: "."}); err != nil {
				return err
			}
		}
		return nil
	}))
	version := func(app string) store.AddAppVersionParams {
		return store.AddAppVersionParams{OrgID: org.ID, ID: id.New("ver"), AppID: apps[app].ID, Digest: "d",
			Config: []byte("{}"), Reason: "r"}
	}
	scope := store.Scope{Org: org.ID, App: apps["shop"].ID}
	must(t, s.InScopedTx(t.Context(), scope, func(ctx context.Context, tx *store.Tx) error {
		seen, err := tx.ViewApps(ctx, org.ID, "", 10)
		if len(seen) != 1 || seen[0].Name != "shop" || tx.Scope != scope {
			t.Errorf("in the scope of shop: %+v", seen)
		}
		if _, err := tx.ViewApp(ctx, org.ID, "zebra"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("zebra: %v", err)
		}
		if _, err := tx.AddAppVersion(ctx, version("shop")); err != nil {
			t.Errorf("a version of its own: %v", err)
		}
		return err
	}))
	err := s.InScopedTx(t.Context(), scope, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddAppVersion(ctx, version("zebra"))
		return err
	})
	if err == nil {
		t.Error("made a version of another app")
	}
	// A connection that had a scope has none in the next unit of work.
	for range 30 {
		must(t, s.ReadTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			seen, err := tx.ViewApps(ctx, org.ID, "", 10)
			if len(seen) != 2 {
				t.Errorf("without a scope: %+v", seen)
			}
			return err
		}))
	}
}

func TestWorkIsEnqueuedWithTheChangeOrNotAtAll(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	defer s.Close()
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	refused := errors.New("no")
	err = s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Enqueue(ctx, queue.Rollout{Org: org.ID, Install: "ins_1"}); err != nil {
			return err
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.Enqueue(ctx, queue.Rollout{Org: org.ID, Install: "ins_2"})
	}))
	got := queued(t, dsn)
	if !slices.Equal(got, []string{"ins_2"}) {
		t.Fatalf("enqueued %v, want only what was committed", got)
	}
}

// TestRequestsThatWaitAreMerged: only one of equal requests waits, however often and for however
// long they are made. A running request may have read the state before the change, so it does not
// merge with a new one.
func TestRequestsThatWaitAreMerged(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	defer s.Close()
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	ask := func(installs ...string) {
		t.Helper()
		must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			var work []river.JobArgs
			for _, install := range installs {
				work = append(work, queue.Rollout{Org: org.ID, Install: install})
			}
			return tx.Enqueue(ctx, work...)
		}))
	}
	ask("ins_1", "ins_1")
	ask("ins_1")
	exec(t, dsn, "update river.river_job set created_at = now() - interval '1 day', scheduled_at = now() - "+
		"interval '1 day'")
	ask("ins_1", "ins_2")
	if got := queued(t, dsn); !slices.Equal(got, []string{"ins_1", "ins_2"}) {
		t.Fatalf("enqueued %v, want one request of each", got)
	}
	exec(t, dsn, "update river.river_job set state = 'running'")
	ask("ins_1")
	ask("ins_1")
	if got := queued(t, dsn); !slices.Equal(got, []string{"ins_1", "ins_2", "ins_1"}) {
		t.Fatalf("enqueued %v, want another request beside the one that is being answered", got)
	}
}

// TestWhatIsDueIsNotHeapedUp: ClaimDue enqueues an item that remains due only once, and not at all
// while a worker processes it.
func TestWhatIsDueIsNotHeapedUp(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	defer s.Close()
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org.ID, Kind: store.DueInstall, ID: "ins_1"})
	}))
	take := func(want int) {
		t.Helper()
		n, err := s.ClaimDue(t.Context(), store.ClaimDueOptions{Limit: 10, MaxPolls: 10}, resync)
		if err != nil || n != want {
			t.Fatalf("%d things are due, %v; want %d", n, err, want)
		}
	}
	for range 5 {
		take(1)
	}
	if got := queued(t, dsn); !slices.Equal(got, []string{"ins_1"}) {
		t.Fatalf("enqueued %v, want one request", got)
	}
	exec(t, dsn, "update river.river_job set state = 'running'")
	take(0)
	exec(t, dsn, "update river.river_job set state = 'completed', finalized_at = now()")
	take(1)
	if got := queued(t, dsn); len(got) != 2 {
		t.Fatalf("enqueued %v: what was answered does not stand in the way of the next request", got)
	}
}

// TestNothingIsDueInOneStatement: an idle replica asks several times a second.
func TestNothingIsDueInOneStatement(t *testing.T) {
	t.Parallel()
	meter := storetest.NewStatementCounter(t, storetest.DSN(t))
	s, err := store.Open(t.Context(), meter.DSN)
	must(t, err)
	defer s.Close()
	look := func() int64 {
		t.Helper()
		before := meter.Statements()
		n, err := s.ClaimDue(t.Context(), store.ClaimDueOptions{Limit: 10, MaxPolls: 10}, resync)
		if err != nil || n != 0 {
			t.Fatalf("%d things are due, %v", n, err)
		}
		return meter.Statements() - before
	}
	look() // prepares the statement
	if got := look(); got != 1 {
		t.Errorf("that nothing is due took %d statements", got)
	}
}

func resync(p store.DueItem) river.JobArgs {
	if p.Kind == store.DueWatch {
		return queue.Poll{Org: p.Org, Watch: p.ID}
	}
	return queue.Resync{Org: p.Org, Install: p.ID}
}

// TestOrgsTakeTurns: an org with many due items gets only its share of each batch, and no more
// polls than its limit, counting those that already wait.
func TestOrgsTakeTurns(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	defer s.Close()
	for _, name := range []string{"big", "small"} {
		_, err := s.AddOrg(t.Context(), name, name)
		must(t, err)
	}
	exec(t, dsn, "insert into due (org_id, kind, id, at) select 'big', k, 'x' || i, now() - interval '1 hour' from "+
		"generate_series(1, 100) i, unnest(array['watch', 'install']) k")
	exec(t, dsn, "insert into due (org_id, kind, id, at) select 'small', k, 'x' || i, now() - interval '1 minute' from "+
		"generate_series(1, 2) i, unnest(array['watch', 'install']) k")
	take := func() map[string]int {
		t.Helper()
		took := map[string]int{}
		_, err := s.ClaimDue(t.Context(), store.ClaimDueOptions{Limit: 20, MaxPolls: 5, RetryAfter: time.Hour,
			Resync: time.Hour},
			func(p store.DueItem) river.JobArgs {
				took[p.Org+" "+p.Kind]++
				return resync(p)
			})
		must(t, err)
		return took
	}
	if took := take(); took["small watch"] != 2 || took["small install"] != 2 || took["big watch"] != 5 {
		t.Errorf("taken first: %v", took)
	}
	if took := take(); took["big watch"] != 0 || took["big install"] == 0 {
		t.Errorf("taken while five polls wait: %v", took)
	}
}

// exec runs a statement as the database's owner.
func exec(t *testing.T, dsn, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	defer c.Close(t.Context()) //nolint:errcheck // the test is over
	_, err = c.Exec(t.Context(), sql)
	must(t, err)
}

// queued returns the installs with a queued rollout or resync, read as the database's owner.
func queued(t *testing.T, dsn string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	defer c.Close(t.Context()) //nolint:errcheck // the test is over
	rows, err := c.Query(t.Context(),
		"select args->>'install' from river.river_job where kind in ('rollout', 'resync') order by id")
	must(t, err)
	installs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return installs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
