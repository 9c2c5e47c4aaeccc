package replicas

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// nextMigration is a typical migration of a newer version. It only adds (docs/operations.md,
// expand), so older replicas are compatible.
const nextMigration = `
alter table installs add column colour text not null default 'blue';
create table colours (org_id text not null references orgs on delete cascade, name text not null, primary key (org_id, name));
grant select, insert, update, delete on colours to nuon_app;
`

// newerSchema checks that both replicas continue while a newer version migrates the database, and
// that a replica of the old version can start with the newer schema.
func newerSchema(t *testing.T, w *world, c *crowd) {
	c.check(t)
	migrateFurther(t, w)
	w.push()
	w.arrived()
	must(t, w.fleet.Replicas[1].Stop(testtime.Limit))
	must(t, w.fleet.StartReplica(t.Context(), 1))
	w.push()
	w.arrived()
	if counts := c.check(t); counts["ok"] == 0 || counts["503"] > 0 {
		t.Errorf("beside a newer schema the crowd was told %v", counts)
	}
	if n := w.count("select max(version) from schema_version"); n != len(ourMigrations(t))+1 {
		t.Errorf("the replica that was started again left the schema at version %d", n)
	}
}

func ourMigrations(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "reconciler", "store", "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("our migrations: %v, %v", files, err)
	}
	return files
}

// migrateFurther does what `reconciler migrate` of a newer version does.
func migrateFurther(t *testing.T, w *world) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range ourMigrations(t) {
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600))
	}
	next := fmt.Sprintf("%03d_next.sql", len(ourMigrations(t))+1)
	must(t, os.WriteFile(filepath.Join(dir, next), []byte(nextMigration), 0o600))
	db, err := pgx.Connect(t.Context(), w.fleet.Database.DSN())
	must(t, err)
	defer db.Close(t.Context()) //nolint:errcheck // nothing is in flight on it
	m, err := migrate.NewMigrator(t.Context(), db, "public.schema_version")
	must(t, err)
	must(t, m.LoadMigrations(os.DirFS(dir)))
	must(t, m.Migrate(t.Context()))
}

// refused checks that a replica with an invalid setup beside others reports why and exits.
func refused(t *testing.T, w *world, _ *crowd) {
	db, err := pgx.Connect(t.Context(), w.fleet.Database.DSN())
	must(t, err)
	defer db.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing is in flight on it
	_, err = db.Exec(t.Context(), "create database apart")
	must(t, err)
	config := db.Config().Copy()
	dsn := "host=" + config.Host + " user=" + config.User + " dbname=apart sslmode=disable"
	serve := func(ctx context.Context, dir string, more ...string) (*exec.Cmd, *bytes.Buffer) {
		args := append([]string{"serve", "--database-url", dsn, "--listen", "127.0.0.1:0", "--runner-listen", "127.0.0.1:0",
			"--registry-listen", "127.0.0.1:0",
			"--data-dir", filepath.Join(w.fleet.Dir, dir), "--key-file", w.fleet.KeyFile(), "--ready-file",
			filepath.Join(w.fleet.Dir, dir+".json")}, more...)
		cmd, said := exec.CommandContext(ctx, filepath.Join(w.fleet.Bin, "reconciler"), args...), &bytes.Buffer{}
		cmd.Stderr = said
		return cmd, said
	}
	refuses := func(want string, cmd *exec.Cmd, said *bytes.Buffer) {
		t.Helper()
		if err := cmd.Run(); err == nil || !strings.Contains(said.String(), want) {
			t.Errorf("ended with %v and said\n%s\nnot %q", err, said, want)
		}
	}
	bounded := testtime.Context(t)
	cmd, said := serve(bounded, "unmigrated", "--migrate=false")
	refuses("run `reconciler migrate`", cmd, said)
	// One replica with an embedded registry is fine. A second one is not, nor is another process in
	// the directory of the first.
	first, firstSaid := serve(bounded, "one")
	must(t, first.Start())
	w.until("the first is ready", func() (bool, error) {
		_, err := os.Stat(filepath.Join(w.fleet.Dir, "one.json"))
		return err == nil, nil
	})
	cmd, said = serve(bounded, "two")
	refuses("the embedded registry is for one replica", cmd, said)
	cmd, said = serve(bounded, "one")
	refuses("another reconciler uses", cmd, said)
	// After a kill and a new start in the same directory, it is the same replica.
	must(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	must(t, os.Remove(filepath.Join(w.fleet.Dir, "one.json")))
	again, againSaid := serve(bounded, "one")
	must(t, again.Start())
	w.until("it is ready again", func() (bool, error) {
		_, err := os.Stat(filepath.Join(w.fleet.Dir, "one.json"))
		return err == nil, nil
	})
	must(t, again.Process.Signal(os.Interrupt))
	if err := again.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s\n%s", err, firstSaid, againSaid)
	}
}
