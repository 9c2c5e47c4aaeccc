package jobs_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
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
	); got != "runner.register, runner.ask_key, runner.rotate_key" {
		t.Errorf("the audit says %s", got)
	}
	var err error
	runner.Caller, err = w.Runners.Authenticate(t.Context(), next)
	must(t, err)
	w.Exec(t, "update runners set key_since = now() - interval '1 day', registered_at = now() - interval '2 days'")
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

// TestRotationsFillNoAuditLog checks that a runner that asks for keys all the time leaves one record for each that it
// uses, and uses at most one an hour.
func TestRotationsFillNoAuditLog(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	events := func() string {
		t.Helper()
		return w.Text(t, "select string_agg(action, ' ' order by id) from audit_events where subject = $1", runner.Runner)
	}
	var key api.RunnerKey
	for range 20 {
		var err error
		key, err = w.Runners.RotateKey(t.Context(), runner.Caller)
		must(t, err)
	}
	if got := events(); got != "runner.register runner.ask_key" {
		t.Errorf("twenty unused keys are recorded as %s", got)
	}
	caller, err := w.Runners.Authenticate(t.Context(), key.RunnerKey)
	must(t, err)
	for range 20 {
		_, err = w.Runners.RotateKey(t.Context(), caller)
		wantIs(t, err, runners.ErrKeyIsNew)
	}
	var early *refusal.Error
	if !errors.As(err, &early) || early.RetryAfter <= 0 || early.RetryAfter > timing.KeyMinAge {
		t.Errorf("a key that is new is refused with %+v", early)
	}
	if got := events(); got != "runner.register runner.ask_key runner.rotate_key" {
		t.Errorf("the audit log has %s", got)
	}
	w.Exec(t, "update runners set registered_at = registered_at - interval '1 day', key_since = key_since - $1::interval",
		timing.KeyMinAge.String())
	_, err = w.Runners.RotateKey(t.Context(), caller)
	must(t, err)
}
