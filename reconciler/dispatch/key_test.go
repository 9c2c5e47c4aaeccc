package dispatch_test

import (
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch/dispatchtest"
)

func TestARunnerKeyIsGoodUntilTheNextOneIsUsed(t *testing.T) {
	w := dispatchtest.New(t)
	runner := w.Runner(t, dispatch.RunnerInstall)
	enter := func(key string) error {
		_, err := w.Dispatch.Authenticate(t.Context(), key)
		return err
	}
	ask := func() string {
		t.Helper()
		key, err := w.Dispatch.RotateKey(t.Context(), runner.Caller)
		must(t, err)
		return key.RunnerKey
	}
	lost := ask() // the response was lost
	must(t, enter(runner.Key))
	next := ask()
	wantIs(t, enter(lost), dispatch.ErrUnknownToken)
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
	wantIs(t, enter(runner.Key), dispatch.ErrUnknownToken)
	must(t, enter(next))
	if got := w.Text(
		t, "select string_agg(action, ', ' order by id) from audit_events where subject = $1", runner.Runner,
	); got != "runner.register, runner.ask_key, runner.ask_key, runner.rotate_key" {
		t.Errorf("the audit says %s", got)
	}
	var err error
	runner.Caller, err = w.Dispatch.Authenticate(t.Context(), next)
	must(t, err)
	after := ask()
	replace(t, w, runner, false)
	for _, key := range []string{next, after} {
		wantIs(t, enter(key), dispatch.ErrUnknownToken)
	}
	_, err = w.Dispatch.RotateKey(t.Context(), runner.Caller)
	wantIs(t, err, dispatch.ErrUnknownToken)
}

// A poll that the runner started with its old key must not claim jobs meant for its new one.
func TestAPollWithAKeyThatWasRotatedAwayEndsWithNothing(t *testing.T) {
	w := dispatchtest.New(t)
	runner := w.Runner(t, dispatch.RunnerInstall)
	before, err := w.Dispatch.Authenticate(t.Context(), runner.Key)
	must(t, err)
	key, err := w.Dispatch.RotateKey(t.Context(), before)
	must(t, err)
	after, err := w.Dispatch.Authenticate(t.Context(), key.RunnerKey)
	must(t, err)
	w.Job(t, runner, "plan", "")
	for _, poll := range []struct {
		caller dispatch.Caller
		want   int
	}{{before, 0}, {after, 1}} {
		offers, err := w.Dispatch.Lease(t.Context(), poll.caller, api.LeaseRequest{Free: 1, WaitSeconds: -1}, nil)
		must(t, err)
		if len(offers.Offers) != poll.want {
			t.Errorf("offered %v, want %d", offers.Offers, poll.want)
		}
	}
	_, err = w.Dispatch.RotateKey(t.Context(), before)
	wantIs(t, err, dispatch.ErrUnknownToken)
	must(t, func() error { _, err := w.Dispatch.Authenticate(t.Context(), key.RunnerKey); return err }())
}
