package fault

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// TestAHeldPollNoticesAHole checks that a runner whose poll is held open for minutes detects a dead
// connection as soon as a heartbeat is late, and reconnects when the connection works again.
func TestAHeldPollNoticesAHole(t *testing.T) {
	const beat, silence = 50 * time.Millisecond, 3 * time.Second
	left := make(chan struct{}, 8) // requests that have ended
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for backoff.Pause(r.Context(), beat) {
			if _, err := w.Write([]byte(" ")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(server.Close)
	p := proxyTo(t, server.URL)
	heard := make(chan struct{}, 1)
	client, err := apiclient.NewLongPollClient(p.URL(), apiclient.StaticToken(seal.Secret{}),
		apiclient.LongPoll{Silence: silence, Limit: time.Hour, OnRead: func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	poll := func() <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := client.LeaseWithResponse(t.Context(), api.LeaseRequest{})
			ended <- err
		}()
		return ended
	}
	for range 2 {
		ended := poll()
		for alive := false; !alive; {
			select {
			case <-heard:
				alive = true
			case err := <-ended: // a busy machine was itself silent for that long
				t.Logf("again after %v", err)
				ended = poll()
			}
		}
		p.SetFaults(Faults{Blackhole: true})
		if err := testtime.Receive(t, ended, "the end of a poll in a hole"); !errors.Is(err, apiclient.ErrSilent) {
			t.Errorf("in a hole: %v", err)
		}
		<-left // the proxy ends the request at the server, too
		p.SetFaults(Faults{})
		for len(heard) > 0 {
			<-heard
		}
	}
}
