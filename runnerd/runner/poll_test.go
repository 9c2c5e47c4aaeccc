package runner

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

type answerKind int

const (
	quiet   answerKind = iota // held open without a byte
	whole                     // an immediate response, all at once
	beating                   // with a byte first, and the response later
	refused
)

// proxied is a server behind a proxy. It records how long each poll asks to be held, in seconds.
type proxied struct {
	t     *testing.T
	next  answerKind
	asked int
}

// RoundTrip returns the response.
func (p *proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	var request api.LeaseRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		p.t.Error(err)
	}
	p.asked = request.WaitSeconds
	const offers = `{"offers":[]}`
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	switch p.next {
	case quiet:
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	case refused:
		answer.StatusCode, answer.Body = http.StatusServiceUnavailable, io.NopCloser(strings.NewReader("{}"))
	case beating:
		answer.Body = io.NopCloser(io.MultiReader(strings.NewReader(" "), later{strings.NewReader(offers)}))
	case whole:
		answer.Body = io.NopCloser(strings.NewReader(offers))
	}
	return answer, nil
}

// later is a part of a response that arrives after some seconds.
type later struct{ io.Reader }

// Read returns the part.
func (l later) Read(into []byte) (int, error) {
	time.Sleep(10 * time.Second)
	return l.Reader.Read(into)
}

// TestPollsAreShortWhereNoBeatComesThrough checks that behind a proxy that buffers responses
// a runner loses contact once, and not repeatedly.
func TestPollsAreShortWhereNoBeatComesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, server := Options{URL: "http://x", Timing: timing.Default()}, &proxied{t: t}
		p, err := newLeasePoller(options, apiclient.StaticToken(seal.Secret{}),
			&apiclient.ConnectionLog{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		poll := p.longPoll()
		poll.Transport = server
		p.client, err = apiclient.NewLongPollClient(options.URL, apiclient.StaticToken(seal.Secret{}), poll)
		if err != nil {
			t.Fatal(err)
		}
		for n, step := range []struct {
			answer answerKind
			free   int
			asks   int
		}{
			{whole, 1, 300}, {whole, 0, -1}, {refused, 1, 300}, {quiet, 1, 300}, {whole, 1, 30}, {refused, 1, 30},
			{whole, 0, -1}, {beating, 1, 30}, {beating, 1, 300}, {whole, 1, 300},
		} {
			server.next = step.answer
			_, err := p.lease(t.Context(), api.LeaseRequest{Free: step.free}, seal.Secret{})
			if (err != nil) != (step.answer == quiet) {
				t.Errorf("poll %d: %v", n, err)
			}
			if server.asked != step.asks {
				t.Errorf("poll %d asks to be held for %d s, want %d", n, server.asked, step.asks)
			}
		}
	})
}
