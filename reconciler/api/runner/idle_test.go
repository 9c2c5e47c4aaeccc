package runner_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// A runner that found nothing is admitted without a query. Each of these events must end that: a
// job, a change of its own file, another key.
func TestAnIdleRunnerIsNeverLeftBehind(t *testing.T) {
	s := serve(t, nil)
	r := s.Runner(t, runners.KindInstall)
	lease := func(request api.LeaseRequest) (offers api.Offers) {
		t.Helper()
		request.Free = 1
		s.ok(t, http.MethodPost, "/runner/v1/lease", r.Key, request, &offers)
		return offers
	}
	atOnce := api.LeaseRequest{WaitSeconds: -1}
	for range 3 {
		if got := lease(atOnce); len(got.Offers) != 0 {
			t.Fatalf("offered %v where nothing is queued", got)
		}
	}
	job := s.Job(t, r, "action", "")
	// The notification may still be on its way when the poll starts; then it arrives during the
	// wait.
	if got := lease(api.LeaseRequest{}); len(got.Offers) != 1 || got.Offers[0].Job != job {
		t.Fatalf("offered %v, want job %s, which was queued between two polls", got, job)
	}
	for range 3 {
		lease(atOnce)
	}
	lease(api.LeaseRequest{WaitSeconds: -1, Policy: api.RunnerPolicy{Off: true, Reason: "closed for the winter"}})
	if kept := s.Text(
		t, "select policy->>'reason' from runners where id = $1", r.Runner,
	); kept != "closed for the winter" {
		t.Errorf("what the runner says of itself is kept as %q", kept)
	}
}

func TestAVoidKeyEndsIdlePolls(t *testing.T) {
	s := serve(t, nil)
	r := s.Runner(t, runners.KindInstall)
	request := api.LeaseRequest{Free: 1, WaitSeconds: -1}
	for range 3 {
		s.ok(t, http.MethodPost, "/runner/v1/lease", r.Key, request, nil)
	}
	s.In(t, func(ctx context.Context, tx *store.Tx) error {
		_, err := s.Jobs.Replace(ctx, tx, jobs.Replacement{Runner: r.Runner, Reason: "its machine burnt"})
		return err
	})
	// A poll that starts before the notification arrives is ended by it, without an offer; the next
	// one is refused.
	request.WaitSeconds = 0
	last := s.call(t, http.MethodPost, "/runner/v1/lease", r.Key, request)
	if last.status == http.StatusOK {
		last = s.call(t, http.MethodPost, "/runner/v1/lease", r.Key, request)
	}
	if last.status != http.StatusUnauthorized {
		t.Errorf("the key of a machine that was replaced is answered %d %s", last.status, last.body)
	}
}
