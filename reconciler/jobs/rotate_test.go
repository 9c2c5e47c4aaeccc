package jobs_test

import (
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

func TestARunnerKeyIsGoodUntilTheNextOneIsUsed(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	enter := func(key string) error {
		_, err := w.Runners.Authenticate(t.Context(), key)
		return err
	}
	ask := func() string {
		t.Helper()
		key, err := w.Runners.RotateKey(t.Context(), runner.Caller)
		must(t, err)
		return key.RunnerKey
	}
	lost := ask() // the response was lost
	must(t, enter(runner.Key))
	next := ask()
	wantIs(t, enter(lost), runners.ErrUnknownToken)
	must(t, enter(runner.Key)) // as often as it likes, as long as the next key was not used
	must(t, enter(runner.Key))
	var both sync.WaitGroup // the first use may be two requests at once
	for range 4 {
		both.Go(func() {
			if err := enter(next); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	wantIs(t, enter(runner.Key), runners.ErrUnknownToken)
	must(t, enter(next))
	if got := w.Text(
		t, "select string_agg(action, ', ' order by id) from audit_events where subject = $1", runner.Runner,
	); got != "runner.register, runner.ask_key, runner.ask_key, runner.rotate_key" {
		t.Errorf("the audit says %s", got)
	}
	var err error
	runner.Caller, err = w.Runners.Authenticate(t.Context(), next)
	must(t, err)
	after := ask()
	replace(t, w, runner, false)
	for _, key := range []string{next, after} {
		wantIs(t, enter(key), runners.ErrUnknownToken)
	}
	_, err = w.Runners.RotateKey(t.Context(), runner.Caller)
	wantIs(t, err, runners.ErrUnknownToken)
}

// A poll that the runner started with its old key must not claim jobs meant for its new one.
func TestAPollWithAKeyThatWasRotatedAwayEndsWithNothing(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	before, err := w.Runners.Authenticate(t.Context(), runner.Key)
	must(t, err)
	key, err := w.Runners.RotateKey(t.Context(), before)
	must(t, err)
	after, err := w.Runners.Authenticate(t.Context(), key.RunnerKey)
	must(t, err)
	w.Job(t, runner, "plan", "")
	for _, poll := range []struct {
		caller runners.Caller
		want   int
	}{{before, 0}, {after, 1}} {
		offers, err := w.Jobs.Lease(t.Context(), poll.caller, api.LeaseRequest{Free: 1, WaitSeconds: -1}, nil)
		must(t, err)
		if len(offers.Offers) != poll.want {
			t.Errorf("offered %v, want %d", offers.Offers, poll.want)
		}
	}
	_, err = w.Runners.RotateKey(t.Context(), before)
	wantIs(t, err, runners.ErrUnknownToken)
	must(t, func() error { _, err := w.Runners.Authenticate(t.Context(), key.RunnerKey); return err }())
}
