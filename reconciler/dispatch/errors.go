package dispatch

import (
	"errors"
	"fmt"
)

// Errors that a runner can receive. Each is wrapped with details that a person can read; the API
// adds what to do next.
var (
	// ErrUnknownToken: the token was never issued, or was replaced.
	ErrUnknownToken = errors.New("the token is not known")
	// ErrRegistration: the registration token is unknown, used or too old. The error does not
	// reveal which.
	ErrRegistration = errors.New("the registration token is unknown, was used already, or is older than an hour")
	// ErrNotFound: the job or attempt does not exist, or belongs to another caller.
	ErrNotFound = errors.New("there is no such job or attempt")
	// ErrOfferGone: the offer was withdrawn, or another attempt has taken its place.
	ErrOfferGone = errors.New("the offer is gone")
	// ErrNotRunning: the attempt is not accepted yet or has ended, so it cannot do this.
	ErrNotRunning = errors.New("the attempt is not running")
	// ErrInvalid: the request breaks a rule of form or size.
	ErrInvalid = errors.New("that cannot be taken")
	// ErrNoState: the install component has no Terraform state yet.
	ErrNoState = errors.New("there is no state yet")
	// ErrRegistered: a machine has registered as this runner, which belongs to it until it is
	// replaced.
	ErrRegistered = errors.New("a machine has registered as this runner already")
	// ErrNotLocked: no attempt holds the state lock.
	ErrNotLocked = errors.New("the state is not locked")
	// ErrNotContested: the state version needs no decision, or does not exist.
	ErrNotContested = errors.New("the version is neither contested nor withheld")
	// ErrNameTaken: another runner of the org has the name.
	ErrNameTaken = errors.New("the name is taken")
)

// LockedError reports that another attempt holds a state lock.
type LockedError struct {
	ID     string // the lock id of the holder
	Info   []byte // what Terraform reported about the holder, as JSON
	Holder string // description of the holder for people
}

// Error names the holder.
func (e *LockedError) Error() string { return "the state is locked by " + e.Holder }

// refusal is an owner's error that a job must not start any more.
type refusal struct{ reason string }

func (r refusal) Error() string { return r.reason }

// Refuse returns the error by which Owner.JobAccepted refuses a job permanently: the job ends as
// failed with the result `stale` and the reason. Any other error leaves the offer open, and the
// runner may accept again.
func Refuse(reason string) error { return refusal{reason} }

// invalid returns ErrInvalid with details.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
