package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Away says that Postgres could not be reached, or went away in the middle. What was to be done was not done, unless Unsure.
type Away struct {
	// Unsure: the connection was lost while the transaction was being committed, so it may have been done.
	Unsure bool
	// Err is the cause.
	Err error
}

// Error gives the cause.
func (a *Away) Error() string {
	if a.Unsure {
		return "the database went away during a commit, which may have been done: " + a.Err.Error()
	}
	return "the database is away: " + a.Err.Error()
}

// Unwrap gives the cause.
func (a *Away) Unwrap() error { return a.Err }

// RetryAfter is when to ask again; package problem makes it a 503.
func (a *Away) RetryAfter() time.Duration { return time.Second }

// How long a unit of work waits for Postgres to come back before it gives up, and between two tries. A restart or a fail-over of a
// small server takes a few seconds.
const (
	awayPatience  = 5 * time.Second
	firstPause    = 20 * time.Millisecond
	longestPause  = 500 * time.Millisecond
	readOnlyState = "25006" // this server is a standby now
)

// isAway tells that Postgres cannot be reached, or has gone, from all that it has to say about a statement. lost says that there is no
// connection, or that it is closed.
func isAway(ctx context.Context, err error, lost bool) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return lost
	}
	// Connection failures, shutdowns and starts, too many connections.
	return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") || pg.Code == "53300" || pg.Code == readOnlyState
}

// wait pauses between two tries, longer each time; false when the patience, or ctx, is over.
func (p *patience) wait(ctx context.Context) bool {
	if p.until.IsZero() {
		p.until, p.pause = time.Now().Add(awayPatience), firstPause
	}
	if time.Now().Add(p.pause).After(p.until) {
		return false
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, longestPause)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// patience is how much longer one unit of work waits for Postgres. Its zero value has not begun to wait.
type patience struct {
	until time.Time
	pause time.Duration
}
