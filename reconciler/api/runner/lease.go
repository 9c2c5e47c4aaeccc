package runner

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// held is the response to a poll for work, whose content is known only at its end.
type held func(w http.ResponseWriter) error

// VisitLeaseResponse writes the response.
func (h held) VisitLeaseResponse(w http.ResponseWriter) error { return h(w) }

// Lease waits for offers. While it waits, it sends a space at intervals, which JSON ignores: the
// runner sees that its poll is held, and a broken connection is detected.
func (h handlers) Lease(ctx context.Context, r LeaseRequestObject) (LeaseResponseObject, error) {
	return held(func(w http.ResponseWriter) error {
		return h.hold(ctx, w, func(beat func() error) (api.Offers, error) {
			return h.jobs.Lease(ctx, callerOf(ctx), *r.Body, beat)
		})
	}), nil
}

// hold writes the result of a poll. The first keepalive sends the status, so a later error cannot
// be reported. The response is then an empty list, after which the runner polls again and gets the
// error.
func (h handlers) hold(
	ctx context.Context, w http.ResponseWriter, poll func(beat func() error) (api.Offers, error),
) error {
	line := &heldLine{w: w, control: http.NewResponseController(w)}
	offers, err := poll(line.beat)
	switch {
	case !line.begun && err != nil:
		return err
	case !line.begun:
		return Lease200JSONResponse(offers).VisitLeaseResponse(w)
	case line.broken:
		return nil // the client has disconnected
	case err != nil:
		if _, known := problem.Of(faultOf(err)); !known {
			h.log.ErrorContext(ctx, "long poll failed", "error", err)
		}
		offers = api.Offers{Offers: []api.Offer{}}
	}
	_ = json.NewEncoder(w).Encode(offers) // it always encodes, and offers that do not arrive are offered again
	return nil
}

// heldLine is the connection that carries the keepalives of one poll.
type heldLine struct {
	w             http.ResponseWriter
	control       *http.ResponseController
	begun, broken bool
}

var blank = []byte(" ")

// beat sends a keepalive. The time limit of the whole response applies to it; an error means that
// the connection broke.
func (l *heldLine) beat() error {
	if !l.begun {
		l.begun = true
		header := l.w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("X-Accel-Buffering", "no") // turns off the buffering of proxies that support it
		l.w.WriteHeader(http.StatusOK)
	}
	_, err := l.w.Write(blank)
	if err == nil {
		err = l.control.Flush()
	}
	l.broken = err != nil
	return err
}
