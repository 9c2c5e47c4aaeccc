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
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want one that is: %v", err, want)
	}
}

func wantStatus(t testing.TB, w *jobstest.World, ref api.AttemptRef, job, attempt string) {
	t.Helper()
	if got := w.JobStatus(t, ref.Job); got != job {
		t.Errorf("the job is %s, want %s", got, job)
	}
	if got := w.AttemptStatus(t, ref); got != attempt {
		t.Errorf("attempt %d is %s, want %s", ref.Attempt, got, attempt)
	}
}

// allows returns the runner file of a runner that takes these kinds of job.
func allows(kinds ...string) api.RunnerPolicy {
	if kinds == nil {
		kinds = []string{}
	}
	return api.RunnerPolicy{Jobs: &kinds}
}

var (
	succeeded = api.JobResult{
		Status: api.JobResultStatusSucceeded,
		Build:  api.BuildResult{Artifact: api.ArtifactRef{Repository: "a", Digest: "sha256:1"}},
	}
	failed, lost = jobstest.Failed, jobstest.Lost
)

func TestAJobGoesFromQueueToItsEnd(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	jobID := w.Job(t, runner, "build", "")
	ref := w.Offer(t, runner)
	if ref.Job != jobID || ref.Attempt != 1 {
		t.Fatalf("offered %+v, want attempt 1 of %s", ref, jobID)
	}
	wantStatus(t, w, ref, "offered", "offered")
	accepted, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
	must(t, err)
	wantStatus(t, w, ref, "running", "running")
	caller, err := w.Runners.Authenticate(t.Context(), accepted.Token)
	must(t, err)
	spec, err := w.Jobs.Spec(t.Context(), caller, ref)
	must(t, err)
	if spec.Job != jobID || spec.Attempt != 1 || spec.Org != w.Org.ID || spec.Kind != "build" ||
		spec.TimeoutSeconds == 0 || spec.Build.Component != "web" {
		t.Errorf("spec %+v", spec)
	}
	must(t, w.Jobs.Result(t.Context(), caller, ref, succeeded))
	wantStatus(t, w, ref, "succeeded", "succeeded")
	if got := w.Owner.Accepted(); !slices.Equal(got, []string{jobID}) {
		t.Errorf("accepted %v", got)
	}
	want := []jobstest.Ended{{Job: jobID, Status: "succeeded", Result: succeeded}}
	if diff := cmp.Diff(want, w.Owner.Ended()); diff != "" {
		t.Errorf("ends told (-want +got):\n%s", diff)
	}
	if left := w.Text(t, "select count(*)::text from due"); left != "0" {
		t.Errorf("%s attempts are still due", left)
	}
	_, err = w.Jobs.Spec(t.Context(), caller, ref)
	wantIs(t, err, jobs.ErrNotRunning)
}

func TestEndsAreRecordedOnceWithTheirStatus(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	did := api.JobResult{Status: api.JobResultStatusSucceeded}
	for _, test := range []struct {
		result       api.JobResult
		job, attempt string
	}{
		{did, "succeeded", "succeeded"},
		{failed, "failed", "failed"},
		{lost, "lost", "lost"},
		{api.JobResult{Status: api.JobResultStatusStale}, "failed", "failed"},
		{api.JobResult{Status: api.JobResultStatusCancelled}, "cancelled", "cancelled"},
	} {
		t.Run(string(test.result.Status), func(t *testing.T) {
			jobID := w.Job(t, runner, "apply", "")
			ref, _ := w.Start(t, runner)
			before := len(w.Owner.Ended())
			for range 3 { // the response may be lost any number of times
				must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, test.result))
			}
			// Another result afterwards changes nothing.
			must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, failed))
			wantStatus(t, w, ref, test.job, test.attempt)
			ended := w.Owner.Ended()[before:]
			if len(ended) != 1 || ended[0].Job != jobID || ended[0].Result.Status != test.result.Status {
				t.Errorf("told %+v, want one end", ended)
			}
		})
	}
}

// TestWhatIsBrokenOffIsTriedAgain checks what happens when a runner's machine is shut down and its
// job processes report that they were cancelled, or report nothing: a repeatable job gets another
// attempt, up to a limit; a job with a requested cancel gets none.
func TestWhatIsBrokenOffIsTriedAgain(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	broken := api.JobResult{Status: api.JobResultStatusCancelled, Error: "the build was \x1b[31minterrupted"}
	for _, kind := range []string{"build", "sync", "plan"} {
		jobID := w.Job(t, runner, kind, "")
		before := len(w.Owner.Ended())
		for try, result := range []api.JobResult{broken, lost, broken, lost} {
			ref, _ := w.Start(t, runner)
			for range 2 { // the response may be lost
				must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, result))
			}
			wantStatus(t, w, ref, "queued", string(result.Status))
			job, err := w.Jobs.Job(t.Context(), w.Org.ID, jobID)
			must(t, err)
			if try == 0 &&
				!strings.Contains(job.Waits,
					"its runner interrupted it (the build was [31minterrupted); another attempt is made") {
				t.Errorf("it waits: %q", job.Waits)
			}
		}
		last, _ := w.Start(t, runner)
		must(t, w.Jobs.Result(t.Context(), runner.Caller, last, broken))
		wantStatus(t, w, last, "lost", "cancelled")
		if ended := w.Owner.Ended()[before:]; len(ended) != 1 || ended[0].Status != "lost" ||
			!strings.Contains(ended[0].Result.Error, "interrupted it 5 times") {
			t.Errorf("told %+v", ended)
		}
	}
	jobID := w.Job(t, runner, "plan", "")
	ref, _ := w.Start(t, runner)
	w.In(t, func(ctx context.Context, tx *store.Tx) error {
		return jobs.Cancel(ctx, tx, jobID, "not wanted any more")
	})
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, broken))
	wantStatus(t, w, ref, "cancelled", "cancelled")
}

func TestResultsThatDoNotFitAreRefused(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Job(t, runner, "build", "")
	ref, _ := w.Start(t, runner)
	for name, result := range map[string]api.JobResult{
		"no status":             {},
		"a status of its own":   {Status: "great"},
		"a success of nothing":  {Status: api.JobResultStatusSucceeded},
		"another kind's result": {Status: api.JobResultStatusFailed, Plan: api.PlanResult{ReportDigest: "sha256:1"}},
		"a number beyond all": {
			Status: api.JobResultStatusFailed, Build: api.BuildResult{},
			Action: api.ActionResult{Outputs: []api.Output{{Name: "n", Value: []byte("1e999999")}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantIs(t, w.Jobs.Result(t.Context(), runner.Caller, ref, result), refusal.ErrInvalid)
		})
	}
	wantStatus(t, w, ref, "running", "running")
}

func TestAResultThatPostgresCouldNotKeepIsMadeFit(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "action", "")
	ref, _ := w.Start(t, runner)
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, api.JobResult{
		Status: api.JobResultStatusSucceeded, Error: "a\x00b" + strings.Repeat("x", 100_000),
		Action: api.ActionResult{
			Outputs: []api.Output{{
				Name: "n", Hash: "h", Value: []byte(`{"k\u0000":"\ud800\u0000","big":12345678901234567890}`),
			}},
		},
	}))
	ended := w.Owner.Ended()[0].Result
	if got := string(
		ended.Action.Outputs[0].Value,
	); got != "{\"big\":12345678901234567890,\"k\uFFFD\":\"\uFFFD\uFFFD\"}" {
		t.Errorf("kept %s", got)
	}
	if !strings.HasPrefix(ended.Error, "a\uFFFDb") || len(ended.Error) > 17_000 {
		t.Errorf("kept an error of %d bytes", len(ended.Error))
	}
}

func TestJobsAreOfferedOldestFirstAndToTheirRunnerAlone(t *testing.T) {
	w := jobstest.New(t)
	one, two := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	var want []string
	for _, kind := range []string{"plan", "apply", "action", "plan"} {
		want = append(want, w.Job(t, one, kind, ""))
	}
	// The order is that of the queue, not of the ids.
	w.Exec(t, "update jobs set created_at = now() - interval '1 hour' where id = $1", want[3])
	want = []string{want[3], want[0], want[1], want[2]}
	of := func(request api.LeaseRequest) (got []string) {
		request.WaitSeconds = -1
		offers, err := w.Jobs.Lease(t.Context(), one.Caller, request, nil)
		must(t, err)
		for _, offer := range offers.Offers {
			got = append(got, offer.Job)
		}
		return got
	}
	if offers, err := w.Jobs.Lease(
		t.Context(), two.Caller, api.LeaseRequest{Free: 9, WaitSeconds: -1}, nil,
	); err != nil || len(offers.Offers) != 0 {
		t.Fatalf("another runner was offered %v, %v", offers, err)
	}
	if got := of(api.LeaseRequest{Free: 0}); got != nil {
		t.Errorf("a runner without room was offered %v", got)
	}
	if got := of(api.LeaseRequest{Free: 9, Policy: allows()}); got != nil {
		t.Errorf("a runner that takes no kind was offered %v", got)
	}
	if got := of(api.LeaseRequest{Free: 1}); !slices.Equal(got, want[:1]) {
		t.Errorf("first offered %v, want %v", got, want[:1])
	}
	if got := of(api.LeaseRequest{Free: 9, Policy: allows("action", "nonsense")}); !slices.Equal(got, want[3:]) {
		t.Errorf("a runner that takes actions only was offered %v, want %v", got, want[3:])
	}
	if got := of(api.LeaseRequest{Free: 9}); !slices.Equal(got, want[1:3]) {
		t.Errorf("then offered %v, want %v", got, want[1:3])
	}
}

func TestTwoPollsAtOnceNeverClaimAJobTwice(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	const jobs = 40
	for range jobs {
		w.Job(t, runner, "build", "")
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	var polls sync.WaitGroup
	for range 4 {
		polls.Go(func() {
			for {
				offers, err := w.Jobs.Lease(t.Context(), runner.Caller,
					api.LeaseRequest{Free: 3, WaitSeconds: -1}, nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, offer := range offers.Offers {
					claimed[offer.Job]++
				}
				done := len(claimed) == jobs
				mu.Unlock()
				// A poll that finds every remaining row locked by others returns nothing; they
				// claim those rows.
				if done || err != nil || len(offers.Offers) == 0 {
					return
				}
			}
		})
	}
	polls.Wait()
	for job, times := range claimed {
		if times != 1 {
			t.Errorf("job %s was offered %d times", job, times)
		}
	}
	if len(claimed) != jobs {
		t.Errorf("offered %d of %d jobs", len(claimed), jobs)
	}
}

func TestAPollWakesWhenAJobIsQueued(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Exec(t, "update runners set last_seen = null")
	//walltime: the poll must not end by its own limit, which is minutes; this is half of it
	ctx, stop := context.WithTimeout(t.Context(), timing.LongestPoll/2)
	defer stop()
	got := make(chan api.Offers, 1)
	go func() {
		offers, err := w.Jobs.Lease(ctx, runner.Caller, api.LeaseRequest{Free: 1}, nil)
		if err != nil {
			t.Error(err)
		}
		got <- offers
	}()
	// The poll has started when the runner was seen. Whether it has also queried is not visible
	// here, and does not matter.
	for w.Text(t, "select (last_seen is null)::text from runners") == "true" && ctx.Err() == nil {
	}
	jobID := w.Job(t, runner, "build", "")
	if offers := (<-got).Offers; len(offers) != 1 || offers[0].Job != jobID {
		t.Fatalf("the poll gave %v", offers)
	}
}

func TestDrainEndsPolls(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Jobs.Drain()
	w.Jobs.Drain()
	//walltime: the poll must not end by its own limit, which is minutes; this is half of it
	ctx, stop := context.WithTimeout(t.Context(), timing.LongestPoll/2)
	defer stop()
	offers, err := w.Jobs.Lease(ctx, runner.Caller, api.LeaseRequest{Free: 1}, nil)
	must(t, errors.Join(err, ctx.Err()))
	if len(offers.Offers) != 0 {
		t.Errorf("a poll of a server that stops gave %v", offers)
	}
}

func TestAnOfferNobodyAcceptsIsOfferedAgain(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", "")
	first := w.Offer(t, runner)
	w.Exec(t, "update attempts set lease_until = lease_until + interval '1 hour'")
	must(t, w.Jobs.Expire(t.Context(), w.Org.ID, jobstest.Due(first)))
	wantStatus(t, w, first, "offered", "offered") // its time has not run out
	w.RunOut(t, w.Org.ID, first)
	wantStatus(t, w, first, "queued", "withdrawn")
	second := w.Offer(t, runner)
	if second.Job != first.Job || second.Attempt != 2 {
		t.Fatalf("offered %+v, want attempt 2", second)
	}
	_, err := w.Jobs.Accept(t.Context(), runner.Caller, first)
	wantIs(t, err, jobs.ErrOfferGone)
	wantIs(t, w.Jobs.Result(t.Context(), runner.Caller, first, failed), jobs.ErrNotRunning)
	_, err = w.Jobs.Accept(t.Context(), runner.Caller, second)
	must(t, err)
	wantStatus(t, w, second, "running", "running")
}

// A runner that cannot find out whether its accept arrived returns the attempt as lost.
func TestAnOfferGivenBackIsOfferedAgain(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", "")
	first := w.Offer(t, runner)
	wantIs(t, w.Jobs.Result(t.Context(), runner.Caller, first, failed), jobs.ErrNotRunning)
	for range 2 {
		must(t, w.Jobs.Result(t.Context(), runner.Caller, first, lost))
		wantStatus(t, w, first, "queued", "withdrawn")
	}
	if second := w.Offer(t, runner); second.Attempt != 2 {
		t.Fatalf("offered %+v", second)
	}
	if ended := w.Owner.Ended(); len(ended) != 0 {
		t.Errorf("told %v", ended)
	}
}

// TestAcceptingAgainHarmsNobody checks that a duplicate accept, or one whose response was lost,
// returns another token, and that the job that started with the first token continues with it. The
// number of accepts is limited, also without harm.
func TestAcceptingAgainHarmsNobody(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Job(t, runner, "build", "")
	ref, first := w.Start(t, runner)
	tokens := []string{first}
	for {
		again, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
		if err != nil {
			wantIs(t, err, jobs.ErrOfferGone)
			break
		}
		tokens = append(tokens, again.Token)
	}
	if len(tokens) < 3 || len(tokens) > 100 {
		t.Errorf("it was accepted %d times", len(tokens))
	}
	slices.Sort(tokens)
	if different := len(slices.Compact(slices.Clone(tokens))); different != len(tokens) {
		t.Errorf("there are %d tokens of %d accepts", different, len(tokens))
	}
	for _, token := range tokens {
		caller, err := w.Runners.Authenticate(t.Context(), token)
		must(t, err)
		if caller.Job != ref.Job || caller.Runner != runner.Runner {
			t.Errorf("the token is %+v's", caller)
		}
	}
	wantStatus(t, w, ref, "running", "running")
	if got := w.Owner.Accepted(); len(got) != 1 {
		t.Errorf("the owner was asked %d times", len(got))
	}
}

func TestAnOwnerCanRefuseAnAccept(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", "")
	ref := w.Offer(t, runner)
	w.Owner.RefuseWith(errors.New("the database hiccups"))
	if _, err := w.Jobs.Accept(t.Context(), runner.Caller, ref); err == nil ||
		errors.Is(err, jobs.ErrOfferGone) {
		t.Fatalf("accept: %v", err)
	}
	wantStatus(t, w, ref, "offered", "offered") // for now: it may try again
	w.Owner.RefuseWith(jobs.Stale("the plan was superseded"))
	_, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
	wantIs(t, err, jobs.ErrOfferGone)
	wantStatus(t, w, ref, "failed", "withdrawn")
	want := []jobstest.Ended{{
		Job: ref.Job, Status: "failed",
		Result: api.JobResult{Status: api.JobResultStatusStale, Error: "the plan was superseded"},
	}}
	if diff := cmp.Diff(want, w.Owner.Ended()); diff != "" {
		t.Errorf("ends told (-want +got):\n%s", diff)
	}
}

func TestSilenceOfWhatCanRunTwiceMakesAnotherAttempt(t *testing.T) {
	for _, kind := range []string{"build", "sync", "plan"} {
		t.Run(kind, func(t *testing.T) {
			w := jobstest.New(t)
			runner := w.Runner(t, runners.KindInstall)
			component := w.Component(t, runner)
			w.Job(t, runner, kind, component)
			first, _ := w.Start(t, runner)
			if kind == "plan" {
				must(t, w.States.Lock(t.Context(), runner.Caller, first, api.StateLock{ID: "l"}))
			}
			w.RunOut(t, w.Org.ID, first)
			wantStatus(t, w, first, "queued", "expired")
			if locks := w.Text(t, "select count(*)::text from state_locks"); locks != "0" {
				t.Errorf("%s locks are left", locks)
			}
			beat := func() api.AttemptOrder {
				answer, err := w.Jobs.Heartbeat(t.Context(), runner.Caller,
					api.Heartbeat{Attempts: []api.AttemptRef{first}})
				must(t, err)
				return answer.Attempts[0]
			}
			if order := beat(); !order.Superseded || order.Cancel {
				t.Errorf("told %+v", order)
			}
			second, _ := w.Start(t, runner)
			if second.Attempt != 2 {
				t.Fatalf("started %+v", second)
			}
			// The superseded attempt delivers: that ends it and changes nothing else.
			must(t, w.Jobs.Result(t.Context(), runner.Caller, first, failed))
			wantStatus(t, w, first, "running", "lost")
			wantStatus(t, w, second, "running", "running")
			if ended := w.Owner.Ended(); len(ended) != 0 {
				t.Errorf("told %v", ended)
			}
			must(t, w.Jobs.Result(t.Context(), runner.Caller, second, failed))
			if ended := w.Owner.Ended(); len(ended) != 1 {
				t.Errorf("told %v", ended)
			}
		})
	}
}

func TestSilenceThatComesAgainAndAgainEndsTheJob(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	jobID := w.Job(t, runner, "build", "")
	tries := 0
	for w.JobStatus(t, jobID) == "queued" && tries < 20 {
		ref, _ := w.Start(t, runner)
		w.RunOut(t, w.Org.ID, ref)
		tries++
	}
	ended := w.Owner.Ended()
	if tries != 5 || len(ended) != 1 || ended[0].Status != "lost" ||
		!strings.Contains(ended[0].Result.Error, "lost contact with runner") {
		t.Errorf("after %d tries: %+v", tries, ended)
	}
}

// TestLateResultsCountAsLosses checks that a runner that falls silent in each attempt, and delivers when the next one
// has started, gets no more attempts than one that stays silent.
func TestLateResultsCountAsLosses(t *testing.T) {
	for name, late := range map[string]api.JobResult{"failed": jobstest.Failed, "succeeded": {
		Status: api.JobResultStatusSucceeded, Build: api.BuildResult{Artifact: api.ArtifactRef{Digest: "sha256:1"}}}} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.New(t)
			runner := w.Runner(t, runners.KindBuild)
			jobID := w.Job(t, runner, "build", "")
			tries := 0
			var before api.AttemptRef
			for w.JobStatus(t, jobID) == "queued" && tries < 20 {
				ref, _ := w.Start(t, runner)
				if tries > 0 {
					must(t, w.Jobs.Result(t.Context(), runner.Caller, before, late))
					wantStatus(t, w, before, "running", "lost")
				}
				w.RunOut(t, w.Org.ID, ref)
				before = ref
				tries++
			}
			if tries != 5 || w.JobStatus(t, jobID) != "lost" {
				t.Errorf("after %d tries the job is %s", tries, w.JobStatus(t, jobID))
			}
		})
	}
}

func TestSilenceOfAnApplyWaitsForItsRunner(t *testing.T) {
	for _, kind := range []string{"apply", "action"} {
		t.Run(kind, func(t *testing.T) {
			w := jobstest.New(t)
			runner := w.Runner(t, runners.KindInstall)
			w.Job(t, runner, kind, "")
			ref, _ := w.Start(t, runner)
			silent := func() {
				t.Helper()
				w.RunOut(t, w.Org.ID, ref)
				wantStatus(t, w, ref, "running", "expired")
				job, err := w.Jobs.Job(t.Context(), w.Org.ID, ref.Job)
				must(t, err)
				if !strings.Contains(job.Waits, "lost contact with runner "+job.Runner+" since 20") ||
					!strings.Contains(job.Waits, "start the runner again") ||
					!strings.Contains(job.Waits, "nuon runners replace "+job.Runner) {
					t.Errorf("waits: %q", job.Waits)
				}
			}
			contact := func() {
				t.Helper()
				wantStatus(t, w, ref, "running", "running")
				if job, err := w.Jobs.Job(t.Context(), w.Org.ID, ref.Job); err != nil || job.Waits != "" {
					t.Errorf("waits %q, %v", job.Waits, err)
				}
			}
			silent()
			if offers, err := w.Jobs.Lease(
				t.Context(), runner.Caller, api.LeaseRequest{Free: 1, WaitSeconds: -1}, nil,
			); err != nil || len(offers.Offers) != 0 {
				t.Fatalf("offered again: %v, %v", offers, err)
			}
			answer, err := w.Jobs.Heartbeat(t.Context(), runner.Caller,
				api.Heartbeat{Attempts: []api.AttemptRef{ref}})
			must(t, err)
			if order := answer.Attempts[0]; order.Superseded || order.Cancel {
				t.Errorf("told %+v", order)
			}
			contact()
			silent()
			_, err = w.Jobs.Accept(t.Context(), runner.Caller, ref)
			must(t, err)
			contact()
			silent()
			must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, lost)) // late, and still accepted
			wantStatus(t, w, ref, "lost", "lost")
			if ended := w.Owner.Ended(); len(ended) != 1 || ended[0].Status != "lost" {
				t.Errorf("told %v", ended)
			}
		})
	}
}

func TestHeartbeatsExtendLeases(t *testing.T) {
	w := jobstest.New(t)
	runner, other := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", "")
	ref, _ := w.Start(t, runner)
	w.Exec(t, "update attempts set lease_until = now() - interval '1 second'")
	w.Exec(t, "update due set at = now() - interval '1 second'")
	w.Exec(t, "update runners set last_seen = now() - interval '1 hour'")
	answer, err := w.Jobs.Heartbeat(t.Context(), other.Caller, api.Heartbeat{Attempts: []api.AttemptRef{ref}})
	must(t, err)
	if !answer.Attempts[0].Superseded {
		t.Errorf("another runner was told %+v", answer.Attempts)
	}
	if left := w.Text(t, "select count(*)::text from attempts where lease_until > now()"); left != "0" {
		t.Fatal("another runner's heartbeat extended the lease")
	}
	began := w.Clock(t)
	answer, err = w.Jobs.Heartbeat(t.Context(), runner.Caller, api.Heartbeat{
		Version: "0.2.0", Attempts: []api.AttemptRef{ref, ref},
	})
	must(t, err)
	if answer.LeaseSeconds != int(timing.Lease.Seconds()) {
		t.Errorf("a lease of %d seconds", answer.LeaseSeconds)
	}
	if got := w.Text(t, "select (lease_until >= $1::timestamptz + interval '30 seconds' and "+
		"(select bool_and(at > $1::timestamptz) from due))::text from attempts", began); got != "true" {
		t.Error("the lease was not extended")
	}
	if got := w.Text(
		t,
		"select version || (last_seen >= $2::timestamptz)::text from runners where id = $1", runner.Runner, began,
	); got != "0.2.0true" {
		t.Errorf("of the runner is known: %s", got)
	}
	must(t, w.Jobs.Expire(t.Context(), w.Org.ID, jobstest.Due(ref)))
	wantStatus(t, w, ref, "running", "running")
}

// TestAHeartbeatIsForItsOwnAttemptAlone checks that a heartbeat for a superseded attempt extends
// neither lease, although both attempts are of one job on one runner.
func TestAHeartbeatIsForItsOwnAttemptAlone(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "plan", "")
	first, _ := w.Start(t, runner)
	w.RunOut(t, w.Org.ID, first)
	second, _ := w.Start(t, runner)
	leases := func() string {
		return w.Text(t, "select string_agg(number || ' ' || status || ' ' || lease_until, ', ' order by number) from "+
			"attempts where job_id = $1", first.Job)
	}
	before := leases()
	answer, err := w.Jobs.Heartbeat(t.Context(), runner.Caller, api.Heartbeat{Attempts: []api.AttemptRef{first}})
	must(t, err)
	if len(answer.Attempts) != 1 || !answer.Attempts[0].Superseded || leases() != before {
		t.Errorf("a heartbeat for attempt 1 is told %+v, and made\n%s of\n%s", answer.Attempts, leases(), before)
	}
	answer, err = w.Jobs.Heartbeat(t.Context(), runner.Caller,
		api.Heartbeat{Attempts: []api.AttemptRef{first, second}})
	must(t, err)
	if len(answer.Attempts) != 2 || !answer.Attempts[0].Superseded || answer.Attempts[1].Superseded {
		t.Errorf("a heartbeat for both is told %+v", answer.Attempts)
	}
	wantStatus(t, w, first, "running", "expired")
	wantStatus(t, w, second, "running", "running")
}

func TestCancel(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	cancel := func(jobID string) {
		t.Helper()
		w.In(t, func(ctx context.Context, tx *store.Tx) error {
			return jobs.Cancel(ctx, tx, jobID, "superseded by a newer plan")
		})
	}
	told := func(jobID string) (n int) {
		for _, end := range w.Owner.Ended() {
			if end.Job == jobID && end.Status == "cancelled" && end.Result.Status == api.JobResultStatusCancelled {
				n++
			}
		}
		return n
	}
	queued := func(jobID string) string {
		return w.Text(t, "select coalesce(max(args->>'id'), '') from river.river_job where kind = 'expire' and args->>'id' "+
			"like $1 || '/%'", jobID)
	}
	t.Run("queued", func(t *testing.T) {
		jobID := w.Job(t, runner, "plan", "")
		cancel(jobID)
		cancel(jobID)
		if got := w.JobStatus(t, jobID); got != "cancelled" || told(jobID) != 0 {
			t.Fatalf("the job is %s, its end was told %d times", got, told(jobID))
		}
		for range 2 {
			must(t, w.Jobs.Expire(t.Context(), w.Org.ID, queued(jobID)))
		}
		if told(jobID) != 1 {
			t.Errorf("its end was told %d times", told(jobID))
		}
	})
	t.Run("offered", func(t *testing.T) {
		jobID := w.Job(t, runner, "plan", "")
		ref := w.Offer(t, runner)
		cancel(jobID)
		wantStatus(t, w, ref, "cancelled", "withdrawn")
		_, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
		wantIs(t, err, jobs.ErrOfferGone)
		for range 2 {
			must(t, w.Jobs.Expire(t.Context(), w.Org.ID, queued(jobID)))
		}
		if told(jobID) != 1 {
			t.Errorf("its end was told %d times", told(jobID))
		}
	})
	t.Run("running", func(t *testing.T) {
		jobID := w.Job(t, runner, "apply", "")
		ref, _ := w.Start(t, runner)
		cancel(jobID)
		wantStatus(t, w, ref, "running", "running")
		answer, err := w.Jobs.Heartbeat(t.Context(), runner.Caller, api.Heartbeat{Attempts: []api.AttemptRef{ref}})
		must(t, err)
		if !answer.Attempts[0].Cancel || answer.Attempts[0].Superseded {
			t.Errorf("told %+v", answer.Attempts[0])
		}
		must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, api.JobResult{Status: api.JobResultStatusCancelled}))
		cancel(jobID) // a job that has ended stays as it is
		if told(jobID) != 1 {
			t.Errorf("its end was told %d times", told(jobID))
		}
	})
	t.Run("running and silent", func(t *testing.T) {
		jobID := w.Job(t, runner, "plan", "")
		ref, _ := w.Start(t, runner)
		cancel(jobID)
		w.RunOut(t, w.Org.ID, ref)
		wantStatus(t, w, ref, "cancelled", "expired")
		if told(jobID) != 1 {
			t.Errorf("its end was told %d times", told(jobID))
		}
	})
	t.Run("none", func(t *testing.T) {
		err := w.Store.InTx(t.Context(), w.Org.ID,
			func(ctx context.Context, tx *store.Tx) error { return jobs.Cancel(ctx, tx, "job_none", "x") })
		wantIs(t, err, jobs.ErrNotFound)
	})
}

func TestExpireOfWhatIsNotThere(t *testing.T) {
	w := jobstest.New(t)
	must(t, w.Jobs.Expire(t.Context(), w.Org.ID, "job_none/1"))
	if err := w.Jobs.Expire(t.Context(), w.Org.ID, "nonsense"); err == nil {
		t.Error("expired nonsense")
	}
}

func TestWhatIsAnothersIsNotFound(t *testing.T) {
	w := jobstest.New(t)
	mine := w.Runner(t, runners.KindInstall)
	w.Job(t, mine, "apply", w.Component(t, mine))
	ref, _ := w.Start(t, mine)
	for whose, other := range map[string]runners.Caller{
		"another runner":     w.Runner(t, runners.KindInstall).Caller,
		"another org's":      w.RunnerIn(t, w.AddOrg(t).ID, runners.KindInstall).Caller,
		"another attempt":    {Org: mine.Org, Runner: mine.Runner, Job: ref.Job, Attempt: 2},
		"another job's":      {Org: mine.Org, Runner: mine.Runner, Job: "job_other", Attempt: 1},
		"nobody":             {},
		"the org but nobody": {Org: mine.Org},
	} {
		t.Run(whose, func(t *testing.T) {
			d, ctx := w.Jobs, t.Context()
			_, err := d.Accept(ctx, other, ref)
			wantIs(t, err, jobs.ErrNotFound)
			_, err = d.Spec(ctx, other, ref)
			wantIs(t, err, jobs.ErrNotFound)
			_, err = w.States.Get(ctx, other, ref, 0)
			wantIs(t, err, jobs.ErrNotFound)
			_, err = w.States.Put(ctx, other, ref, jobstest.SealedState(1, "a"))
			wantIs(t, err, jobs.ErrNotFound)
			wantIs(t, w.States.Lock(ctx, other, ref, api.StateLock{ID: "l"}), jobs.ErrNotFound)
			wantIs(t, w.States.Unlock(ctx, other, ref), jobs.ErrNotFound)
			wantIs(t, w.Logs.Append(ctx, other, ref, nil), jobs.ErrNotFound)
			wantIs(t, d.Result(ctx, other, ref, failed), jobs.ErrNotFound)
		})
	}
	for _, odd := range []api.AttemptRef{
		{Job: "a\x00b", Attempt: 1}, {Job: "\xff", Attempt: 1}, {Job: ref.Job, Attempt: 0},
		{Job: ref.Job, Attempt: 1 << 40},
	} {
		_, err := w.Jobs.Accept(t.Context(), mine.Caller, odd)
		wantIs(t, err, jobs.ErrNotFound)
	}
	wantStatus(t, w, ref, "running", "running")
}

// In either order, the job and its attempt agree afterwards: in contact, or offered again with the
// old attempt superseded.
func TestAHeartbeatAndAnExpiryAtTheSameMomentAgree(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	for range 25 {
		w.Job(t, runner, "plan", "")
		ref, _ := w.Start(t, runner)
		w.Exec(t, "update attempts set lease_until = now() - interval '1 second' where job_id = $1", ref.Job)
		var both sync.WaitGroup
		var answer api.HeartbeatAnswer
		both.Go(func() {
			var err error
			if answer, err = w.Jobs.Heartbeat(
				t.Context(), runner.Caller, api.Heartbeat{Attempts: []api.AttemptRef{ref}},
			); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := w.Jobs.Expire(t.Context(), w.Org.ID, jobstest.Due(ref)); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		job, attempt := w.JobStatus(t, ref.Job), w.AttemptStatus(t, ref)
		if job+" "+attempt != "running running" && job+" "+attempt != "queued expired" || len(answer.Attempts) != 1 {
			t.Fatalf("the job is %s and its attempt %s; the runner was told %+v", job, attempt, answer)
		}
		if job == "running" {
			must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, failed))
		} else {
			w.In(t, func(ctx context.Context, tx *store.Tx) error {
				return jobs.Cancel(ctx, tx, ref.Job, "the test goes on")
			})
		}
	}
}

// Builds that wait for an offline runner move to one that is online; jobs of an install do not.
func TestBuildsDoNotWaitForARunnerThatIsGone(t *testing.T) {
	w := jobstest.New(t)
	gone, there, install, idle := w.Runner(t, runners.KindBuild), w.Runner(t, runners.KindBuild),
		w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	build, plan := w.Job(t, gone, "build", ""), w.Job(t, install, "plan", "")
	poll := func(runner jobstest.Runner) []api.Offer {
		t.Helper()
		got, err := w.Jobs.Lease(t.Context(), runner.Caller,
			api.LeaseRequest{Free: 5, Version: "1", WaitSeconds: -1}, nil)
		must(t, err)
		return got.Offers
	}
	if offers := poll(there); len(offers) != 0 {
		t.Fatalf("a build was taken from a runner that is there: %v", offers)
	}
	w.Exec(t, "update runners set last_seen = now() - interval '2 minutes' where id = any($1)", []string{
		gone.Caller.Runner, install.Caller.Runner,
	})
	if offers := poll(idle); len(offers) != 0 {
		t.Fatalf("another install's runner is offered %v", offers)
	}
	if offers := poll(there); len(offers) != 1 || offers[0].Job != build {
		t.Fatalf("offered %v, want the build", offers)
	}
	if status := w.JobStatus(t, plan); status != "queued" {
		t.Errorf("the plan is %s", status)
	}
}
