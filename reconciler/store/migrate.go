package store

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// riverSchema holds River's tables, separate from nuon's own.
const riverSchema = "river"

// Schema returns the schema version that this program needs: the number of its newest migration.
func Schema() int {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0 // the pattern is well formed
	}
	return len(files)
}

// OldSchema is the error for a database whose schema is older than the program needs.
type OldSchema struct{ Have, Need int }

// Error includes what to do.
func (o *OldSchema) Error() string {
	return fmt.Sprintf("the database has schema %d and this program needs %d; run `reconciler migrate`, or start this "+
		"program without --migrate=false",
		o.Have, o.Need)
}

// Check returns the version of Postgres, or an error for an operator if Postgres does not answer
// or its schema does not fit: the schema must be the program's own version or newer, else the
// error is an *OldSchema.
func (s *Store) Check(ctx context.Context) (version string, err error) {
	var schema int
	row := s.pool.QueryRow(ctx,
		"select current_setting('server_version'), coalesce((select version from public.schema_version), 0)")
	err = row.Scan(&version, &schema)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42P01": // no such table
		return "", &OldSchema{Need: Schema()}
	case err != nil:
		return "", fmt.Errorf("query Postgres: %w", err)
	}
	if schema < Schema() {
		return version, &OldSchema{Have: schema, Need: Schema()}
	}
	return version, nil
}

// migrationLock is the key of the advisory lock for migrating River's schema; tern takes its own
// lock for nuon's schema.
const migrationLock = 7_302_619_448_141

// oldestPostgres is the oldest supported server version, in PostgreSQL's own numbering.
const oldestPostgres = 140_000

// Migrate migrates the database at dsn, as its owner, to this program's schema. Any number of
// replicas may call it at once.
func Migrate(ctx context.Context, dsn string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	defer pool.Close()
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if err := checkVersion(ctx, c.Conn()); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, "select pg_advisory_lock($1)", int64(migrationLock)); err != nil {
			return fmt.Errorf("wait for another migration: %w", err)
		}
		defer c.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", int64(migrationLock)) //nolint:errcheck // the end of the session releases it too
		if err := migrateRiver(ctx, pool); err != nil {
			return err
		}
		return migrateSchema(ctx, c.Conn())
	})
}

func checkVersion(ctx context.Context, c *pgx.Conn) error {
	var version int
	if err := c.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	if version < oldestPostgres {
		return fmt.Errorf("this is Postgres %d: nuon needs version 14 or newer", version/10_000)
	}
	return nil
}

func migrateRiver(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, "create schema if not exists "+riverSchema); err != nil {
		return fmt.Errorf("create schema %s: %w", riverSchema, err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: riverSchema, Logger: discardLogger()})
	if err != nil {
		return fmt.Errorf("migrate the work queue: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the work queue: %w", err)
	}
	return nil
}

func migrateSchema(ctx context.Context, c *pgx.Conn) error {
	m, err := migrate.NewMigrator(ctx, c, "public.schema_version")
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := m.LoadMigrations(files); err != nil {
		return fmt.Errorf("load migrations: %w", err)
	}
	version, err := m.GetCurrentVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if int(version) > len(m.Migrations) {
		return nil // a newer replica has migrated: its schema still supports this program (docs/operations.md)
	}
	if err := m.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// River adds tables in upgrades, so its grants are renewed each time.
	if _, err := c.Exec(ctx, grantRiver); err != nil {
		return fmt.Errorf("grant the work queue: %w", err)
	}
	return nil
}

const grantRiver = `
grant usage on schema river to nuon_app;
grant select, insert, update, delete on all tables in schema river to nuon_app;
grant usage on all sequences in schema river to nuon_app;
grant execute on all functions in schema river to nuon_app;`

// SchemaDigest digests what Migrate makes: two programs with the same one make the same schema.
func SchemaDigest() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := migrations.ReadFile(path)
		fmt.Fprintf(sum, "%s\n%d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	queue, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: riverSchema, Logger: discardLogger()})
	if err != nil {
		return "", fmt.Errorf("read the migrations of the work queue: %w", err)
	}
	for _, m := range queue.AllVersions() {
		fmt.Fprintf(sum, "%d\n%d\n%s", m.Version, len(m.SQLUp), m.SQLUp)
	}
	fmt.Fprint(sum, grantRiver)
	return hex.EncodeToString(sum.Sum(nil)), nil
}
