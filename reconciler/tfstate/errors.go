package tfstate

import (
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// The refusals of this package. refusal.ErrInvalid is another.
var (
	// ErrNoState: the install component has no Terraform state yet.
	ErrNoState = refusal.New(refusal.NotFound, "no_state", "there is no state yet", "Start with an empty state.")
	// ErrNotLocked: no attempt holds the state lock.
	ErrNotLocked = refusal.New(refusal.NotFound, "not_locked", "the state is not locked", "There is nothing to do.")
	// ErrNotContested: the state version needs no decision, or does not exist.
	ErrNotContested = refusal.New(refusal.Conflict, "not_contested", "the version is neither contested nor withheld",
		"No decision is needed.")
	// ErrLimit: storing a state would exceed a limit. Its runner stores it and sends it again.
	ErrLimit = &refusal.Error{
		Kind: refusal.Full, Code: "no_room", Title: "the limit for stored states is reached",
		Remedy:     "Keep it and retry. See `nuon state list`.",
		RetryAfter: 30 * time.Second,
	}
)

// LockedError reports that another attempt holds a state lock.
type LockedError struct {
	ID     string // the lock id of the holder
	Info   []byte // what Terraform reported about the holder, as JSON
	Holder string // description of the holder for people
}

// Error names the holder.
func (e *LockedError) Error() string { return "the state is locked by " + e.Holder }
