package dispatch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch/dispatchtest"
)

// state is a sealed state of one lineage.
func state(serial int64, digest string) api.State {
	return api.State{Serial: serial, Lineage: "lineage-1", Digest: digest, Sealed: seal.Sealed{KeyID: "key-1", Ciphertext: []byte("sealed " + digest)}}
}

func TestStateGoesForwardOnly(t *testing.T) {
	w := dispatchtest.New(t)
	runner := w.Runner(t, dispatch.RunnerInstall)
	w.Job(t, runner, "apply", w.Component(t, runner))
	ref, _ := w.Start(t, runner)
	put := func(s api.State) error { return w.Dispatch.PutState(t.Context(), runner.Caller, ref, s) }
	_, err := w.Dispatch.State(t.Context(), runner.Caller, ref)
	wantIs(t, err, dispatch.ErrNoState)
	must(t, put(state(1, "a")))
	must(t, put(state(3, "b")))
	for range 2 { // a spool that is sent again
		must(t, put(state(1, "a")))
		must(t, put(state(3, "b")))
	}
	elsewhere := state(9, "x")
	elsewhere.Lineage = "lineage-2"
	for want, s := range map[string]api.State{
		"its serial is 2, and serial 3 is kept already": state(2, "c"),
		"another state of serial 3 is kept already":     state(3, "c"),
		"lineage-2": elsewhere,
	} {
		err := put(s)
		wantIs(t, err, dispatch.ErrStateConflict)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("said %q, want %q in it", err, want)
		}
	}
	for name, s := range map[string]api.State{
		"no lineage":   {Serial: 4, Digest: "d", Sealed: state(1, "a").Sealed},
		"NUL":          {Serial: 4, Lineage: "a\x00", Digest: "d", Sealed: state(1, "a").Sealed},
		"not sealed":   {Serial: 4, Lineage: "a", Digest: "d"},
		"negative":     state(-1, "d"),
		"long lineage": {Serial: 4, Lineage: strings.Repeat("l", 300), Digest: "d", Sealed: state(1, "a").Sealed},
	} {
		if err := put(s); !errors.Is(err, dispatch.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := w.Dispatch.State(t.Context(), runner.Caller, ref)
	must(t, err)
	if diff := cmp.Diff(state(3, "b"), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if n := w.Text(t, "select count(*)::text from states"); n != "2" {
		t.Errorf("kept %s versions", n)
	}
	// What an attempt wrote may come after its result, as long as nothing newer is there.
	must(t, w.Dispatch.Result(t.Context(), runner.Caller, ref, lost))
	must(t, put(state(4, "late")))
}

func TestASupersededAttemptWritesNoState(t *testing.T) {
	w := dispatchtest.New(t)
	runner := w.Runner(t, dispatch.RunnerInstall)
	w.Job(t, runner, "plan", w.Component(t, runner))
	first, _ := w.Start(t, runner)
	w.RunOut(t, w.Org.ID, first)
	wantIs(t, w.Dispatch.PutState(t.Context(), runner.Caller, first, state(1, "a")), dispatch.ErrStateConflict)
	second := w.Offer(t, runner)
	wantIs(t, w.Dispatch.PutState(t.Context(), runner.Caller, second, state(1, "a")), dispatch.ErrNotRunning)
	must(t, w.Dispatch.Result(t.Context(), runner.Caller, first, failed))
	wantIs(t, w.Dispatch.PutState(t.Context(), runner.Caller, first, state(1, "a")), dispatch.ErrStateConflict)
}

func TestJobsWithoutAComponentHaveNoState(t *testing.T) {
	w := dispatchtest.New(t)
	runner := w.Runner(t, dispatch.RunnerInstall)
	w.Job(t, runner, "action", "")
	ref, _ := w.Start(t, runner)
	_, err := w.Dispatch.State(t.Context(), runner.Caller, ref)
	wantIs(t, err, dispatch.ErrInvalid)
	wantIs(t, w.Dispatch.LockState(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}), dispatch.ErrInvalid)
	wantIs(t, w.Dispatch.PutState(t.Context(), runner.Caller, ref, state(1, "a")), dispatch.ErrInvalid)
}

func TestLocksBelongToAttempts(t *testing.T) {
	w := dispatchtest.New(t)
	one, two := w.Runner(t, dispatch.RunnerInstall), w.Runner(t, dispatch.RunnerInstall)
	component := w.Component(t, one)
	w.Job(t, one, "apply", component)
	w.Job(t, two, "apply", component)
	first, _ := w.Start(t, one)
	second, _ := w.Start(t, two)
	lock := func(runner dispatchtest.Runner, ref api.AttemptRef, id string) error {
		return w.Dispatch.LockState(t.Context(), runner.Caller, ref, api.StateLock{ID: id, Info: []byte(`{"Who":"` + id + `"}`)})
	}
	must(t, lock(one, first, "l1"))
	must(t, lock(one, first, "l1"))  // the answer was lost
	must(t, lock(one, first, "l1b")) // a process of the same attempt that died
	held := func() {
		t.Helper()
		var locked *dispatch.LockedError
		if err := lock(two, second, "l2"); !errors.As(err, &locked) {
			t.Fatalf("locked twice: %v", err)
		}
		if locked.ID != "l1b" || !strings.Contains(locked.Holder, first.Job) || !strings.Contains(string(locked.Info), "l1b") {
			t.Errorf("the holder is %+v", locked)
		}
	}
	held()
	wantIs(t, w.Dispatch.PutState(t.Context(), two.Caller, second, state(1, "a")), dispatch.ErrStateConflict)
	must(t, w.Dispatch.UnlockState(t.Context(), two.Caller, second)) // frees its own alone
	held()
	w.RunOut(t, w.Org.ID, first) // silent is not dead
	held()
	must(t, w.Dispatch.PutState(t.Context(), one.Caller, first, state(1, "a")))
	must(t, w.Dispatch.Result(t.Context(), one.Caller, first, lost)) // the lock falls with the attempt
	if left := w.Text(t, "select count(*)::text from state_locks"); left != "0" {
		t.Errorf("%s locks are left of an attempt that ended", left)
	}
	must(t, lock(two, second, "l2"))
	must(t, w.Dispatch.UnlockState(t.Context(), two.Caller, second))
	must(t, w.Dispatch.UnlockState(t.Context(), two.Caller, second))
	if left := w.Text(t, "select count(*)::text from state_locks"); left != "0" {
		t.Errorf("%s locks are left", left)
	}
	wantIs(t, lock(one, first, "l3"), dispatch.ErrNotRunning)
	// A lock whose attempt ended without freeing it, however that came to be, is taken over.
	w.Exec(t, "insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) values ($1, $2, 'old', '{}', $3, 1)", w.Org.ID, component, first.Job)
	must(t, lock(two, second, "l2"))
}
