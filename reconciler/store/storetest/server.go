package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// server is the Postgres of the test run, and what this process has of it.
type server struct {
	dsn string
	// prefix begins the names of all databases with this schema: those of other processes, too.
	prefix string
	// base is what a new database has in it, and how its schema is.
	base templateState

	mu sync.Mutex
	// coordinator holds the advisory locks by which processes share databases: the holder of the lock on a
	// database's id uses it.
	coordinator *pgx.Conn
	idle        []*database
	owned       map[string]bool
}

// database is one that tests of this process use one after the other.
type database struct {
	name, dsn string
	admin     *pgx.Conn
	// dirty is true when a test has had it.
	dirty bool
}

const (
	databasePrefix = "nuontest_"
	templateSuffix = "template"
	// lockClass is the first half of the keys of advisory locks on databases, lockTemplates the key of that
	// for making templates.
	lockClass     = 73_026
	lockTemplates = int64(7_302_619_448_142)
	// The server needs a moment to end a connection that was closed. exitLooks is how often it is looked for.
	exitLooks = 50
	exitPause = 2 * time.Millisecond
)

// connect finds or makes the template.
func connect(ctx context.Context, dsn string) (*server, error) {
	digest, err := store.SchemaDigest()
	if err != nil {
		return nil, err
	}
	s := &server{dsn: dsn, prefix: databasePrefix + digest[:16] + "_", owned: map[string]bool{}}
	if s.coordinator, err = pgx.Connect(ctx, dsn); err != nil {
		return nil, fmt.Errorf("connect to the tests' Postgres: %w", err)
	}
	if _, err := s.coordinator.Exec(ctx, "select pg_advisory_lock($1)", lockTemplates); err != nil {
		return nil, fmt.Errorf("wait for the template: %w", err)
	}
	defer s.coordinator.Exec(ctx, "select pg_advisory_unlock($1)", lockTemplates) //nolint:errcheck // the process' end frees it too
	// While a process lives, no other drops its template.
	if _, err := s.coordinator.Exec(ctx, "select pg_advisory_lock_shared($1, hashtext($2))", lockClass,
		s.template()); err != nil {
		return nil, fmt.Errorf("take the template: %w", err)
	}
	found, err := s.findTemplate(ctx)
	if err != nil || found {
		return s, err
	}
	return s, errors.Join(s.dropOthers(ctx), s.makeTemplate(ctx))
}

func (s *server) template() string { return s.prefix + templateSuffix }

// findTemplate reads what was noted of a template that is complete.
func (s *server) findTemplate(ctx context.Context) (bool, error) {
	var note *string
	err := s.coordinator.QueryRow(ctx, "select shobj_description(oid, 'pg_database') from pg_database where datname = $1",
		s.template()).Scan(&note)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && note == nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the template: %w", err)
	}
	if err := json.Unmarshal([]byte(*note), &s.base); err != nil {
		return false, fmt.Errorf("read the note on the template %s (drop it to have it made again): %w", s.template(), err)
	}
	return true, nil
}

// makeTemplate makes the template, and at last the note that it is complete.
func (s *server) makeTemplate(ctx context.Context) error {
	if err := s.drop(ctx, s.template()); err != nil {
		return err
	}
	if err := s.exec(ctx, "create database "+s.template()); err != nil {
		return err
	}
	dsn := withDatabase(s.dsn, s.template())
	if err := store.Migrate(ctx, dsn); err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	s.base, err = readBase(ctx, db)
	if err := errors.Join(err, db.Close(ctx)); err != nil {
		return err
	}
	note, err := json.Marshal(s.base)
	if err != nil {
		return err
	}
	return s.exec(ctx, fmt.Sprintf("comment on database %s is '%s'", s.template(),
		strings.ReplaceAll(string(note), "'", "''")))
}

// dropOthers drops the databases of other versions of the schema that no process uses.
func (s *server) dropOthers(ctx context.Context) error {
	all, err := s.names(ctx, databasePrefix)
	if err != nil {
		return err
	}
	for _, template := range all {
		prefix, found := strings.CutSuffix(template, templateSuffix)
		if !found || prefix == s.prefix {
			continue
		}
		if free, err := s.tryLock(ctx, template); err != nil || !free {
			continue // a process uses it, or it will be dropped another time
		}
		for _, name := range all {
			if strings.HasPrefix(name, prefix) {
				_ = s.drop(ctx, name) // another process may do the same
			}
		}
	}
	return nil
}

// take returns an empty database that nobody else uses: one of this process, one that another process has
// left, or a new one.
func (s *server) take(ctx context.Context) (*database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := len(s.idle) - 1; n >= 0; n-- {
		d := s.idle[n]
		s.idle = s.idle[:n]
		if s.clean(ctx, d) {
			return d, nil
		}
	}
	names, err := s.names(ctx, s.prefix)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if s.owned[name] || name == s.template() {
			continue
		}
		if free, err := s.tryLock(ctx, name); err != nil || !free {
			continue // a process uses it
		}
		s.owned[name] = true
		if d, err := s.open(ctx, name); err == nil && s.clean(ctx, d) {
			return d, nil
		}
	}
	name := s.prefix + strings.ReplaceAll(strings.TrimPrefix(id.New("x"), "x_"), "-", "_")
	if _, err := s.tryLock(ctx, name); err != nil {
		return nil, err
	}
	s.owned[name] = true
	if err := s.exec(ctx, fmt.Sprintf("create database %s template %s", name, s.template())); err != nil {
		return nil, err
	}
	d, err := s.open(ctx, name)
	if err == nil {
		d.dirty = false
	}
	return d, err
}

// names lists the databases whose names begin with prefix.
func (s *server) names(ctx context.Context, prefix string) ([]string, error) {
	rows, err := s.coordinator.Query(ctx, "select datname::text from pg_database where starts_with(datname::text, $1)",
		prefix)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// tryLock takes the lock by which a database belongs to a process, for as long as the process.
func (s *server) tryLock(ctx context.Context, name string) (taken bool, err error) {
	err = s.coordinator.QueryRow(ctx, "select pg_try_advisory_lock($1, hashtext($2))", lockClass, name).Scan(&taken)
	return taken, err
}

func (s *server) drop(ctx context.Context, name string) error {
	return s.exec(ctx, fmt.Sprintf("drop database if exists %s with (force)", name))
}

// open connects to a database that a test may have had.
func (s *server) open(ctx context.Context, name string) (*database, error) {
	d := &database{name: name, dsn: withDatabase(s.dsn, name), dirty: true}
	var err error
	if d.admin, err = pgx.Connect(ctx, d.dsn); err != nil {
		return nil, fmt.Errorf("connect to a test's database: %w", err)
	}
	return d, nil
}

// give takes a database back from a test that has ended.
func (s *server) give(d *database) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.dirty = true
	s.idle = append(s.idle, d)
}

// clean makes a database as a new one is. Where that is not sure, it drops it and returns false: a test left
// a connection open, through which something may still be written, or it changed the schema.
func (s *server) clean(ctx context.Context, d *database) bool {
	if d.left(ctx) && s.base.restore(ctx, d.admin) == nil {
		return true
	}
	_ = d.admin.Close(ctx) // it is dropped with all other connections to it
	_ = s.drop(ctx, d.name)
	return false
}

// left waits a moment for the connections of the last test to end, and reports whether they have.
func (d *database) left(ctx context.Context) bool {
	for range exitLooks {
		var others int
		err := d.admin.QueryRow(ctx, `select count(*) from pg_stat_activity
			where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&others)
		if err != nil || others == 0 {
			return err == nil
		}
		time.Sleep(exitPause) //nolint:forbidigo // Postgres does not signal that a connection has ended
	}
	return false
}

func (s *server) exec(ctx context.Context, sql string) error {
	if _, err := s.coordinator.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
