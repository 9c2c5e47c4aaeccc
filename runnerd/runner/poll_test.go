package runner

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// TestPollsAreShortWhereNoBeatComesThrough checks that behind a proxy that buffers responses
// a runner loses contact once, and not repeatedly.
func TestPollsAreShortWhereNoBeatComesThrough(t *testing.T) {
	type kind int
	const (
		quiet   kind = iota // held open without a byte
		whole               // an immediate response, all at once
		beating             // with a byte first, and the response later
		refused
	)
	next, asked := make(chan kind, 1), make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request api.LeaseRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		asked <- request.WaitSeconds
		w.Header().Set("Content-Type", "application/json")
		switch <-next {
		case quiet:
			<-r.Context().Done()
			return
		case refused:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("{}"))
			return
		case beating:
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			backoff.Pause(r.Context(), 300*time.Millisecond)
		}
		_ = json.NewEncoder(w).Encode(api.Offers{Offers: []api.Offer{}})
	}))
	defer server.Close()
	options := Options{URL: server.URL, Timing: timing.Default()}
	options.Timing.LongPollSilence, options.Timing.BatchInterval = 2*time.Second, 100*time.Millisecond
	p, err := newLeasePoller(options, apiclient.StaticToken(seal.Secret{}),
		&apiclient.ConnectionLog{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for n, step := range []struct {
		answer kind
		free   int
		asks   int
	}{
		{whole, 1, 300}, {whole, 0, -1}, {refused, 1, 300}, {quiet, 1, 300}, {whole, 1, 30}, {refused, 1, 30}, {whole, 0, -1},
		{beating, 1, 30}, {beating, 1, 300},
		{whole, 1, 300},
	} {
		next <- step.answer
		_, err := p.lease(context.WithoutCancel(t.Context()), api.LeaseRequest{Free: step.free}, seal.Secret{})
		if (err != nil) != (step.answer == quiet) {
			t.Errorf("poll %d: %v", n, err)
		}
		if got := <-asked; got != step.asks {
			t.Errorf("poll %d asks to be held for %d s, want %d", n, got, step.asks)
		}
	}
}
