package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// inTransaction is the status of a connection in a transaction without a failed statement
// (PostgreSQL's frontend/backend protocol).
const inTransaction = 'T'

// watchedTx is the transaction of a unit of work. It records whether any statement may have written.
type watchedTx struct {
	pgx.Tx
	wrote bool
}

// Exec runs a statement.
func (w *watchedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	w.noteStatement(sql)
	return w.Tx.Exec(ctx, sql, args...)
}

// Query runs a statement that returns rows.
func (w *watchedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	w.noteStatement(sql)
	return w.Tx.Query(ctx, sql, args...)
}

// QueryRow runs a statement that returns one row.
func (w *watchedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	w.noteStatement(sql)
	return w.Tx.QueryRow(ctx, sql, args...)
}

// Begin starts a nested transaction. It counts as a write, because its statements are not watched.
func (w *watchedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	w.wrote = true
	return w.Tx.Begin(ctx)
}

// CopyFrom inserts rows.
func (w *watchedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string,
	rows pgx.CopyFromSource) (int64, error) {
	w.wrote = true
	return w.Tx.CopyFrom(ctx, table, columns, rows)
}

// SendBatch runs several statements. It counts as a write.
func (w *watchedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	w.wrote = true
	return w.Tx.SendBatch(ctx, b)
}

func (w *watchedTx) noteStatement(sql string) { w.wrote = w.wrote || !onlyReads(sql) }

// onlyReads reports whether a statement changes nothing but locks. It returns false for statements
// that it does not recognize.
func onlyReads(sql string) bool {
	text := sql
	if strings.HasPrefix(text, "-- name:") { // as sqlc starts each, with an empty line in the place of a comment
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimLeft(text, "\n")
	}
	return strings.HasPrefix(text, "select ") && !strings.Contains(text, "pg_notify(")
}
