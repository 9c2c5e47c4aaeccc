package runner

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// held is the answer to a poll for work, of which only the end is known late.
type held func(w http.ResponseWriter) error

// VisitLeaseResponse gives the answer.
func (h held) VisitLeaseResponse(w http.ResponseWriter) error { return h(w) }

// Lease waits for offers. While it does, a blank goes out now and then, which JSON takes for nothing: the runner sees that its poll
// is held, and a line that broke is found out.
func (h handlers) Lease(ctx context.Context, r LeaseRequestObject) (LeaseResponseObject, error) {
	return held(func(w http.ResponseWriter) error {
		return h.hold(ctx, w, func(beat func() error) (api.Offers, error) {
			return h.dispatch.Lease(ctx, callerOf(ctx), *r.Body, beat)
		})
	}), nil
}

// hold answers with what a poll comes to. With the first beat the status is out, so what goes wrong later cannot be said any more.
// Then the answer is that there is nothing, and whoever asks again, as it does after each empty answer, is told.
func (h handlers) hold(ctx context.Context, w http.ResponseWriter, poll func(beat func() error) (api.Offers, error)) error {
	line := &heldLine{w: w, control: http.NewResponseController(w)}
	offers, err := poll(line.beat)
	switch {
	case !line.begun && err != nil:
		return err
	case !line.begun:
		return Lease200JSONResponse(offers).VisitLeaseResponse(w)
	case line.broken:
		return nil // nobody is there
	case err != nil:
		if _, known := problem.Of(faultOf(err)); !known {
			h.log.ErrorContext(ctx, "a poll that was held went wrong", "error", err)
		}
		offers = api.Offers{Offers: []api.Offer{}}
	}
	_ = json.NewEncoder(w).Encode(offers) // it always encodes, and what does not arrive is offered again
	return nil
}

// heldLine is where the signs of life of one poll go out.
type heldLine struct {
	w             http.ResponseWriter
	control       *http.ResponseController
	begun, broken bool
}

var blank = []byte(" ")

// beat sends a sign of life. How long it may take is bounded with the whole answer; an error says that the line broke.
func (l *heldLine) beat() error {
	if !l.begun {
		l.begun = true
		header := l.w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("X-Accel-Buffering", "no") // proxies that gather answers know this word
		l.w.WriteHeader(http.StatusOK)
	}
	_, err := l.w.Write(blank)
	if err == nil {
		err = l.control.Flush()
	}
	l.broken = err != nil
	return err
}
