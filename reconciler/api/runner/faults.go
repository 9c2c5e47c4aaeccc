package runner

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
)

var (
	errNoToken    = errors.New("the request has no token")
	errWrongToken = errors.New("this token does not open this route")
)

// fault is the HTTP form of one error of package dispatch.
type fault struct {
	err    error
	status int
	code   string
	detail string
}

// faults lists all errors that a runner can receive. The title is the error's own text, which
// dispatch writes for people.
var faults = []fault{
	{errNoToken, http.StatusUnauthorized, "no_token", "Send the runner key or the attempt token as a bearer token."},
	{dispatch.ErrUnknownToken, http.StatusUnauthorized, "unknown_token", "If the runner was replaced, register its new machine with the token that was made then; an attempt uses the newest token that it was given."},
	{
		dispatch.ErrRegistration, http.StatusUnauthorized, "registration_refused",
		"Make another with `nuon runners register`, and use it once, within the hour.",
	},
	{
		errWrongToken, http.StatusForbidden, "wrong_token",
		"Runner keys lease and deliver; attempt tokens read the spec, the state and artifacts.",
	},
	{dispatch.ErrNotFound, http.StatusNotFound, "not_found", "It may belong to another runner, or be gone."},
	{dispatch.ErrNoState, http.StatusNotFound, "no_state", "Start with an empty state."},
	{dispatch.ErrOfferGone, http.StatusConflict, "offer_gone", "Drop this attempt and lease again."},
	{
		dispatch.ErrNotRunning, http.StatusConflict, "not_running",
		"Only an attempt that was accepted and has not ended can do this.",
	},
	{dispatch.ErrInvalid, http.StatusUnprocessableEntity, "invalid", "Correct it and send it again."},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "too_slow", "Try again."},
	{context.Canceled, http.StatusServiceUnavailable, "cancelled", "Try again."},
}

// noRoomAgain is the delay, in seconds, after which a runner sends a state again that exceeded a
// limit.
const noRoomAgain = 30

// faultOf turns an error into a problem. An error without an entry stays unchanged and becomes a
// 500 without details.
func faultOf(err error) error {
	var full *dispatch.NoRoomError
	if errors.As(err, &full) {
		p := problem.New(http.StatusInsufficientStorage, "no_room", sentence(err, full),
			"Keep it and send it again. `nuon state list` tells a person what to do.")
		p.RetryAfter = noRoomAgain
		return p
	}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return problem.New(f.status, f.code, sentence(err, f.err), f.detail)
		}
	}
	return err
}

// sentence returns the part of an error that a runner receives: from the text of the sentinel on,
// without what was wrapped around it.
func sentence(err, sentinel error) string {
	_, particulars, _ := strings.Cut(err.Error(), sentinel.Error())
	text := sentinel.Error() + particulars
	return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ".") + "."
}
