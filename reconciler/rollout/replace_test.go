package rollout_test

import (
	"context"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// replaceRunner is a person who declares the runner's machine lost while it still
// runs. It returns the attempts that are lost with it.
func (w *world) replaceRunner() []api.AttemptRef {
	w.Helper()
	var replaced jobs.Replaced
	must(w, w.in(func(ctx context.Context, tx *store.Tx) (err error) {
		replaced, err = w.jobs.Replace(ctx, tx, jobs.Replacement{Runner: w.caller.Runner, Reason: "it burnt"})
		return err
	}))
	_, err := jobstest.Register(w.Context(), runners.New(w.store), replaced.RegistrationToken, w.key,
		api.Registration{Version: "1", Capacity: 8})
	must(w, err)
	w.queue()
	return replaced.Lost
}

func TestAnApplyThatIsLostWithItsMachineIsPlannedAndAskedAnew(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, ""))
	offer := w.offers()["apply metrics"]
	if _, ok := w.accept(offer); !ok {
		t.Fatal("not accepted")
	}
	lost := w.replaceRunner()
	w.want(lost, []api.AttemptRef{{Job: offer.Job, Attempt: offer.Attempt}})
	w.want(w.runJobs(), "[plan metrics]")
	w.want(w.asked(), "[metrics]")
	w.approveAll()
	status, _ := w.component("metrics")
	w.want(status, "current")
	// The machine was not lost: its state arrives after a new plan was applied, so a person decides about it. Then the
	// component is planned before it counts as current again.
	contested, err := w.deliver(lost[0], 9)
	must(t, err)
	w.want(contested, true)
	w.queue()
	status, _ = w.component("metrics")
	w.want(status, "stalled")
	w.want(w.runJobs(), "[]")
	must(t, w.dismiss("metrics", 1))
	w.want(w.runJobs(), "[plan metrics]")
	status, _ = w.component("metrics")
	w.want(status, "current")
	w.want(w.list("select status from plans where component = 'metrics' order by created_at"),
		"[applied failed applied empty]")
}

// TestTheActionAfterADeployIsNotLostWithItsMachine: the next plan finds no changes,
// and the action after the deploy, which has not run yet, still runs.
func TestTheActionAfterADeployIsNotLostWithItsMachine(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Approve, ""))
	spec, ok := w.accept(w.offers()["apply web"])
	if !ok {
		t.Fatal("not accepted")
	}
	w.work(spec) // it completes, but its result is never delivered
	w.replaceRunner()
	w.want(w.runJobs(), "[plan web action smoke]")
	w.want(w.list("select status from plans where component = 'web' order by created_at"), "[applied failed empty]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
}

// TestAStaleApplyDoesNotBringBackWhatALateStateTookAway: the applied state recorded
// before the apply is no longer known.
func TestAStaleApplyDoesNotBringBackWhatALateStateTookAway(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, ""))
	if _, ok := w.accept(w.offers()["apply metrics"]); !ok {
		t.Fatal("not accepted")
	}
	lost := w.replaceRunner()
	w.runJobs()
	w.approveAll()
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, ""))
	apply := w.offers()["apply metrics"]
	if _, ok := w.accept(apply); !ok {
		t.Fatal("not accepted")
	}
	_, err := w.deliver(lost[0], 9)
	must(t, err)
	stale := api.JobResult{Status: api.JobResultStatusStale, Error: "the state moved"}
	must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: apply.Job, Attempt: apply.Attempt}, stale))
	w.want(w.one("select applied_digest from install_components where name = 'metrics'"), "")
}
