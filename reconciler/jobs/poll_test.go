package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// heldPolls starts polls of a runner and returns the channel of their offers once all have queried
// and found nothing.
func heldPolls(
	t *testing.T, w *jobstest.World, caller runners.Caller, request api.LeaseRequest, count int,
) <-chan api.Offers {
	t.Helper()
	came := make(chan api.Offers, count)
	for n := range count {
		go func() {
			offers, err := w.Jobs.Lease(t.Context(), caller, request, func() error { return nil })
			if err != nil {
				t.Errorf("a held poll: %v", err)
			}
			came <- offers
		}()
		testtime.Until(t, "the poll is held", func() bool {
			polls, looked := w.Jobs.Waiting(caller)
			return polls == n+1 && (looked || request.Policy.Off)
		})
	}
	return came
}

// next returns what a poll returns, which must not have ended at its time limit.
func next(t *testing.T, came <-chan api.Offers) api.Offers {
	t.Helper()
	select {
	case offers := <-came:
		return offers
	case <-time.After(timing.LongestPoll / 2): //walltime: a poll's own limit is minutes, and this half of it
		t.Fatal("the poll is still held")
		return api.Offers{}
	}
}

// authenticated returns the caller for a key.
func authenticated(t *testing.T, w *jobstest.World, key string) runners.Caller {
	t.Helper()
	caller, err := w.Runners.Authenticate(t.Context(), key)
	must(t, err)
	return caller
}

// Jobs that are queued together cause one notification; each waiting poll has to receive it.
func TestOneRingWakesEveryPollOfARunner(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	came := heldPolls(t, w, authenticated(t, w, runner.Key), api.LeaseRequest{Free: 1}, 3)
	w.In(t, func(ctx context.Context, tx *store.Tx) error {
		for range 3 {
			_, err := jobs.Enqueue(ctx, tx, jobs.NewJob{
				Runner: runner.Runner, Kind: "action", OwnerKind: "step", OwnerID: "stp_1",
				Reason: "a test asked for it", Spec: api.JobSpec{},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	jobs := map[string]bool{}
	for range 3 {
		for _, offer := range next(t, came).Offers {
			jobs[offer.Job] = true
		}
	}
	if len(jobs) != 3 {
		t.Errorf("three polls were given the jobs %v", jobs)
	}
}

// A voided key holds no poll, also that of a runner that takes nothing; otherwise a machine that is
// gone would count as present.
func TestAVoidKeyEndsHeldPollsAtOnce(t *testing.T) {
	for name, request := range map[string]api.LeaseRequest{
		"takes work": {Free: 1}, "is off": {Free: 1, Policy: api.RunnerPolicy{Off: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.New(t)
			runner := w.Runner(t, runners.KindInstall)
			before := authenticated(t, w, runner.Key)
			key, err := w.Runners.RotateKey(t.Context(), before)
			must(t, err)
			came := heldPolls(t, w, before, request, 1)
			after := authenticated(t, w, key.RunnerKey) // the first use voids the key before it
			next(t, came)
			came = heldPolls(t, w, after, request, 1)
			replace(t, w, runner, false)
			next(t, came)
		})
	}
}

// The presence shown by a keepalive is stored, but not for a machine that was replaced meanwhile.
func TestABeatIsWrittenDown(t *testing.T) {
	w := jobstest.New(t)
	online := func(r jobstest.Runner) string {
		return w.Text(t,
			"select (last_seen is not null)::text from runners where id = $1", r.Runner)
	}
	there, gone := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	replace(t, w, gone, false)
	for _, r := range []jobstest.Runner{there, gone} {
		w.Exec(t, "update runners set last_seen = null")
		// One service each: the same service would write the second only a few seconds later.
		must(t, jobs.New(w.Store, store.NewNotifier(), w.Runners, nil).Seen(t.Context(), r.Caller))
		if got, want := online(r),
			map[bool]string{true: "true", false: "false"}[r.Runner == there.Runner]; got != want {
			t.Errorf("online %s, want %s", got, want)
		}
	}
}
