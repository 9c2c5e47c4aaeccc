package jobstest

import (
	"context"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Failed and Lost are results of attempts.
var (
	Failed = api.JobResult{Status: api.JobResultStatusFailed, Error: "exit 1"}
	Lost   = api.JobResult{Status: api.JobResultStatusLost, Error: "the process is gone"}
)

// SealedState returns a sealed state of a fixed lineage.
func SealedState(serial int64, digest string) api.State {
	return api.State{
		Serial: serial, Lineage: "lineage-1", Digest: digest,
		Sealed: seal.Sealed{KeyID: "key-1", Ciphertext: []byte("sealed " + digest)},
	}
}

// PutState delivers a state and reports whether it is contested.
func (w *World) PutState(t testing.TB, runner Runner, ref api.AttemptRef, s api.State) bool {
	t.Helper()
	contested, err := w.States.Put(t.Context(), runner.Caller, ref, s)
	must(t, err)
	return contested
}

// StateVersions returns all versions of all states, in order: "serial digest status".
func (w *World) StateVersions(t testing.TB) string {
	t.Helper()
	return w.Text(t, "select coalesce(string_agg(serial || ' ' || digest || ' ' || status, ', ' "+
		"order by install_component_id, version), '') from states")
}

// CreateRunner creates a runner of the world's org and returns its registration token.
func (w *World) CreateRunner(t testing.TB, n runners.NewRunner) (store.Runner, string, error) {
	t.Helper()
	var runner store.Runner
	var registration string
	err := w.Store.InTx(t.Context(), w.Org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		runner, registration, err = runners.Create(ctx, tx, n)
		return err
	})
	return runner, registration, err
}
