package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// replace replaces a runner's machine.
func replace(t testing.TB, w *jobstest.World, runner jobstest.Runner, newKey bool) jobs.Replaced {
	t.Helper()
	var replaced jobs.Replaced
	w.In(t, func(ctx context.Context, tx *store.Tx) (err error) {
		replaced, err = w.Jobs.Replace(ctx, tx, jobs.Replacement{
			Runner: runner.Runner, Reason: "the machine burnt down", NewKey: newKey,
		})
		return err
	})
	return replaced
}

// takeOver registers a machine in a runner's place.
func takeOver(t testing.TB, w *jobstest.World, token string, key seal.Identity) jobstest.Runner {
	t.Helper()
	registered, err := jobstest.Register(t.Context(), w.Runners, token, key,
		api.Registration{Version: "2", Capacity: 1})
	must(t, err)
	caller, err := w.Runners.Authenticate(t.Context(), registered.RunnerKey)
	must(t, err)
	return jobstest.Runner{Caller: caller, Key: registered.RunnerKey, InstallKey: key}
}

// One machine has a job of each kind in flight when it is replaced.
func TestReplaceEndsAllThatAMachineHasInHand(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	inHand := map[string]api.AttemptRef{}
	start := func(kind, component string) api.AttemptRef {
		w.Job(t, runner, kind, component)
		inHand[kind], _ = w.Start(t, runner)
		return inHand[kind]
	}
	must(t,
		w.States.Lock(t.Context(), runner.Caller, start("apply", w.Component(t, runner)),
			api.StateLock{ID: "l"}))
	w.RunOut(t, w.Org.ID, inHand["apply"]) // it waits for its runner or for this decision
	start("action", "")
	start("plan", w.Component(t, runner))
	start("build", "")
	cancelled := w.Job(t, runner, "plan", "")
	toCancel, _ := w.Start(t, runner)
	w.In(t, func(ctx context.Context, tx *store.Tx) error {
		return jobs.Cancel(ctx, tx, cancelled, "no longer wanted")
	})
	w.Job(t, runner, "plan", "")
	superseded, _ := w.Start(t, runner)
	w.RunOut(t, w.Org.ID, superseded)
	offered := w.Offer(t, runner) // the same job, again
	queued := w.Job(t, runner, "apply", "")

	replaced := replace(t, w, runner, false)
	wantStatus(t, w, inHand["apply"], "lost", "lost")
	wantStatus(t, w, inHand["action"], "lost", "lost")
	wantStatus(t, w, inHand["plan"], "lost", "lost")
	wantStatus(t, w, inHand["build"], "queued", "lost") // it changes nothing where it runs
	wantStatus(t, w, toCancel, "cancelled", "lost")
	wantStatus(t, w, superseded, "queued", "lost")
	wantStatus(t, w, offered, "queued", "withdrawn")
	if got := w.JobStatus(t, queued); got != "queued" {
		t.Errorf("what was not offered yet is %s", got)
	}
	if left := w.Text(
		t, "select (select count(*) from state_locks) || ' ' || (select count(*) from due)",
	); left != "0 0" {
		t.Errorf("locks and attempts left: %s", left)
	}
	want := []api.AttemptRef{inHand["apply"], inHand["action"], inHand["plan"], inHand["build"], toCancel, superseded}
	byJob := func(a, b api.AttemptRef) int { return strings.Compare(a.Job, b.Job) }
	slices.SortFunc(want, byJob)
	if diff := cmp.Diff(want, replaced.Lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	told := map[string]string{}
	for _, end := range w.Owner.Ended() {
		if told[end.Job] != "" || !strings.Contains(end.Result.Error, "was replaced: the machine burnt down") {
			t.Errorf("told of %s: %+v", end.Job, end.Result)
		}
		told[end.Job] = string(end.Result.Status)
	}
	if diff := cmp.Diff(
		map[string]string{
			inHand["apply"].Job: "lost", inHand["action"].Job: "lost", inHand["plan"].Job: "lost",
			cancelled: "cancelled",
		}, told,
	); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	_, err := w.Runners.Authenticate(t.Context(), runner.Key)
	wantIs(t, err, runners.ErrUnknownToken)

	// Another replacement changes nothing but the token.
	again := replace(t, w, runner, false)
	if len(again.Lost) != 0 {
		t.Errorf("lost again: %v", again.Lost)
	}
	_, err = jobstest.Register(t.Context(), w.Runners, replaced.RegistrationToken, runner.InstallKey,
		api.Registration{Capacity: 1})
	wantIs(t, err, runners.ErrRegistration)
	next := takeOver(t, w, again.RegistrationToken, runner.InstallKey)
	offers, err := w.Jobs.Lease(t.Context(), next.Caller, api.LeaseRequest{Free: 9, WaitSeconds: -1}, nil)
	must(t, err)
	if len(offers.Offers) != 3 {
		t.Errorf("the new machine is offered %v, want the build, the plan and the apply that waited", offers.Offers)
	}
}

// A claim that runs while a replacement is being written does not go to the replaced machine: the
// claim waits and finds the key void. Otherwise an offer would remain that nobody withdrew.
func TestNothingIsClaimedBesideAReplacement(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	old, err := w.Runners.Authenticate(t.Context(), runner.Key)
	must(t, err)
	poll := api.LeaseRequest{Free: 1, WaitSeconds: -1}
	_, err = w.Jobs.Lease(t.Context(), old, poll, nil) // its report is stored: the next poll only queries
	must(t, err)
	job := w.Job(t, runner, "apply", "")
	claimed := make(chan api.Offers, 4)
	w.In(t, func(ctx context.Context, tx *store.Tx) error {
		if _, err := w.Jobs.Replace(ctx, tx, jobs.Replacement{
			Runner: runner.Runner, Reason: "gone",
		}); err != nil {
			return err
		}
		go func() {
			offers, err := w.Jobs.Lease(t.Context(), old, poll, nil)
			if err != nil {
				t.Error(err)
			}
			claimed <- offers
		}()
		waits := "select count(*)::text from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
		for len(claimed) == 0 && w.Text(t, waits) == "0" {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if offers := <-claimed; len(offers.Offers) != 0 {
		t.Errorf("a machine that was replaced is offered %v", offers.Offers)
	}
	if got := w.JobStatus(t, job); got != "queued" {
		t.Errorf("the job is %s", got)
	}
}

// A machine that was wrongly declared dead delivers with its attempts' own tokens, and can do
// nothing else.
func TestAReplacedMachineDeliversAndNoMore(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	ref, token := w.Start(t, runner)
	must(t, w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}))
	w.PutState(t, runner, ref, jobstest.SealedState(1, "before"))
	replace(t, w, runner, false)

	old, err := w.Runners.Authenticate(t.Context(), token)
	must(t, err)
	machine := jobstest.Runner{Caller: old}
	if w.PutState(t, machine, ref, jobstest.SealedState(2, "follows")) {
		t.Error("a late state that follows, while nobody else has done anything, is contested")
	}
	must(t,
		w.Logs.Append(t.Context(), old, ref,
			[]api.NewLogChunk{{Seq: 1, Lines: []api.LogLine{{L: api.Info, M: "late"}}}}))
	must(t, w.Jobs.Result(t.Context(), old, ref, api.JobResult{Status: api.JobResultStatusSucceeded}))
	wantStatus(t, w, ref, "lost", "lost")
	if ended := w.Owner.Ended(); len(ended) != 1 || ended[0].Status != "lost" {
		t.Errorf("told %+v, want one end", ended)
	}
	_, err = w.Jobs.Spec(t.Context(), old, ref)
	wantIs(t, err, jobs.ErrNotRunning)
	_, err = w.States.Get(t.Context(), old, ref, 0)
	wantIs(t, err, jobs.ErrNotRunning)
	wantIs(t, w.States.Lock(t.Context(), old, ref, api.StateLock{ID: "l"}), jobs.ErrNotRunning)

	// Another attempt has read serial 2 and works from it; both have really made changes now.
	w.Job(t, runner, "apply", component)
	next := takeOver(t, w, replace(t, w, runner, false).RegistrationToken, runner.InstallKey)
	second, _ := w.Start(t, next)
	must(t, w.States.Lock(t.Context(), next.Caller, second, api.StateLock{ID: "l2"}))
	if w.PutState(t, next, second, jobstest.SealedState(3, "new")) {
		t.Error("what the new machine wrote under its lock is contested")
	}
	if !w.PutState(t, machine, ref, jobstest.SealedState(3, "old")) {
		t.Error("two attempts wrote serial 3, and nobody is asked")
	}
	must(t, w.Jobs.Result(t.Context(), next.Caller, second, failed))
	if !w.PutState(t, machine, ref, jobstest.SealedState(4, "older")) {
		t.Error("it follows on a version that is contested itself, and nobody is asked")
	}
	if got, want := w.StateVersions(t),
		"1 before kept, 2 follows kept, 3 new kept, 3 old contested, 4 older contested"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	for _, side := range []string{"attempt 1 of job " + ref.Job, "attempt 1 of job " + second.Job} {
		if reasons := w.Text(
			t, "select string_agg(reason, ' | ') from states where status = 'contested'",
		); !strings.Contains(reasons, side) {
			t.Errorf("%q does not name %s", reasons, side)
		}
	}

	// A person decides, once.
	dismiss := func(version int32) error {
		return w.Store.InTx(t.Context(), w.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			place, err := tx.InstallComponentByID(ctx, tx.Org, component)
			must(t, err)
			return tfstate.Dismiss(ctx, tx, place, version, "dismissed by vera: the new one is right")
		})
	}
	must(t, dismiss(4))
	must(t, dismiss(5))
	for _, version := range []int32{3, 4, 9} {
		if err := dismiss(version); !errors.Is(err, tfstate.ErrNotContested) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	if w.PutState(t, machine, ref, jobstest.SealedState(3, "old")) {
		t.Error("what was dismissed is contested when it comes again")
	}
}

// Secrets and states are sealed to the install key, so another key is not accepted by accident.
func TestAMachineInAnothersPlaceBringsItsInstallKey(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	same := runner.InstallKey
	key, err := seal.NewIdentity()
	must(t, err)
	other := key.Recipient().String()
	token := replace(t, w, runner, false).RegistrationToken
	_, err = jobstest.Register(t.Context(), w.Runners, token, key, api.Registration{Capacity: 1})
	wantIs(t, err, refusal.ErrInvalid)
	if !strings.Contains(err.Error(), key.KeyID()) || !strings.Contains(err.Error(), "--new-key") {
		t.Errorf("said %q", err)
	}
	next := takeOver(t, w, token, same) // the token stayed valid
	if next.Runner != runner.Runner {
		t.Errorf("registered as %s, want %s", next.Runner, runner.Runner)
	}
	replaced := replace(t, w, next, true)
	if replaced.Runner.Recipient != "" || !replaced.Runner.NewKey {
		t.Errorf("of the key that is lost is known %q", replaced.Runner.Recipient)
	}
	takeOver(t, w, replaced.RegistrationToken, key)
	if got := w.Text(
		t, "select recipient || ' ' || new_key from runners where id = $1", runner.Runner,
	); got != other+" false" {
		t.Errorf("the runner is %s", got)
	}
}

func TestAnotherRegistrationTokenVoidsTheOneBefore(t *testing.T) {
	w := jobstest.New(t)
	runner, first, err := w.CreateRunner(t, runners.NewRunner{Name: "berlin", Kind: runners.KindBuild})
	must(t, err)
	another := func() (token string, err error) {
		err = w.Store.InTx(t.Context(), w.Org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			token, err = runners.NewRegistrationToken(ctx, tx, runner.ID)
			return err
		})
		return token, err
	}
	second, err := another()
	must(t, err)
	_, err = w.Runners.Register(t.Context(), first, api.Registration{Capacity: 1})
	wantIs(t, err, runners.ErrRegistration)
	registered, err := w.Runners.Register(t.Context(), second, api.Registration{Capacity: 1})
	must(t, err)
	_, err = another()
	wantIs(t, err, runners.ErrRegistered)
	replace(t, w, jobstest.Runner{Caller: runners.Caller{Org: w.Org.ID, Runner: registered.RunnerID}}, false)
	_, err = another()
	must(t, err)
}

// A poll that started before the replacement returns nothing, even if jobs are queued.
func TestAReplacedMachinesPollEnds(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	caller, err := w.Runners.Authenticate(t.Context(), runner.Key)
	must(t, err)
	w.Job(t, runner, "plan", "")
	replace(t, w, runner, false)
	offers, err := w.Jobs.Lease(t.Context(), caller, api.LeaseRequest{Free: 1}, nil)
	must(t, err)
	if len(offers.Offers) != 0 {
		t.Errorf("offered %v to a machine that was replaced", offers.Offers)
	}
}

// Both lock the same rows; in either order, neither waits for ever, and every job ends once.
func TestReplaceAndDeliveriesAtTheSameMoment(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	for round := range 10 {
		var refs []api.AttemptRef
		for range 3 {
			w.Job(t, runner, "apply", component)
			ref, _ := w.Start(t, runner)
			refs = append(refs, ref)
		}
		before := len(w.Owner.Ended())
		var all sync.WaitGroup
		for i, ref := range refs {
			all.Go(func() {
				logs := []api.NewLogChunk{{Seq: 1, Lines: []api.LogLine{{L: api.Info, M: "m"}}}}
				if err := w.Logs.Append(t.Context(), runner.Caller, ref, logs); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				_, err := w.States.Put(t.Context(), runner.Caller, ref, jobstest.SealedState(int64(round*10+i), "d"))
				if err != nil {
					t.Error(err)
				}
				if err := w.Jobs.Result(t.Context(), runner.Caller, ref, failed); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := w.Jobs.Heartbeat(t.Context(), runner.Caller, api.Heartbeat{Attempts: refs}); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() { replace(t, w, runner, false) })
		all.Wait()
		if ended := len(w.Owner.Ended()) - before; ended != len(refs) {
			t.Fatalf("%d ends were told of %d jobs", ended, len(refs))
		}
	}
	if n := w.Text(t, "select deadlocks::text from pg_stat_database where datname = current_database()"); n != "0" {
		t.Errorf("%s deadlocks: everybody is to lock installs, runners and jobs in one order", n)
	}
}
