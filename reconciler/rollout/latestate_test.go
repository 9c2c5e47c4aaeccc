package rollout_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// deliver delivers a state of an attempt, and reports whether it is contested.
func (w *world) deliver(ref api.AttemptRef, serial int64) (contested bool, err error) {
	w.Helper()
	sealed, err := w.key.Recipient().Seal(seal.Context{Kind: seal.KindState}, []byte("state"))
	must(w, err)
	return tfstate.New(w.store, tfstate.Limits{}).Put(w.Context(), w.caller, ref,
		api.State{Serial: serial, Lineage: "l", Digest: fmt.Sprint("state-", serial), Sealed: sealed})
}

// newestAttempt returns the newest attempt of a job of a kind for metrics.
func (w *world) newestAttempt(kind string) api.AttemptRef {
	w.Helper()
	return api.AttemptRef{Attempt: 1, Job: w.one("select j.id from jobs j join steps s on s.id = j.owner_id "+
		"where s.component = 'metrics' and j.kind = $1 order by j.created_at desc limit 1", kind)}
}

// deployMetrics deploys a new build of metrics. Its apply leaves a state with a serial before its result.
func (w *world) deployMetrics(serial int64) api.AttemptRef {
	w.Helper()
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(w, w.answer("metrics", workflow.Approve, ""))
	offer := w.offers()["apply metrics"]
	spec, ok := w.accept(offer)
	if !ok {
		w.Fatal("not accepted")
	}
	ref := api.AttemptRef{Job: offer.Job, Attempt: offer.Attempt}
	contested, err := w.deliver(ref, serial)
	must(w, err)
	w.want(contested, false)
	must(w, w.jobs.Result(w.Context(), w.caller, ref, w.work(spec)))
	w.queue()
	return ref
}

// TestLateStatesStartNoWorkflows checks that a runner cannot make any number of workflows, and of their audit events,
// with states of attempts that have ended and plans that find no changes.
func TestLateStatesStartNoWorkflows(t *testing.T) {
	for name, c := range map[string]struct {
		kind    string // the job whose newest attempt writes
		oldest  bool   // the first apply writes each time
		rule    string
		changes bool // each plan finds a change
	}{
		"one apply":                {kind: "apply", oldest: true, rule: "prompt"},
		"every plan":               {kind: "plan", rule: "prompt"},
		"applies without a person": {kind: "apply", rule: "approve-all", changes: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProvisionedWorld(t)
			first := w.deployMetrics(1)
			w.app.Components[0].EnvVars = map[string]string{"A": "b"}
			w.version() // its plan finds no changes, and starts with the state of the apply
			w.look()
			w.want(w.runJobs(), "[plan metrics]")
			w.exec("update installs set approval = $1", c.rule)
			started := func() string {
				return w.one("select (select count(*) from workflows) || ' ' || " +
					"(select count(*) from audit_events where action = 'workflow.start')")
			}
			before := started()
			for serial := int64(2); serial < 12; serial++ {
				ref := first
				if !c.oldest {
					ref = w.newestAttempt(c.kind)
				}
				if _, err := w.deliver(ref, serial); err != nil && !(c.kind == "plan" && errors.Is(err, refusal.ErrInvalid)) {
					t.Fatal(err)
				}
				if c.changes {
					w.state["metrics"] = fmt.Sprint("changed by ", serial)
				}
				w.runJobs()
			}
			w.want(started(), before)
			w.want(w.one("select (count(*) > 0)::text from states where status = 'contested'"), c.kind == "apply")
		})
	}
}

// TestASpoolThatArrivesBeforeTheNextPlanIsKept checks that a machine that was replaced while it worked delivers its
// states in order without a decision of a person, as long as it is not known what is applied.
func TestASpoolThatArrivesBeforeTheNextPlanIsKept(t *testing.T) {
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
	for serial := int64(1); serial < 4; serial++ {
		contested, err := w.deliver(lost[0], serial)
		must(t, err)
		w.want(contested, false)
	}
	w.want(w.runJobs(), "[plan metrics]") // it reads the last one, and its approval is requested
	contested, err := w.deliver(lost[0], 4)
	must(t, err)
	w.want(contested, false)
	must(t, w.answer("metrics", workflow.Approve, ""))
	w.approveAll()
	status, _ := w.component("metrics")
	w.want(status, "current")
	w.want(w.list("select serial || ' ' || status from states order by version"), "[1 kept 2 kept 3 kept 4 kept]")
}
