package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// Reason classifies why a registry did not do what was requested.
type Reason string

// The reasons of an Error.
const (
	// Unauthorized: the registry does not recognize the credential, or none was sent.
	Unauthorized Reason = "unauthorized"
	// Forbidden: the credential is valid but does not allow this operation.
	Forbidden Reason = "forbidden"
	// NotFound: the repository has no content with that digest.
	NotFound Reason = "not found"
	// Unreachable: the registry did not respond.
	Unreachable Reason = "unreachable"
	// Damaged: the content does not match its digest.
	Damaged Reason = "damaged"
	// Oversized: the content exceeds the limit.
	Oversized Reason = "too large"
	// Cancelled: the caller's context ended.
	Cancelled Reason = "cancelled"
	// NotRegistry: the server is no registry.
	NotRegistry Reason = "no registry"
	// Unsupported: the content is of a kind that nuon does not handle.
	Unsupported Reason = "not supported"
	// NoDeletion: the registry lets no client delete.
	NoDeletion Reason = "no deletion"
	// Rejected: any other unsuccessful response.
	Rejected Reason = "refused"
)

// Error reports a failed registry operation, its cause, and what to do next.
type Error struct {
	// Verb is the operation, such as "push", "pull" or "look up".
	Verb string
	// Repository names the registry and the repository.
	Repository artifact.Reference
	// Digest is the digest or the tag of the content.
	Digest string
	// Reason classifies Err.
	Reason Reason
	// Status is the HTTP status, or zero without a response.
	Status int
	// Err is the cause.
	Err error
}

// Error returns one sentence that ends with what to do next.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s at registry %s: %s: %v; %s", e.Verb, e.Digest, e.Repository, e.Reason, e.Err, e.hint())
}

// Unwrap returns the cause.
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
	case NotRegistry:
		return "check the address"
	case Unsupported:
		return "push it in a newer format"
	case NoDeletion:
		return "use the registry's own rules for retention"
	case Cancelled:
		return "run it again"
	default:
		return "look at the registry's own log"
	}
}

// explain converts an error of the registry client to an *Error and classifies it.
func (r *Repository) explain(verb, digest string, err error) error {
	explained := &Error{Verb: verb, Repository: r.reference, Digest: digest, Err: withoutQuery(err)}
	var response *errcode.ErrorResponse
	switch {
	case errors.As(err, &response):
		explained.Status = response.StatusCode
	case strings.Contains(err.Error(), "mismatch"):
		// The client compares digests and sizes from headers itself, and has no type for that
		// error. TestPullChecksEveryByte fails when its text changes.
		explained.Err = fmt.Errorf("%w: %w", artifact.ErrDamaged, explained.Err)
	}
	explained.Reason = reasonOf(explained.Err, explained.Status)
	return explained
}

// unsigned is an error without the query of the address in it: registries redirect to stores of blobs with a signature
// in the query, with which anybody may read the blob for a while.
type unsigned struct {
	error
	query string // with its question mark
}

func withoutQuery(err error) error {
	var (
		response *errcode.ErrorResponse
		request  *url.Error
		address  string
	)
	switch {
	case errors.As(err, &response) && response.URL != nil:
		address = response.URL.String()
	case errors.As(err, &request):
		address = request.URL
	}
	if at := strings.IndexByte(address, '?'); at >= 0 {
		return unsigned{err, address[at:]}
	}
	return err
}

// Error returns the message.
func (u unsigned) Error() string { return strings.ReplaceAll(u.error.Error(), u.query, "") }

// Unwrap returns the whole error.
func (u unsigned) Unwrap() error { return u.error }

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
	case errors.Is(err, artifact.ErrDamaged):
		return Damaged
	case errors.Is(err, artifact.ErrTooLarge):
		return Oversized
	case errors.Is(err, errNoDeletion):
		return NoDeletion
	case errors.Is(err, ErrUnsupported):
		return Unsupported
	case errors.Is(err, ErrNotRegistry):
		return NotRegistry
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	case status == 0 && (errors.As(err, &dial) || errors.As(err, &lookup) || errors.Is(err, io.ErrUnexpectedEOF)):
		return Unreachable
	default:
		return Rejected
	}
}
