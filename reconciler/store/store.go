// Package store stores all state of the control plane in Postgres, through pgx. It owns every
// table, all SQL (queries/*.sql, compiled by sqlc) and the only access to it: a unit of work is
// one transaction that belongs to one org (InTx). It makes no decisions; the packages of the
// reconciler call it and define what a status means.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/nuon-toolkit/nuon/pkg/id"
)

// ErrNotFound is the error of a query for one row that does not exist (pgx's own).
var ErrNotFound = pgx.ErrNoRows

// Store is a pool of connections to the control plane's database. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx]
	tokens tokenCache
	clock  clock
}

// minPoolSize is the number of connections of a replica if the database URL does not set
// pool_max_conns: enough for the work queue, the listener, concurrent reconciles and the API.
const minPoolSize = 24

// Open connects to a migrated database. Every connection takes the role nuon_app, which row-level
// security restricts.
func Open(ctx context.Context, dsn string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	cfg.AfterConnect = setAppRole
	if !strings.Contains(dsn, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, minPoolSize)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	// River notifies of inserts at most once per FetchCooldown and drops the other notifications:
	// at the default of 100 ms most jobs of a chain would wait for the next poll.
	insertOnly, err := river.NewClient(riverpgxv5.New(pool),
		&river.Config{Schema: riverSchema, Logger: discardLogger(), FetchCooldown: time.Millisecond})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the work queue: %w", err)
	}
	return &Store{pool: pool, river: insertOnly}, nil
}

// connect opens a connection outside the pool, with the pool's settings and role.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := setAppRole(ctx, c); err != nil {
		_ = c.Close(context.WithoutCancel(ctx)) // the error of setAppRole matters more
		return nil, err
	}
	return c, nil
}

// setAppRole drops the owner's rights for the lifetime of the connection.
func setAppRole(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "set role nuon_app"); err != nil {
		return fmt.Errorf("take the role nuon_app (was the database migrated?): %w", err)
	}
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "jsonb", OID: pgtype.JSONBOID, Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: decodeColumn},
	})
	return nil
}

// decodeColumn decodes a jsonb column. It does not parse a raw value: Postgres has checked it.
func decodeColumn(raw []byte, into any) error {
	if text, ok := into.(*json.RawMessage); ok {
		*text = slices.Clone(raw)
		return nil
	}
	return json.Unmarshal(raw, into)
}

// discardLogger returns a logger for River that passes only errors on.
func discardLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{}, &slog.HandlerOptions{Level: slog.LevelError}))
}

// logWriter writes River's log lines to the program's log.
type logWriter struct{}

func (logWriter) Write(b []byte) (int, error) {
	slog.Error("work queue", "said", string(b))
	return len(b), nil
}

// Close waits for connections in use, then closes them all.
func (s *Store) Close() { s.pool.Close() }

// Scope is what a unit of work may see and change: one org, and only one app of it unless App is
// empty. Row-level security hides other apps, their versions, components and installs, and
// everything that is read by a join with one of these.
type Scope struct{ Org, App string }

// begin returns the message to Postgres that starts a transaction and restricts it to the scope:
// one round trip instead of two in every unit of work. The message has no parameters, so only ids
// may be inserted into it; any other string names no org or app, so the error is ErrNotFound.
func (s Scope) begin(how txOptions) (string, error) {
	for _, text := range []string{s.Org, s.App} {
		if strings.Trim(text, id.Letters) != "" {
			return "", fmt.Errorf("enter org %q: %w", s.Org, ErrNotFound)
		}
	}
	start, plans := "begin", ""
	if how.IsoLevel != "" {
		start += " isolation level " + string(how.IsoLevel)
	}
	if how.AccessMode != "" {
		start += " " + string(how.AccessMode)
	}
	if how.byKey {
		plans = ", set_config('plan_cache_mode', 'force_generic_plan', true)"
	}
	return fmt.Sprintf("%s; select set_config('nuon.org', '%s', true), set_config('nuon.app', '%s', true)%s", start,
		s.Org, s.App, plans), nil
}

// Tx is one unit of work in one scope: its queries, and the side effects that commit with it.
type Tx struct {
	*Queries
	Scope

	tx     pgx.Tx
	river  *river.Client[pgx.Tx]
	tokens *tokenCache
	clock  *clock
}

// InTx runs one unit of work of one org in one transaction, and commits it when work returns nil.
// It runs work again after a serialization failure, a deadlock or a lost connection, so work must
// have no other side effects. While Postgres is unreachable it retries for a few seconds; then the
// error is an *Unavailable. Its statements find their rows by key, so Postgres plans each only once per
// connection.
func (s *Store) InTx(ctx context.Context, org string, work func(context.Context, *Tx) error) error {
	return s.runTx(ctx, Scope{Org: org}, txOptions{byKey: true}, work)
}

// InScopedTx is InTx for a unit of work that may be restricted to one app, or whose statements may need
// different plans for different values: lists with filters, and selections by age.
func (s *Store) InScopedTx(ctx context.Context, scope Scope, work func(context.Context, *Tx) error) error {
	return s.runTx(ctx, scope, txOptions{}, work)
}

// ReadTx is InTx for work that only reads, on one snapshot.
func (s *Store) ReadTx(ctx context.Context, org string, work func(context.Context, *Tx) error) error {
	return s.runTx(ctx, Scope{Org: org}, txOptions{TxOptions: readOnly, byKey: true}, work)
}

// ReadScopedTx is ReadTx for the units of work that InScopedTx is for.
func (s *Store) ReadScopedTx(ctx context.Context, scope Scope, work func(context.Context, *Tx) error) error {
	return s.runTx(ctx, scope, txOptions{TxOptions: readOnly}, work)
}

var readOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// txOptions has the options of a unit of work.
type txOptions struct {
	pgx.TxOptions
	byKey bool // one plan per statement is good for all values
}

// maxDeadlockTries is how often a unit of work is run in all if it loses a deadlock.
const maxDeadlockTries = 4

func (s *Store) runTx(ctx context.Context, scope Scope, how txOptions, work func(context.Context, *Tx) error) error {
	var patience retryBudget
	for try := 1; ; try++ {
		err := s.runTxOnce(ctx, scope, how, work)
		var away *Unavailable
		switch {
		case errors.As(err, &away):
			s.resetReadOnlyPool(away)
			if away.CommitUnknown || !patience.wait(ctx) {
				return err
			}
			try = 0
		case err == nil || try >= maxDeadlockTries || !retryable(err):
			return err
		}
	}
}

// runTxOnce runs one transaction. If Postgres is unreachable, the error is an *Unavailable.
func (s *Store) runTxOnce(ctx context.Context, scope Scope, how txOptions,
	work func(context.Context, *Tx) error) error {
	var err error
	if how.BeginQuery, err = scope.begin(how); err != nil {
		return err
	}
	tx, err := s.pool.BeginTx(ctx, how.TxOptions)
	if isUnavailable(ctx, err, true) {
		return &Unavailable{Err: err}
	}
	if err != nil {
		return fmt.Errorf("enter org: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit it does nothing
	watched := &watchedTx{Tx: tx}
	t := &Tx{Queries: New(watched), Scope: scope, tx: watched, river: s.river, tokens: &s.tokens, clock: &s.clock}
	err = work(ctx, t)
	if isUnavailable(ctx, err, tx.Conn().IsClosed()) {
		return &Unavailable{Err: err}
	}
	if err != nil {
		return err
	}
	// A commit waits for the disk even after a transaction that only took locks. Skip it: there is
	// nothing to commit.
	if !watched.wrote && tx.Conn().PgConn().TxStatus() == inTransaction {
		return nil
	}
	// The pool owns the connection again by now, so its state is not checked. Only Postgres itself
	// can report a rollback.
	if err = tx.Commit(ctx); isUnavailable(ctx, err, !errors.Is(err, pgx.ErrTxCommitRollback)) {
		return &Unavailable{CommitUnknown: true, Err: err}
	}
	return err
}

// resetReadOnlyPool drops the connections to a server that has become read-only: after a fail-over another
// one is the primary.
func (s *Store) resetReadOnlyPool(away *Unavailable) {
	var pg *pgconn.PgError
	if errors.As(away, &pg) && pg.Code == readOnlySQLState {
		s.pool.Reset()
	}
}

// retryable reports whether the error is serialization_failure or deadlock_detected, after which
// Postgres expects a retry.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// IsUniqueViolation reports whether a unique constraint rejected a row, and which one.
func IsUniqueViolation(err error) (constraint string, ok bool) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return pg.ConstraintName, true
	}
	return "", false
}

// IsForeignKeyViolation reports whether a row refers to one that was removed concurrently.
func IsForeignKeyViolation(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23503"
}

// uniqueWhileWaiting merges a request with an equal one that waits, however old it is. A request that is
// running merges with none: the trigger river_job_answered clears its unique key when a worker
// takes it.
var uniqueWhileWaiting = river.UniqueOpts{
	ByArgs: true, ByState: append(river.UniqueOpts{}.ByState, "available", "pending", "retryable", "running",
		"scheduled"),
}

// Enqueue adds work of the reconciler to the queue when this transaction commits. It supports one
// statement for any number of requests, and merges equal requests that wait.
func (t *Tx) Enqueue(ctx context.Context, work ...river.JobArgs) error {
	return t.enqueue(ctx, 0, work)
}

// lowPriority is River's lowest priority: such work runs after everything else in its queue.
const lowPriority = 4

// EnqueueLowPriority is Enqueue for bulk work that nobody waits for: it runs after everything else in its
// queue.
func (t *Tx) EnqueueLowPriority(ctx context.Context, work ...river.JobArgs) error {
	return t.enqueue(ctx, lowPriority, work)
}

// enqueue adds work at a priority; zero means the default of its kind.
func (t *Tx) enqueue(ctx context.Context, priority int, work []river.JobArgs) error {
	if len(work) == 0 {
		return nil
	}
	rows, asked := make([]river.InsertManyParams, 0, len(work)), make(map[river.JobArgs]bool, len(work))
	for _, w := range work {
		if !asked[w] {
			rows = append(rows, river.InsertManyParams{Args: w,
				InsertOpts: &river.InsertOpts{Priority: priority, UniqueOpts: uniqueWhileWaiting}})
		}
		asked[w] = true
	}
	if _, err := t.river.InsertManyTx(ctx, t.tx, rows); err != nil {
		return fmt.Errorf("enqueue %s: %w", work[0].Kind(), err)
	}
	return nil
}

// Channels of Postgres notifications. Payloads contain only ids, separated by slashes.
const (
	ChannelJobs      = "nuon_jobs"      // org/runner: a job was queued for the runner, or must be canceled
	ChannelWorkflows = "nuon_workflows" // org/workflow: the workflow changed
	ChannelLogs      = "nuon_logs"      // org/job: new lines, or the job ended
	ChannelTokens    = "nuon_tokens"    // org/token: the token was revoked
)

// Notify wakes the listeners of a channel when this transaction commits.
func (t *Tx) Notify(ctx context.Context, channel string, payloads ...string) error {
	return t.SendNotifications(ctx, channel, payloads)
}

// AuditEntry is one change for the audit log.
type AuditEntry struct {
	Actor, Subject string
	Detail         map[string]any
}

// Audit records who changed what. Detail must not contain secrets.
func (t *Tx) Audit(ctx context.Context, actor, action, subject string, detail map[string]any) error {
	return t.AuditAll(ctx, action, []AuditEntry{{actor, subject, detail}})
}

// AuditAll is Audit for any number of changes of one kind.
func (t *Tx) AuditAll(ctx context.Context, action string, events []AuditEntry) error {
	add := AddAuditsParams{OrgID: t.Org, Action: action}
	for _, e := range events {
		if e.Detail == nil {
			e.Detail = map[string]any{}
		}
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			return fmt.Errorf("audit %s: %w", action, err)
		}
		add.Actors, add.Subjects, add.Details = append(add.Actors, e.Actor), append(add.Subjects, e.Subject),
			append(add.Details, string(detail))
	}
	return t.AddAudits(ctx, add)
}

// DueItem is one due item of any org. It is all that a loop over orgs may see.
type DueItem struct{ Org, Kind, ID string }

// Kinds of DueItem, as in the table's constraint.
const (
	DueWatch   = "watch"   // a ref must be polled
	DueAttempt = "attempt" // a lease or an offer expires; ID is job/number
	DueInstall = "install" // an install must be reconciled
	DueApp     = "app"     // an app must be reconciled
	DueHealth  = "health"  // the health of an install must be checked; ID is the install
	DueImages  = "images"  // the images of an app must be resolved again; ID is the app
	DueSecrets = "secrets" // the secrets of an install must be checked; ID is the install
	DueOrg     = "org"     // an org's expired data must be removed; ID is the org
)

// ClaimDueOptions limit what ClaimDue takes, and set when a taken item is due again.
type ClaimDueOptions struct {
	Limit    int32 // items per call
	MaxPolls int64 // waiting or running polls per org
	// RetryAfter is when a taken item is due again if it is not rescheduled before. Resync is the same
	// for an install, whose request waits until it is done.
	RetryAfter, Resync time.Duration
}

// sweptJobTries is the number of attempts for work that is soon due again anyway.
const sweptJobTries = 3

// ClaimDue claims due items and enqueues the work that enqueue returns for each, in one
// transaction. It returns how many it claimed.
func (s *Store) ClaimDue(ctx context.Context, o ClaimDueOptions, enqueue func(DueItem) river.JobArgs) (int, error) {
	due, err := New(s.pool).HasDue(ctx)
	if err != nil {
		return 0, fmt.Errorf("find due objects: %w", err)
	}
	if !due {
		return 0, nil
	}
	n := 0
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := New(tx).ClaimDue(ctx,
			ClaimDueParams{Most: o.Limit, Polls: o.MaxPolls, AgainSeconds: o.RetryAfter.Seconds(),
				ResyncSeconds: o.Resync.Seconds()})
		if err != nil {
			return err
		}
		if n = len(rows); n == 0 {
			return nil
		}
		work := make([]river.InsertManyParams, n)
		for i, r := range rows {
			opts := river.InsertOpts{UniqueOpts: uniqueWhileWaiting}
			if r.Kind != DueInstall {
				opts.MaxAttempts = sweptJobTries
			}
			work[i] = river.InsertManyParams{Args: enqueue(DueItem{Org: r.OrgID, Kind: r.Kind, ID: r.ID}),
				InsertOpts: &opts}
		}
		_, err = s.river.InsertManyTx(ctx, tx, work)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take due objects: %w", err)
	}
	return n, nil
}

// maxJobTime bounds one job of the reconciler's work queue.
const maxJobTime = 5 * time.Minute

// Workers starts River's workers of a replica on this store's pool, with a limit of concurrent
// jobs per queue. The caller stops the client.
func (s *Store) Workers(replica string, workers *river.Workers, most map[string]int) (*river.Client[pgx.Tx], error) {
	queues := map[string]river.QueueConfig{}
	for name, n := range most {
		queues[name] = river.QueueConfig{MaxWorkers: n}
	}
	c, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		ID:      replica, // identifies the jobs that it runs (Rescue)
		Schema:  riverSchema,
		Logger:  discardLogger(),
		Workers: workers,
		Queues:  queues,
		// A completed request has no further use; discarded requests are created again from what
		// is due.
		CompletedJobRetentionPeriod: time.Minute,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
		FetchCooldown:               time.Millisecond,
		FetchPollInterval:           time.Second,
		JobTimeout:                  maxJobTime,
		ReindexerSchedule:           noReindex{},
		// The jobs of a killed replica pass to another one soon after they would have timed out.
		RescueStuckJobsAfter: maxJobTime + time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("start workers: %w", err)
	}
	return c, nil
}

// FindOrg returns the org with a name or an id.
func (s *Store) FindOrg(ctx context.Context, nameOrID string) (Org, error) {
	q := New(s.pool)
	org, err := q.OrgByID(ctx, nameOrID)
	if errors.Is(err, ErrNotFound) {
		org, err = q.OrgByName(ctx, nameOrID)
	}
	if err != nil {
		return Org{}, fmt.Errorf("org %s: %w", nameOrID, err)
	}
	return org, nil
}

// AddOrg creates an org.
func (s *Store) AddOrg(ctx context.Context, id, name string) (Org, error) {
	org, err := New(s.pool).CreateOrg(ctx, id, name)
	if err != nil {
		return Org{}, fmt.Errorf("create org %s: %w", name, err)
	}
	return org, nil
}
