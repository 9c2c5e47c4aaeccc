package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unavailable is the error for an unreachable or lost Postgres. The work was not done, unless CommitUnknown.
type Unavailable struct {
	// CommitUnknown is set if the connection was lost during the commit, so the work may have been done.
	CommitUnknown bool
	// Err is the cause.
	Err error
}

// Error returns the cause.
func (a *Unavailable) Error() string {
	if a.CommitUnknown {
		return "the database became unavailable during a commit, which may have succeeded: " + a.Err.Error()
	}
	return "the database is unavailable: " + a.Err.Error()
}

// Unwrap returns the cause.
func (a *Unavailable) Unwrap() error { return a.Err }

// RetryAfter is the time to wait before a retry; package problem turns it into a 503.
func (a *Unavailable) RetryAfter() time.Duration { return time.Second }

// Limits of the retries of a unit of work while Postgres is unreachable: the total time, and the
// pause between two attempts. A restart or a fail-over of a small server takes a few seconds.
const (
	maxRetryTime     = 5 * time.Second
	firstRetryPause  = 20 * time.Millisecond
	maxRetryPause    = 500 * time.Millisecond
	readOnlySQLState = "25006" // the server has become a standby
)

// isUnavailable reports whether a statement's error means that Postgres is unreachable or was lost. For
// errors that do not come from Postgres, lost is the answer: the connection is missing or closed.
func isUnavailable(ctx context.Context, err error, lost bool) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return lost
	}
	// Connection failures, shutdowns and starts, too many connections.
	return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") || pg.Code == "53300" ||
		pg.Code == readOnlySQLState
}

// wait pauses before the next attempt, longer each time. It returns false once the time is up or
// ctx has ended.
func (p *retryBudget) wait(ctx context.Context) bool {
	if p.until.IsZero() {
		p.until, p.pause = time.Now().Add(maxRetryTime), firstRetryPause
	}
	if time.Now().Add(p.pause).After(p.until) {
		return false
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, maxRetryPause)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// retryBudget limits how long one unit of work retries. In its zero value the time has not started.
type retryBudget struct {
	until time.Time
	pause time.Duration
}
