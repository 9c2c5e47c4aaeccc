package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// templateState is how a new database is.
type templateState struct {
	// Schema changes with everything that a test may change in the schema.
	Schema string
	// Digest returns the tables that have rows.
	Digest string
	// Rows are the tables with rows, and their digests. Those are left, and compared.
	Rows map[string]string
	// Sequences are the values of those that were used.
	Sequences map[string]int64
}

// errOther is about a database that is not as a new one would be.
var errOther = errors.New("not as it was")

// largest is how large a table or an index may have become, in bytes, in a database that is used again: one
// that was large is slow to read even when it is empty.
const largest = 2 << 20

// schemaNow digests the catalog's rows about what is not Postgres' own: their number, and the newest
// transaction that wrote one of them. With it is what analyze has found, which moves plans.
const schemaNow = `select concat_ws(' ',
	(select count(*) || '/' || max(xmin::text::bigint) from pg_class where oid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_attribute where attrelid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_attrdef),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_index where indexrelid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_constraint where oid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_trigger),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_policy),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_proc where oid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_type where oid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_namespace where oid >= 16384),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_extension),
	(select count(*) || '/' || max(xmin::text::bigint) from pg_event_trigger),
	(select count(*) from pg_statistic where starelid >= 16384))`

// strayNow counts what is set for the database alone, and its large objects.
const strayNow = `select (select count(*) from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database()))
	+ (select count(*) from pg_largeobject_metadata)`

// readBase reads a database that nobody has used.
func readBase(ctx context.Context, db *pgx.Conn) (templateState, error) {
	b := templateState{Rows: map[string]string{}}
	tables, err := column(ctx, db, `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`)
	if err != nil {
		return b, err
	}
	var looks []string
	for _, table := range tables {
		looks = append(looks, fmt.Sprintf("select '%s' where exists (select from %s)", table, table))
	}
	b.Digest = strings.Join(looks, " union all ")
	filled, err := column(ctx, db, b.Digest)
	if err != nil {
		return b, err
	}
	for _, table := range filled {
		if b.Rows[table], err = digest(ctx, db, table); err != nil {
			return b, err
		}
	}
	if b.Sequences, err = usedSequences(ctx, db); err != nil {
		return b, err
	}
	return b, db.QueryRow(ctx, schemaNow).Scan(&b.Schema)
}

// usedSequences returns the last values of the sequences that gave any.
func usedSequences(ctx context.Context, db *pgx.Conn) (map[string]int64, error) {
	rows, err := db.Query(ctx, `select seqrelid::regclass::text, pg_sequence_last_value(seqrelid) from pg_sequence
		where pg_sequence_last_value(seqrelid) is not null`)
	if err != nil {
		return nil, err
	}
	used, name, last := map[string]int64{}, "", int64(0)
	_, err = pgx.ForEachRow(rows, []any{&name, &last}, func() error {
		used[name] = last
		return nil
	})
	return used, err
}

// restore empties a database.
func (b templateState) restore(ctx context.Context, db *pgx.Conn) error {
	var schema string
	var size, strays, deadlocks int64
	err := db.QueryRow(ctx, `select (`+schemaNow+`), (`+strayNow+`),
		(select max(pg_relation_size(oid)) from pg_class where oid >= 16384 and relkind in ('r', 'i')),
		(select deadlocks from pg_stat_database where datname = current_database())`).Scan(&schema, &strays, &size, &deadlocks)
	if err != nil {
		return err
	}
	if schema != b.Schema || strays != 0 || deadlocks != 0 || size > largest {
		return errOther
	}
	filled, err := column(ctx, db, b.Digest)
	if err != nil {
		return err
	}
	// Without foreign keys and triggers, the order does not matter, and what forbids it is not asked.
	undo := []string{"begin", "set local session_replication_role = replica"}
	for _, table := range filled {
		if _, keep := b.Rows[table]; !keep {
			undo = append(undo, "delete from "+table)
		}
	}
	used, err := usedSequences(ctx, db)
	if err != nil {
		return err
	}
	for name, now := range used {
		if first, keep := b.Sequences[name]; !keep {
			undo = append(undo, fmt.Sprintf("select setval(seqrelid, seqstart, false) from pg_sequence where seqrelid = "+
				"'%s'::regclass", name))
		} else if now != first {
			undo = append(undo, fmt.Sprintf("select setval('%s', %d)", name, first))
		}
	}
	if err := execBatch(ctx, db, append(undo, "commit")); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(b.Rows)) {
		if now, err := digest(ctx, db, table); err != nil || now != b.Rows[table] {
			return errors.Join(err, errOther)
		}
	}
	return nil
}

// snapshot are the rows that a database has more than a new one, by table, and the state of its sequences.
type snapshot struct {
	rows      map[string][]byte
	sequences map[string]int64
}

// snapshot reads the rows of a database.
func (s *server) snapshot(ctx context.Context, db *pgx.Conn) (snapshot, error) {
	found := snapshot{rows: map[string][]byte{}}
	filled, err := column(ctx, db, s.base.Digest)
	if err != nil {
		return found, err
	}
	for _, table := range filled {
		if _, keep := s.base.Rows[table]; keep {
			continue
		}
		var rows bytes.Buffer
		if _, err := db.PgConn().CopyTo(ctx, &rows, "copy "+table+" to stdout"); err != nil {
			return found, fmt.Errorf("read %s: %w", table, err)
		}
		found.rows[table] = rows.Bytes()
	}
	found.sequences, err = usedSequences(ctx, db)
	return found, err
}

// restore writes the rows into an empty database.
func (s snapshot) restore(ctx context.Context, db *pgx.Conn) error {
	first := []string{"set session_replication_role = replica"}
	for name, last := range s.sequences {
		first = append(first, fmt.Sprintf("select setval('%s', %d)", name, last))
	}
	if err := execBatch(ctx, db, first); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(s.rows)) {
		if _, err := db.PgConn().CopyFrom(ctx, bytes.NewReader(s.rows[table]), "copy "+table+" from stdin"); err != nil {
			return fmt.Errorf("write %s: %w", table, err)
		}
	}
	return execBatch(ctx, db, []string{"reset session_replication_role"})
}

// execBatch runs statements in one round trip.
func execBatch(ctx context.Context, db *pgx.Conn, statements []string) error {
	_, err := db.PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	return err
}

func column(ctx context.Context, db *pgx.Conn, sql string) ([]string, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func digest(ctx context.Context, db *pgx.Conn, table string) (of string, err error) {
	err = db.QueryRow(ctx, fmt.Sprintf("select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from %s t",
		table)).Scan(&of)
	return of, err
}
