// Package store is the control plane's memory: Postgres, through pgx. It owns every table, all SQL (queries/*.sql, compiled by
// sqlc) and the one way into it: a unit of work is one transaction that belongs to one org (In). It decides nothing; the rooms of
// the reconciler call it and own what a status means.
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
)

// ErrNotFound is what a query for one row gives when there is none (pgx's own word for it).
var ErrNotFound = pgx.ErrNoRows

// Store is a pool of connections to the control plane's database. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx]
	tokens tokenCache
	clock  clock
}

// leastPool is how many connections a replica may use if the database URL does not say (pool_max_conns): the work queue, the
// listener, what the rooms do at once, and the API beside them.
const leastPool = 24

// Open connects to a migrated database. Every connection takes the role nuon_app, which row-level security binds.
func Open(ctx context.Context, dsn string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	cfg.AfterConnect = takeRole
	if !strings.Contains(dsn, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, leastPool)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	// River says of an insert that it happened at most once per FetchCooldown, and forgets the others: at the default of 100 ms
	// most work of a chain would wait for the next poll.
	insertOnly, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: riverSchema, Logger: quiet(), FetchCooldown: time.Millisecond})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the work queue: %w", err)
	}
	return &Store{pool: pool, river: insertOnly}, nil
}

// connect opens a connection of its own, beside the pool, with the pool's settings and role.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := takeRole(ctx, c); err != nil {
		_ = c.Close(context.WithoutCancel(ctx)) // the role is the matter
		return nil, err
	}
	return c, nil
}

// takeRole gives up the owner's rights for the life of the connection.
func takeRole(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "set role nuon_app"); err != nil {
		return fmt.Errorf("take the role nuon_app (was the database migrated?): %w", err)
	}
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "jsonb", OID: pgtype.JSONBOID, Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: decodeColumn},
	})
	return nil
}

// decodeColumn decodes a jsonb column. What is read as it stands is not parsed: Postgres has checked it.
func decodeColumn(raw []byte, into any) error {
	if text, ok := into.(*json.RawMessage); ok {
		*text = slices.Clone(raw)
		return nil
	}
	return json.Unmarshal(raw, into)
}

// quiet keeps River's own remarks out of the log unless they are errors.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{}, &slog.HandlerOptions{Level: slog.LevelError}))
}

// logWriter hands what River says to the program's own log.
type logWriter struct{}

func (logWriter) Write(b []byte) (int, error) {
	slog.Error("work queue", "said", string(b))
	return len(b), nil
}

// Close waits for connections in use, then closes them all.
func (s *Store) Close() { s.pool.Close() }

// Scope is what a unit of work may see and change: one org, and of that one app alone unless App is empty. Apps, their versions,
// components and installs are hidden by row-level security, and with them whatever is read together with one of these.
type Scope struct{ Org, App string }

// idLetters are what ids consist of.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// begin returns the message to Postgres that starts a transaction and limits it to the scope: one round trip instead of two in every unit
// of work. Such a message has no parameters, so nothing but ids may be written into it; there is no org or app with another one.
func (s Scope) begin(how unit) (string, error) {
	for _, id := range []string{s.Org, s.App} {
		if strings.Trim(id, idLetters) != "" {
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
	return fmt.Sprintf("%s; select set_config('nuon.org', '%s', true), set_config('nuon.app', '%s', true)%s", start, s.Org, s.App, plans), nil
}

// Tx is one unit of work of one scope: the queries, and what happens with them or not at all.
type Tx struct {
	*Queries
	Scope

	tx     pgx.Tx
	river  *river.Client[pgx.Tx]
	tokens *tokenCache
	clock  *clock
}

// In runs one unit of work of one org in one transaction, which is committed when work returns nil. A unit that cannot be serialised
// beside another, or loses its connection, is run again, so work must not have effects of its own. While Postgres is away it waits a
// few seconds; then the error is an *Away. Its statements find their rows by key, so Postgres plans each once on a connection.
func (s *Store) In(ctx context.Context, org string, work func(context.Context, *Tx) error) error {
	return s.in(ctx, Scope{Org: org}, unit{byKey: true}, work)
}

// InScope is In for a unit of work that may be bound to one app, or whose statements may want another plan for other values: lists with
// filters, and what goes by age.
func (s *Store) InScope(ctx context.Context, scope Scope, work func(context.Context, *Tx) error) error {
	return s.in(ctx, scope, unit{}, work)
}

// Read is In for work that only reads, on one snapshot.
func (s *Store) Read(ctx context.Context, org string, work func(context.Context, *Tx) error) error {
	return s.in(ctx, Scope{Org: org}, unit{TxOptions: readOnly, byKey: true}, work)
}

// ReadScope is Read for a unit of work as InScope has it.
func (s *Store) ReadScope(ctx context.Context, scope Scope, work func(context.Context, *Tx) error) error {
	return s.in(ctx, scope, unit{TxOptions: readOnly}, work)
}

var readOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// unit says how a unit of work is run.
type unit struct {
	pgx.TxOptions
	byKey bool // one plan of a statement serves for all values
}

// triesOfDeadlocked is how often a unit of work that lost a deadlock is run in all.
const triesOfDeadlocked = 4

func (s *Store) in(ctx context.Context, scope Scope, how unit, work func(context.Context, *Tx) error) error {
	var patience patience
	for try := 1; ; try++ {
		err := s.once(ctx, scope, how, work)
		var away *Away
		switch {
		case errors.As(err, &away):
			s.leave(away)
			if away.Unsure || !patience.wait(ctx) {
				return err
			}
			try = 0
		case err == nil || try >= triesOfDeadlocked || !retryable(err):
			return err
		}
	}
}

// once runs one transaction. An error that means that Postgres is away is an *Away.
func (s *Store) once(ctx context.Context, scope Scope, how unit, work func(context.Context, *Tx) error) error {
	var err error
	if how.BeginQuery, err = scope.begin(how); err != nil {
		return err
	}
	tx, err := s.pool.BeginTx(ctx, how.TxOptions)
	if isAway(ctx, err, true) {
		return &Away{Err: err}
	}
	if err != nil {
		return fmt.Errorf("enter org: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit it does nothing
	watched := &watchedTx{Tx: tx}
	t := &Tx{Queries: New(watched), Scope: scope, tx: watched, river: s.river, tokens: &s.tokens, clock: &s.clock}
	err = work(ctx, t)
	if isAway(ctx, err, tx.Conn().IsClosed()) {
		return &Away{Err: err}
	}
	if err != nil {
		return err
	}
	// A commit waits for the disk even when nothing but locks was taken. There is nothing to keep.
	if !watched.wrote && tx.Conn().PgConn().TxStatus() == inTransaction {
		return nil
	}
	// The connection is the pool's again by now, so it is not looked at. Only Postgres itself says that it rolled back.
	if err = tx.Commit(ctx); isAway(ctx, err, !errors.Is(err, pgx.ErrTxCommitRollback)) {
		return &Away{Unsure: true, Err: err}
	}
	return err
}

// leave gives up the connections to a server that takes no writes any more: after a fail-over another one does.
func (s *Store) leave(away *Away) {
	var pg *pgconn.PgError
	if errors.As(away, &pg) && pg.Code == readOnlyState {
		s.pool.Reset()
	}
}

// retryable are the two outcomes that Postgres asks to be tried again: serialization_failure and deadlock_detected.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// IsConflict says that a unique constraint refused a row, and which.
func IsConflict(err error) (constraint string, ok bool) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return pg.ConstraintName, true
	}
	return "", false
}

// IsGone says that a row refers to one that somebody removed meanwhile.
func IsGone(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23503"
}

// onceWaiting merges a request with an equal one that waits, however long ago that was made. One that is being answered merges with
// none: the trigger river_job_answered takes its key away when a worker takes it.
var onceWaiting = river.UniqueOpts{
	ByArgs: true, ByState: append(river.UniqueOpts{}.ByState, "available", "pending", "retryable", "running", "scheduled"),
}

// Enqueue asks for work of the reconciler's own, if and when this transaction commits. However much is asked for at once, it is
// one statement; of equal requests that wait there is one.
func (t *Tx) Enqueue(ctx context.Context, work ...river.JobArgs) error {
	return t.enqueue(ctx, 0, work)
}

// lastPriority is that of what comes after all else in its queue (River's lowest).
const lastPriority = 4

// EnqueueLast is Enqueue for work that nobody waits for and of which there may be very much: it comes after all else in its queue.
func (t *Tx) EnqueueLast(ctx context.Context, work ...river.JobArgs) error {
	return t.enqueue(ctx, lastPriority, work)
}

// enqueue asks for work at a priority; zero is that of its kind.
func (t *Tx) enqueue(ctx context.Context, priority int, work []river.JobArgs) error {
	if len(work) == 0 {
		return nil
	}
	rows, asked := make([]river.InsertManyParams, 0, len(work)), make(map[river.JobArgs]bool, len(work))
	for _, w := range work {
		if !asked[w] {
			rows = append(rows, river.InsertManyParams{Args: w, InsertOpts: &river.InsertOpts{Priority: priority, UniqueOpts: onceWaiting}})
		}
		asked[w] = true
	}
	if _, err := t.river.InsertManyTx(ctx, t.tx, rows); err != nil {
		return fmt.Errorf("enqueue %s: %w", work[0].Kind(), err)
	}
	return nil
}

// Channels of Postgres notifications. Payloads hold ids only, divided by slashes.
const (
	ChannelJobs      = "nuon_jobs"      // org/runner: a job was queued for the runner, or one of its jobs is to be cancelled
	ChannelWorkflows = "nuon_workflows" // org/workflow: the workflow changed
	ChannelLogs      = "nuon_logs"      // org/job: lines came or the job ended
	ChannelTokens    = "nuon_tokens"    // org/token: the token was revoked
)

// Notify wakes whoever listens on a channel, if and when this transaction commits.
func (t *Tx) Notify(ctx context.Context, channel string, payloads ...string) error {
	return t.SendNotifications(ctx, channel, payloads)
}

// Event is one thing that somebody changed.
type Event struct {
	Actor, Subject string
	Detail         map[string]any
}

// Audit records who changed what. Detail must hold no secret.
func (t *Tx) Audit(ctx context.Context, actor, action, subject string, detail map[string]any) error {
	return t.AuditAll(ctx, action, []Event{{actor, subject, detail}})
}

// AuditAll is Audit for any number of changes of one kind.
func (t *Tx) AuditAll(ctx context.Context, action string, events []Event) error {
	add := AddAuditsParams{OrgID: t.Org, Action: action}
	for _, e := range events {
		if e.Detail == nil {
			e.Detail = map[string]any{}
		}
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			return fmt.Errorf("audit %s: %w", action, err)
		}
		add.Actors, add.Subjects, add.Details = append(add.Actors, e.Actor), append(add.Subjects, e.Subject), append(add.Details, string(detail))
	}
	return t.AddAudits(ctx, add)
}

// Pending is one thing of any org that is due. It is all that a loop over orgs may see.
type Pending struct{ Org, Kind, ID string }

// Kinds of Pending, as the table's constraint has them.
const (
	DueWatch   = "watch"   // a ref is to be polled
	DueAttempt = "attempt" // a lease or an offer runs out; ID is job/number
	DueInstall = "install" // an install is to be looked at again
	DueApp     = "app"     // an app is to be looked at again
	DueHealth  = "health"  // how what is deployed on an install is, is to be seen; ID is the install
	DueOrg     = "org"     // what an org has kept for long enough is to be removed; ID is the org
)

// TakeDueOptions say what TakeDue takes and until when it puts that off.
type TakeDueOptions struct {
	Most  int32 // things at once
	Polls int64 // of one org that wait or are under way
	// Again is when a thing is due again that nobody puts to another time. Resync is when an install is: its request waits until it is
	// answered.
	Again, Resync time.Duration
}

// sweptTries is how often something is tried that is due again soon.
const sweptTries = 3

// TakeDue claims things that are due and has enqueue turn each into work in the same transaction. It reports how many it took.
func (s *Store) TakeDue(ctx context.Context, o TakeDueOptions, enqueue func(Pending) river.JobArgs) (int, error) {
	n := 0
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := New(tx).TakeDue(ctx, TakeDueParams{Most: o.Most, Polls: o.Polls, AgainSeconds: o.Again.Seconds(), ResyncSeconds: o.Resync.Seconds()})
		if err != nil {
			return err
		}
		if n = len(rows); n == 0 {
			return nil
		}
		work := make([]river.InsertManyParams, n)
		for i, r := range rows {
			opts := river.InsertOpts{UniqueOpts: onceWaiting}
			if r.Kind != DueInstall {
				opts.MaxAttempts = sweptTries
			}
			work[i] = river.InsertManyParams{Args: enqueue(Pending{Org: r.OrgID, Kind: r.Kind, ID: r.ID}), InsertOpts: &opts}
		}
		_, err = s.river.InsertManyTx(ctx, tx, work)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take what is due: %w", err)
	}
	return n, nil
}

// longestWork is how long one piece of the reconciler's own work may take.
const longestWork = 5 * time.Minute

// Workers starts River's workers of a replica on this store's pool, at most so many at once of each queue. The caller stops the
// client.
func (s *Store) Workers(replica string, workers *river.Workers, most map[string]int) (*river.Client[pgx.Tx], error) {
	queues := map[string]river.QueueConfig{}
	for name, n := range most {
		queues[name] = river.QueueConfig{MaxWorkers: n}
	}
	c, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		ID:      replica, // what it has in hand is known by it (Rescue)
		Schema:  riverSchema,
		Logger:  quiet(),
		Workers: workers,
		Queues:  queues,
		// Requests to look are worthless once answered, and those that were given up are made again from what is due.
		CompletedJobRetentionPeriod: time.Minute,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
		FetchCooldown:               time.Millisecond,
		FetchPollInterval:           time.Second,
		JobTimeout:                  longestWork,
		// What a killed replica had in hand is another's soon after it could no longer have been at work on it.
		RescueStuckJobsAfter: longestWork + time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("start workers: %w", err)
	}
	return c, nil
}

// FindOrg gives the org with a name or an id.
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

// AddOrg makes an org.
func (s *Store) AddOrg(ctx context.Context, id, name string) (Org, error) {
	org, err := New(s.pool).CreateOrg(ctx, id, name)
	if err != nil {
		return Org{}, fmt.Errorf("create org %s: %w", name, err)
	}
	return org, nil
}
