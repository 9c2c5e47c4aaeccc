package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// ReadDigest identifies everything that a unit of work has read: statements, arguments and rows.
type ReadDigest [sha256.Size]byte

// Prefetch runs the queries of read, and returns the digest of what Postgres returned. It does not decode the rows
// of queries for many rows: for read, these queries return none. In the Tx that it returns, each of these queries is
// answered once from memory, and everything else by Postgres. So a unit of work that has seen the same rows before
// costs no more than to receive them, and any other reads them only once. Rows that read locks, or that change only
// under its locks, are as good as read again.
func (t *Tx) Prefetch(ctx context.Context, read func(context.Context, *Tx) error) (*Tx, ReadDigest, error) {
	p := &prefetched{DBTX: t.db, digest: sha256.New(), recording: true}
	with := *t
	with.Queries = New(p)
	err := read(ctx, &with)
	p.recording = false
	return &with, ReadDigest(p.digest.Sum(nil)), err
}

// Wrote reports whether a statement of this unit of work may have written something.
func (t *Tx) Wrote() bool {
	watched, is := t.tx.(*watchedTx)
	return !is || watched.wrote
}

// prefetched runs queries and records their rows, or answers queries with what it has recorded.
type prefetched struct {
	DBTX
	recording bool
	answers   []*rawRows
	digest    hash.Hash
}

// Query runs a query, or answers it from memory.
func (p *prefetched) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if p.recording {
		if _, err := p.record(ctx, sql, args); err != nil {
			return nil, err
		}
		return &rawRows{}, nil
	}
	if found := p.take(sql, args); found != nil {
		return found, nil
	}
	return p.DBTX.Query(ctx, sql, args...)
}

// QueryRow runs a query for one row, or answers it from memory. It also returns the row while it is recorded.
func (p *prefetched) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if p.recording {
		found, err := p.record(ctx, sql, args)
		if err != nil {
			return firstRow{err: err}
		}
		again := *found
		return firstRow{rows: &again}
	}
	if found := p.take(sql, args); found != nil {
		return firstRow{rows: found}
	}
	return p.DBTX.QueryRow(ctx, sql, args...)
}

// record runs a query, stores its rows and adds them to the digest.
func (p *prefetched) record(ctx context.Context, sql string, args []any) (*rawRows, error) {
	rows, err := p.DBTX.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := &rawRows{sql: sql, args: args, types: rows.TypeMap(), row: -1}
	for rows.Next() {
		if found.fields == nil {
			found.fields = slices.Clone(rows.FieldDescriptions())
		}
		for _, value := range rows.RawValues() {
			at := span{from: len(found.data), null: value == nil}
			found.data = append(found.data, value...)
			at.to = len(found.data)
			found.values = append(found.values, at)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	p.answers = append(p.answers, found)
	found.addTo(p.digest)
	return found, nil
}

// take returns the recorded rows of a query and forgets them; nil if there are none.
func (p *prefetched) take(sql string, args []any) *rawRows {
	for i, found := range p.answers {
		if found.sql == sql && reflect.DeepEqual(found.args, args) {
			p.answers = slices.Delete(p.answers, i, i+1)
			return found
		}
	}
	return nil
}

// rawRows holds the rows of one query as Postgres sent them (pgx.Rows).
type rawRows struct {
	sql    string
	args   []any
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	data   []byte // of all values, one after the other
	values []span // of all rows
	row    int    // the current one
	plans  []pgtype.ScanPlan
	dests  []reflect.Type // that the plans are for
	err    error
}

// span is the place of one value in the data.
type span struct {
	from, to int
	null     bool
}

// addTo adds the query and its rows to a digest. Every part has its length, so that no two results have the same
// text.
func (r *rawRows) addTo(digest hash.Hash) {
	header := fmt.Sprintf("%d %s %q %d %d", len(r.sql), r.sql, r.args, len(r.values), len(r.data))
	ends := binary.AppendUvarint(nil, uint64(len(header)))
	for _, at := range r.values {
		length := uint64(at.to-at.from) + 1
		if at.null {
			length = 0
		}
		ends = binary.AppendUvarint(ends, length)
	}
	for _, part := range [][]byte{[]byte(header), ends, r.data} {
		_, _ = digest.Write(part) // a hash returns no error
	}
}

// Close does nothing: the rows are in memory.
func (r *rawRows) Close() {}

// Err returns the error of the last Scan.
func (r *rawRows) Err() error { return r.err }

// CommandTag returns an empty tag.
func (r *rawRows) CommandTag() pgconn.CommandTag { return pgconn.CommandTag{} }

// FieldDescriptions returns the columns.
func (r *rawRows) FieldDescriptions() []pgconn.FieldDescription { return r.fields }

// Conn returns nil.
func (r *rawRows) Conn() *pgx.Conn { return nil }

// TypeMap returns the types by which the values are decoded.
func (r *rawRows) TypeMap() *pgtype.Map { return r.types }

// Next moves to the next row, and reports whether there is one.
func (r *rawRows) Next() bool {
	if r.err != nil || len(r.fields) == 0 || (r.row+1)*len(r.fields) >= len(r.values) {
		return false
	}
	r.row++
	return true
}

// RawValues returns the values of the current row.
func (r *rawRows) RawValues() [][]byte {
	all := make([][]byte, len(r.fields))
	for i := range all {
		all[i] = r.value(i)
	}
	return all
}

func (r *rawRows) value(column int) []byte {
	at := r.values[r.row*len(r.fields)+column]
	if at.null {
		return nil
	}
	return r.data[at.from:at.to:at.to]
}

// Values returns the decoded values of the current row.
func (r *rawRows) Values() ([]any, error) {
	all := make([]any, len(r.fields))
	for i, field := range r.fields {
		if err := r.types.Scan(field.DataTypeOID, field.Format, r.value(i), &all[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
	}
	return all, nil
}

// Scan decodes the current row.
func (r *rawRows) Scan(dest ...any) error {
	if len(dest) != len(r.fields) {
		r.err = fmt.Errorf("%d columns for %d destinations", len(r.fields), len(dest))
		return r.err
	}
	if r.plans == nil {
		r.plans, r.dests = make([]pgtype.ScanPlan, len(dest)), make([]reflect.Type, len(dest))
	}
	for i, field := range r.fields {
		if is := reflect.TypeOf(dest[i]); r.dests[i] != is {
			r.plans[i], r.dests[i] = r.types.PlanScan(field.DataTypeOID, field.Format, dest[i]), is
		}
		if err := r.plans[i].Scan(r.value(i), dest[i]); err != nil {
			r.err = fmt.Errorf("column %s: %w", field.Name, err)
			return r.err
		}
	}
	return nil
}

// firstRow is the first row of a query (pgx.Row).
type firstRow struct {
	rows *rawRows
	err  error
}

// Scan decodes the row. Without one, the error is ErrNotFound.
func (f firstRow) Scan(dest ...any) error {
	if f.err != nil {
		return f.err
	}
	if !f.rows.Next() {
		return ErrNotFound
	}
	return f.rows.Scan(dest...)
}
