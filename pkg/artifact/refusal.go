package artifact

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Reason is why a registry did not do what it was asked, as a caller may want to tell them apart.
type Reason string

// The reasons of an Error.
const (
	// Unauthorized: the registry does not know the credential, or none was given.
	Unauthorized Reason = "unauthorized"
	// Forbidden: the credential is known but does not allow this here.
	Forbidden Reason = "forbidden"
	// NotFound: there is nothing of that digest.
	NotFound Reason = "not found"
	// Unreachable: no answer came.
	Unreachable Reason = "unreachable"
	// Damaged: what came is not what its digest says.
	Damaged Reason = "damaged"
	// Oversized: what came, or would come, is above the limit.
	Oversized Reason = "too large"
	// Cancelled: the caller's context ended.
	Cancelled Reason = "cancelled"
	// Refused: any other answer than yes.
	Refused Reason = "refused"
)

// Error says which registry did not do what, why, and what to do next.
type Error struct {
	// Verb is what was tried: "push", "pull" or "look up".
	Verb string
	// Repository names the registry and the repository, so the side that refused.
	Repository Reference
	// Digest is that of the artifact.
	Digest string
	// Reason classifies Err.
	Reason Reason
	// Status is the HTTP status, zero when no answer came.
	Status int
	// Err is the cause.
	Err error
}

// Error gives one sentence that ends with what to do next.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s at registry %s: %s: %v; %s", e.Verb, e.Digest, e.Repository, e.Reason, e.Err, e.hint())
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) hint() string {
	switch e.Reason {
	case Unauthorized:
		return "give a user name and password or token that this registry knows"
	case Forbidden:
		return "let the credential " + e.Verb + " in this repository, or use another credential"
	case NotFound:
		return "check that it was pushed to this registry and not removed since"
	case Unreachable:
		return "check that the registry runs and can be reached from this machine"
	case Damaged:
		return "nothing of it was used; remove it from the registry and build it again"
	case Oversized:
		return "make it smaller: leave out what a deploy does not need"
	case Cancelled:
		return "run it again"
	default:
		return "look at the registry's own log"
	}
}

// explain gives an error of the registry client its class.
func (r *Repository) explain(verb, digest string, err error) error {
	explained := &Error{Verb: verb, Repository: r.reference, Digest: digest, Err: err}
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &answer):
		explained.Status = answer.StatusCode
	case strings.Contains(err.Error(), "mismatch"):
		// The client itself compares digests and sizes that headers name, and has no type for the error; TestPullChecksEveryByte
		// notices when its words change.
		explained.Err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	explained.Reason = reasonOf(explained.Err, explained.Status)
	return explained
}

func reasonOf(err error, status int) Reason {
	var dial *net.OpError
	var lookup *url.Error
	switch {
	case status == http.StatusUnauthorized, errors.Is(err, auth.ErrBasicCredentialNotFound):
		return Unauthorized
	case status == http.StatusForbidden:
		return Forbidden
	case status == http.StatusNotFound, errors.Is(err, errdef.ErrNotFound):
		return NotFound
	case errors.Is(err, ErrDamaged):
		return Damaged
	case errors.Is(err, ErrTooLarge):
		return Oversized
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	case status == 0 && (errors.As(err, &dial) || errors.As(err, &lookup)):
		return Unreachable
	default:
		return Refused
	}
}
