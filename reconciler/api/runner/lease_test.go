package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// holding serves polls with the result of poll, as the runner API does.
func holding(
	t *testing.T, poll func(beat func() error) (api.Offers, error),
) (client *api.ClientWithResponses, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	h := handlers{log: slog.New(slog.NewTextHandler(log, nil))}
	server := httptest.NewServer(middleware.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.hold(r.Context(), w, poll); err != nil {
			problem.Write(w, faultOf(err))
		}
	}), middleware.Options{}))
	t.Cleanup(server.Close)
	client, err := api.NewClientWithResponses(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return client, log
}

func TestAHeldPollsAnswerIsWhole(t *testing.T) {
	none, one := api.Offers{Offers: []api.Offer{}},
		api.Offers{Offers: []api.Offer{{Job: "job_1", Attempt: 2, Kind: "plan"}}}
	for name, c := range map[string]struct {
		beats  int
		offers api.Offers
		err    error
		status int
		want   *api.Offers
		logged string
	}{
		"at once":              {0, one, nil, 200, &one, ""},
		"after beats":          {3, one, nil, 200, &one, ""},
		"nothing":              {9, none, nil, 200, &none, ""},
		"refused at once":      {0, none, runners.ErrUnknownToken, 401, nil, ""},
		"refused after beats":  {2, none, fmt.Errorf("claim: %w", runners.ErrUnknownToken), 200, &none, ""},
		"went wrong at beats":  {1, none, errors.New("the disk burns"), 200, &none, "the disk burns"},
		"half done and failed": {1, one, context.DeadlineExceeded, 200, &none, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client, log := holding(t, func(beat func() error) (api.Offers, error) {
				for range c.beats {
					if err := beat(); err != nil {
						t.Error(err)
					}
				}
				return c.offers, c.err
			})
			answer, err := client.LeaseWithResponse(t.Context(), api.LeaseRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, answer.JSON200); answer.StatusCode() != c.status || diff != "" {
				t.Errorf("answered %d (want %d): %s", answer.StatusCode(), c.status, diff)
			}
			if !strings.HasPrefix(string(answer.Body), strings.Repeat(" ", c.beats)+"{") {
				t.Errorf("%d beats, and the answer %q", c.beats, answer.Body)
			}
			if (log.Len() > 0) != (c.logged != "") || !strings.Contains(log.String(), c.logged) {
				t.Errorf("logged %q, want %q", log, c.logged)
			}
		})
	}
}

// Each keepalive is sent when beat returns: the client receives it before the next one.
func TestABeatGoesOutAtOnce(t *testing.T) {
	heard := make(chan struct{})
	client, _ := holding(t, func(beat func() error) (api.Offers, error) {
		for range 3 {
			if err := beat(); err != nil {
				return api.Offers{}, err
			}
			<-heard
		}
		return api.Offers{Offers: []api.Offer{}}, nil
	})
	answer, err := client.Lease(t.Context(), api.LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.Header.Get("X-Accel-Buffering") != "no" || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the headers %v", answer.Header)
	}
	for range 3 {
		if _, err := io.ReadFull(answer.Body, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		heard <- struct{}{}
	}
}

// A keepalive that was sent counts as a sign of life, although the client may not have received it.
// The connection must end before the next one.
func TestAtMostOneBeatGoesOutToNobody(t *testing.T) {
	if middleware.LostAfter >= timing.PollKeepalive {
		t.Errorf("a line is lost after %s, and a poll beats each %s", middleware.LostAfter, timing.PollKeepalive)
	}
}

// Keepalives detect a client that has disconnected, without an error in the log.
func TestABeatTellsThatNobodyIsThere(t *testing.T) {
	ended := make(chan error, 1)
	client, log := holding(t, func(beat func() error) (_ api.Offers, err error) {
		for err == nil {
			err = beat()
		}
		ended <- err
		return api.Offers{}, err
	})
	answer, err := client.Lease(t.Context(), api.LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if err := <-ended; err == nil || log.Len() > 0 {
		t.Errorf("ended with %v, and logged %q", err, log)
	}
}
