package store_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestAUnitThatOnlyLocksWaitsForNoDisk: its transaction is not committed, because it wrote nothing.
// Any other one is.
func TestAUnitThatOnlyLocksWaitsForNoDisk(t *testing.T) {
	t.Parallel()
	s, org := storetest.New(t)
	for _, c := range []struct {
		name, status string
		work         func(ctx context.Context, tx *store.Tx) error
	}{
		{"lock", "aborted", func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.LockApp(ctx, org.ID, "app")
			return err
		}},
		{"lock and write", "committed", func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.LockApp(ctx, org.ID, "app"); err != nil {
				return err
			}
			return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org.ID, Kind: store.DueApp, ID: "app"})
		}},
		{"notify", "committed", func(ctx context.Context, tx *store.Tx) error {
			return tx.Notify(ctx, store.ChannelWorkflows, org.ID+"/wfl")
		}},
		{"enqueue", "committed", func(ctx context.Context, tx *store.Tx) error {
			return tx.Enqueue(ctx, queue.Catalog{Org: org.ID, App: "app"})
		}},
	} {
		must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.AppByID(ctx, org.ID, "app"); err == nil {
				return nil
			}
			_, err := tx.AddApp(ctx, store.AddAppParams{OrgID: org.ID, ID: "app", Name: "shop", Directory: "."})
			return err
		}))
		var transaction, status string
		must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			if err := c.work(ctx, tx); err != nil {
				return err
			}
			return store.Raw(tx).QueryRow(ctx, "select pg_current_xact_id()::text").Scan(&transaction)
		}))
		must(t, s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			return store.Raw(tx).QueryRow(ctx, "select pg_xact_status($1::text::xid8)", transaction).Scan(&status)
		}))
		if status != c.status {
			t.Errorf("%s: the transaction is %s", c.name, status)
		}
	}
}

// TestSelectsCountAsReads: each statement that sqlc made of a select counts as one that writes nothing, and no other
// does. A unit of work that only reads and locks would wait for the disk otherwise.
func TestSelectsCountAsReads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.sql.gen.go")
	must(t, err)
	statement, reads := regexp.MustCompile("(?s)const (\\w+) = `-- name: ([^`]+)`"), 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		for _, found := range statement.FindAllStringSubmatch(string(content), -1) {
			_, text, _ := strings.Cut(found[2], "\n")
			fields := strings.Fields(text)
			want := fields[0] == "select" && !strings.Contains(text, "pg_notify(")
			if got := store.OnlyReads("-- name: " + found[2]); got != want {
				t.Errorf("%s: %s counts as one that only reads: %v", file, found[1], got)
			}
			if want {
				reads++
			}
		}
	}
	if reads < 100 {
		t.Errorf("only %d statements were found", reads)
	}
}

// TestAFailedUnitIsNoSuccess: also if its work ignores the error of a failed statement.
func TestAFailedUnitIsNoSuccess(t *testing.T) {
	t.Parallel()
	s, org := storetest.New(t)
	err := s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		_ = store.Raw(tx).QueryRow(ctx, "select 1 / 0").Scan(new(int))
		return nil
	})
	if err == nil {
		t.Error("a unit of work whose statement failed succeeded")
	}
}

// TestWorkByKeyIsPlannedOnce: Postgres makes one plan of a statement for all values. By default it
// would plan the first five executions separately, and later ones too if it expects a benefit.
func TestWorkByKeyIsPlannedOnce(t *testing.T) {
	t.Parallel()
	s, org := storetest.New(t)
	look := func(in func(work func(context.Context, *store.Tx) error) error) (once, each int) {
		must(t, in(func(ctx context.Context, tx *store.Tx) error {
			for range 3 {
				if _, err := tx.ComponentsOfInstalls(ctx, org.ID, []string{"ins"}); err != nil {
					return err
				}
			}
			rows, err := store.Raw(tx).Query(ctx, `select generic_plans::int, custom_plans::int from pg_prepared_statements
				where statement like '-- name: ComponentsOfInstalls %'`)
			if err != nil {
				return err
			}
			_, err = pgx.ForEachRow(rows, []any{&once, &each}, func() error { return nil })
			return err
		}))
		return once, each
	}
	if once, each := look(func(work func(context.Context, *store.Tx) error) error {
		return s.InTx(t.Context(), org.ID,
			work)
	}); once == 0 || each != 0 {
		t.Errorf("InTx: one plan served %d times, another was made %d times", once, each)
	}
	if once, each := look(func(work func(context.Context, *store.Tx) error) error {
		return s.ReadTx(t.Context(), org.ID,
			work)
	}); once == 0 || each != 0 {
		t.Errorf("ReadTx: one plan served %d times, another was made %d times", once, each)
	}
	scope := store.Scope{Org: org.ID}
	if _, each := look(func(work func(context.Context, *store.Tx) error) error {
		return s.InScopedTx(t.Context(), scope,
			work)
	}); each == 0 {
		t.Error("InScopedTx: no plan was made for the values")
	}
}
