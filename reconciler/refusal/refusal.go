// Package refusal defines the error with which the services of the reconciler decline a request. A
// refusal has a stable code for programs, a title that says what is wrong, and a remedy. It does not
// know HTTP: reconciler/api/problem maps its kind to a status, in one place for both APIs. All
// packages below the APIs return refusals for what a client can act on, and plain errors for
// everything else.
package refusal

import (
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Kind is the class of a refusal.
type Kind int

// The kinds of refusal.
const (
	Invalid         Kind = iota + 1 // the request is wrong in every state
	Conflict                        // the current state does not allow the request
	NotFound                        // what the request names does not exist for this client
	Unauthenticated                 // the token is missing, unknown or used up
	Forbidden                       // the token is valid and does not allow the request
	Upstream                        // another server refused its part
	Full                            // a limit on stored data is reached
	TooOften                        // the client did this as often as it may for now
)

// Error is a refusal. The client receives all of it, so it must not contain secrets or data of
// another org.
type Error struct {
	Kind       Kind
	Code       string        // a stable identifier for programs, such as not_found
	Title      string        // what is wrong
	Remedy     string        // what to do next, as sentences; may be empty
	RetryAfter time.Duration // when to repeat the request; 0 if repeating it does not help

	Diagnostics []api.Diagnostic // positions in files, if what is wrong is in files

	base *Error // the refusal that this one describes in more detail; may be nil
}

// New returns a refusal. It can serve as a sentinel: errors.Is finds it in what With returns.
func New(kind Kind, code, title, remedy string) *Error {
	return &Error{Kind: kind, Code: code, Title: title, Remedy: remedy}
}

// Error returns the title and the remedy.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Title
	}
	return e.Title + ". " + e.Remedy
}

// Unwrap returns the refusal that this one describes in more detail.
func (e *Error) Unwrap() error {
	if e.base == nil {
		return nil
	}
	return e.base
}

// With returns the refusal with details appended to its title.
func (e *Error) With(format string, args ...any) *Error {
	detailed := *e
	detailed.Title, detailed.base = e.Title+": "+fmt.Sprintf(format, args...), e
	return &detailed
}

// RetryIn returns the refusal with the time after which to repeat the request, in whole seconds and at least one.
func (e *Error) RetryIn(wait time.Duration) *Error {
	timed := *e
	timed.RetryAfter = max(wait.Round(time.Second), time.Second)
	if timed.base == nil {
		timed.base = e
	}
	return &timed
}

// ErrInvalid is the refusal of a request that breaks a rule of form or size.
var ErrInvalid = New(Invalid, "invalid", "the request is not valid", "Correct it and send it again.")

// Invalidf returns ErrInvalid with details.
func Invalidf(format string, args ...any) *Error { return ErrInvalid.With(format, args...) }
