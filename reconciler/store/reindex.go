package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// noReindex is a schedule for River's own reindexer that never comes. It would run as the role nuon_app, which does not
// own the indexes; ReindexQueue replaces it.
type noReindex struct{}

// Next returns a time after the end of the process.
func (noReindex) Next(now time.Time) time.Time {
	const years = 100
	return now.AddDate(years, 0, 0)
}

// reindexLock is the key of the advisory lock for rebuilding the indexes of the work queue.
const reindexLock = 7_302_619_448_142

// ReindexQueue rebuilds the indexes of the work queue that have at least a number of bytes, and returns their names. It
// connects as the user of the database URL, without the role nuon_app: only the owner of an index may rebuild it. It
// does nothing while another replica does the same, and leaves out what that user does not own.
func (s *Store) ReindexQueue(ctx context.Context, atLeast int64) ([]string, error) {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("rebuild indexes of the work queue: connect to Postgres: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // there is nothing left to lose
	var locked bool
	if err := c.QueryRow(ctx, "select pg_try_advisory_lock($1)", int64(reindexLock)).Scan(&locked); err != nil || !locked {
		return nil, err
	}
	defer c.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", int64(reindexLock)) //nolint:errcheck // the end of the session releases it too
	rows, err := c.Query(ctx, `
		select i.relname from pg_index x
		join pg_class i on i.oid = x.indexrelid
		join pg_class t on t.oid = x.indrelid
		join pg_namespace n on n.oid = i.relnamespace
		where n.nspname = $1 and pg_has_role(current_user, t.relowner, 'usage')
		and (pg_relation_size(i.oid) >= $2 or not x.indisvalid)
		order by i.relname`, riverSchema, atLeast)
	if err != nil {
		return nil, fmt.Errorf("find indexes of the work queue: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find indexes of the work queue: %w", err)
	}
	var rebuilt []string
	for _, name := range names {
		command := "reindex index concurrently "
		// What an interrupted rebuild left has one of these endings, and is of no use.
		if strings.Contains(name, "_ccnew") || strings.Contains(name, "_ccold") {
			command = "drop index concurrently if exists "
		}
		if _, err := c.Exec(ctx, command+pgx.Identifier{riverSchema, name}.Sanitize()); err != nil {
			return rebuilt, fmt.Errorf("rebuild index %s of the work queue: %w", name, err)
		}
		rebuilt = append(rebuilt, name)
	}
	return rebuilt, nil
}
