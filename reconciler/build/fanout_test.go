package build_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// list reads one column of text as the database's owner.
func (b *bench) list(sql string) []string {
	b.t.Helper()
	c, err := pgx.Connect(b.t.Context(), b.dsn)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close(b.t.Context()) //nolint:errcheck // nothing is in flight on it
	rows, err := c.Query(b.t.Context(), sql)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// TestTheLastBuildHasTheInstallsReconciled checks that they are reconciled once, however many
// builds a push causes and however many installs exist. In the past, each build's end reconciled
// every install.
func TestTheLastBuildHasTheInstallsReconciled(t *testing.T) {
	t.Parallel()
	b := newBench(t, hello(t))
	b.connect(true)
	b.sync()
	b.list("delete from river.river_job returning kind")
	for _, name := range []string{"sandbox", "web"} {
		b.succeed(name)
		if got := b.list("select kind from river.river_job"); len(got) > 0 {
			t.Errorf("the build of %s, after which more are under way, asks for %v", name, got)
		}
	}
	b.succeed("metrics")
	if got := b.list("select kind from river.river_job"); !slices.Equal(got, []string{"fan_out"}) {
		t.Errorf("the last build asks for %v", got)
	}
}

// TestBuildsAreSpread checks that all online build runners get builds. In the past, the oldest got
// them all.
func TestBuildsAreSpread(t *testing.T) {
	t.Parallel()
	b := newBench(t, hello(t))
	b.connect(false)
	b.in(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range []string{"one", "two", "three"} {
			runner, _, err := runners.Create(ctx, tx, runners.NewRunner{Name: name, Kind: runners.KindBuild})
			if err != nil {
				return err
			}
			if _, err = tx.SetRunnerKey(ctx, store.SetRunnerKeyParams{
				OrgID: b.org, ID: runner.ID, KeyHash: []byte(name), Capacity: 2, Identity: []byte("{}"),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	b.sync()
	if got := b.list(
		"select count(distinct runner_id)::text || ' of ' || count(*) from jobs where kind = 'build'",
	); got[0] != "3 of 3" {
		t.Errorf("runners that build: %s", got[0])
	}
}
