package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestCancelOfInstall checks that jobs that have not started or are repeatable are cancelled, and
// that a running apply or action causes an error and then nothing is cancelled.
func TestCancelOfInstall(t *testing.T) {
	for _, kind := range []string{"apply", "action", "plan", "sync"} {
		w := jobstest.New(t)
		runner := w.Runner(t, runners.KindInstall)
		component := w.Component(t, runner)
		install := w.InstallOf(t, component)
		running := w.Enqueue(t, runner, jobs.NewJob{Kind: kind, InstallID: install})
		w.Start(t, runner)
		queued := w.Job(t, runner, "apply", component)
		other := w.Job(t, runner, "apply", w.Component(t, runner))
		err := w.Store.InTx(t.Context(), w.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			return jobs.CancelInstallJobs(ctx, tx, install, "it was forgotten")
		})
		var busy *jobs.RunningJobError
		changes := kind == "apply" || kind == "action"
		if changes != errors.As(err, &busy) || changes && (busy.Job.ID != running || busy.Runner == "") ||
			!changes && err != nil {
			t.Errorf("with a running %s: %v", kind, err)
		}
		cancelling := w.Text(t, "select cancel::text from jobs where id = $1", running)
		if got, want := w.JobStatus(t, queued)+" "+cancelling,
			map[bool]string{true: "queued false", false: "cancelled true"}[changes]; got != want {
			t.Errorf("with a running %s, the apply that waits and the cancel are %s, want %s", kind, got, want)
		}
		if status := w.JobStatus(t, other); status != "queued" {
			t.Errorf("the job of another install is %s", status)
		}
	}
}

// TestWhatIsLeftOfAForgottenInstallIsAnsweredForGood checks a machine that was replaced and comes
// back after its install was forgotten: its state is refused permanently and stays on its disk, its
// result is accepted, and the machine retries neither.
func TestWhatIsLeftOfAForgottenInstallIsAnsweredForGood(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	must(t, w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}))
	w.Exec(t, "delete from installs where id = $1", w.InstallOf(t, component))
	wantIs(t, w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}), jobs.ErrNotFound)
	_, err := w.States.Put(t.Context(), runner.Caller, ref, jobstest.SealedState(1, "a"))
	wantIs(t, err, jobs.ErrNotFound)
	must(t, w.States.Unlock(t.Context(), runner.Caller, ref))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, api.JobResult{Status: api.JobResultStatusSucceeded}))
	wantStatus(t, w, ref, "succeeded", "succeeded")
}
