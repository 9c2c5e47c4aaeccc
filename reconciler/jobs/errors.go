package jobs

import (
	"errors"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// The refusals of this package. refusal.ErrInvalid is another.
var (
	// ErrNotFound: the job or attempt does not exist, or belongs to another caller.
	ErrNotFound = refusal.New(refusal.NotFound, "not_found", "there is no such job or attempt",
		"It may belong to another runner, or have been removed.")
	// ErrOfferGone: the offer was withdrawn, or another attempt has taken its place.
	ErrOfferGone = refusal.New(refusal.Conflict, "offer_gone", "the offer has expired",
		"Discard this attempt and lease again.")
	// ErrNotRunning: the attempt is not accepted yet or has ended, so it cannot do this.
	ErrNotRunning = refusal.New(refusal.Conflict, "not_running", "the attempt is not running",
		"Only an attempt that was accepted and has not ended can do this.")
)

// ErrChanged reports that a row has changed since it was read, so that nothing was written.
var ErrChanged = errors.New("the row changed in the meantime; try again")

// staleJob is an owner's error that a job must not start any more.
type staleJob struct{ reason string }

func (e staleJob) Error() string { return e.reason }

// Stale returns the error by which Owner.JobAccepted refuses a job permanently: the job ends as
// failed with the result `stale` and the reason. Any other error leaves the offer open, and the
// runner may accept again.
func Stale(reason string) error { return staleJob{reason} }
