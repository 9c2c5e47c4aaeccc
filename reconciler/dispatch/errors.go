package dispatch

import (
	"errors"
	"fmt"
)

// What a runner can be told. Each is wrapped with the particulars in words that a person may read; whoever serves them adds what
// to do next.
var (
	// ErrUnknownToken: nobody issued this token, or it has been replaced.
	ErrUnknownToken = errors.New("the token is not known")
	// ErrRegistration: a registration token that is unknown, used or too old. Which of them is not told.
	ErrRegistration = errors.New("the registration token is unknown, was used already, or is older than an hour")
	// ErrNotFound: there is no such job or attempt, or it is not this caller's.
	ErrNotFound = errors.New("there is no such job or attempt")
	// ErrOfferGone: the offer was withdrawn, or another attempt has taken its place.
	ErrOfferGone = errors.New("the offer is gone")
	// ErrNotRunning: the attempt is not accepted yet, or has ended, and cannot do this.
	ErrNotRunning = errors.New("the attempt is not running")
	// ErrInvalid: what was sent breaks a rule of form or size.
	ErrInvalid = errors.New("that cannot be taken")
	// ErrNoState: the install component has no Terraform state yet.
	ErrNoState = errors.New("there is no state yet")
	// ErrRegistered: a machine has registered as this runner, and it is that machine's until it is replaced.
	ErrRegistered = errors.New("a machine has registered as this runner already")
	// ErrNotLocked: nobody holds the state lock.
	ErrNotLocked = errors.New("the state is not locked")
	// ErrNotContested: the state version waits for no person, or there is none of that number.
	ErrNotContested = errors.New("the version is neither contested nor withheld")
	// ErrNameTaken: another runner of the org has the name.
	ErrNameTaken = errors.New("the name is taken")
)

// LockedError says that another attempt holds a state lock.
type LockedError struct {
	ID     string // the holder's lock id
	Info   []byte // what Terraform said of the holder, as JSON
	Holder string // who holds it, in words
}

// Error names the holder.
func (e *LockedError) Error() string { return "the state is locked by " + e.Holder }

// refusal is an owner's word that a job must not start any more.
type refusal struct{ reason string }

func (r refusal) Error() string { return r.reason }

// Refuse makes the error by which Owner.JobAccepted says, for good, that a job must not start: its job then ends as failed with
// the result `stale` and the reason. Any other error leaves the offer standing, and the runner may accept again.
func Refuse(reason string) error { return refusal{reason} }

// invalid is ErrInvalid with particulars.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
