package rollout_test

import (
	"context"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// replaceRunner is a person's word that the machine is gone, while it goes on; it gives the attempts that are lost with that.
func (w *world) replaceRunner() []api.AttemptRef {
	w.Helper()
	var replaced dispatch.Replaced
	must(w, w.in(func(ctx context.Context, tx *store.Tx) (err error) {
		replaced, err = w.dispatch.Replace(ctx, tx, dispatch.Replacement{Runner: w.caller.Runner, Reason: "it burnt"})
		return err
	}))
	_, err := w.dispatch.Register(w.Context(), replaced.RegistrationToken, api.Registration{Version: "1", Capacity: 8, Recipient: w.key.Recipient().String()})
	must(w, err)
	w.queue()
	return replaced.Lost
}

func TestAnApplyThatIsLostWithItsMachineIsPlannedAndAskedAnew(t *testing.T) {
	w := newWorld(t)
	w.provision()
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
	// The machine was not gone: what it did arrives late, and what is there is looked at before anybody calls it current again.
	sealed, err := w.key.Recipient().Seal([]byte("state"))
	must(t, err)
	_, err = w.dispatch.PutState(t.Context(), w.caller, lost[0], api.State{Serial: 9, Lineage: "l", Digest: "late", Sealed: sealed})
	must(t, err)
	status, _ = w.component("metrics")
	w.want(status, "behind")
	w.queue()
	w.want(w.runJobs(), "[plan metrics]")
	status, _ = w.component("metrics")
	w.want(status, "current")
	w.want(w.list("select status from plans where component = 'metrics' order by created_at"), "[applied failed applied empty]")
}
