package runner

import (
	"context"
	"errors"
	"net/http"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// The refusals of the authorizer.
var (
	errNoToken = refusal.New(refusal.Unauthenticated, "no_token", "the request has no token",
		"Send the runner key or the attempt token as a bearer token.")
	errWrongToken = refusal.New(refusal.Forbidden, "wrong_token", "this token is not allowed on this route",
		"Runner keys lease and deliver; attempt tokens read the spec, the state and artifacts.")
)

// faultOf turns the end of a request's time into a problem. Refusals are problems already, and any
// other error becomes a 500 without details.
func faultOf(err error) error {
	if _, known := problem.Of(err); known {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(http.StatusServiceUnavailable, "too_slow", context.DeadlineExceeded.Error(), "Try again.")
	case errors.Is(err, context.Canceled):
		return problem.New(http.StatusServiceUnavailable, "cancelled", context.Canceled.Error(), "Try again.")
	}
	return err
}
