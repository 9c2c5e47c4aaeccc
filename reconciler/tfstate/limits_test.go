package tfstate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// stored returns how many versions are stored, and how many bytes.
func stored(t testing.TB, w *jobstest.World) string {
	t.Helper()
	return w.Text(t, "select count(*) || ' of ' || coalesce(sum(bytes), 0) from states where sealed is not null")
}

// unrelated returns a state that replaces no other one.
func unrelated(n int) api.State {
	s := jobstest.SealedState(1, fmt.Sprintf("digest-%d", n))
	s.Lineage = fmt.Sprintf("other-%d", n)
	return s
}

// noRoom delivers a state that is not stored because of a limit.
func noRoom(t testing.TB, w *jobstest.World, runner jobstest.Runner, ref api.AttemptRef, s api.State) {
	t.Helper()
	_, err := w.States.Put(t.Context(), runner.Caller, ref, s)
	if !errors.Is(err, tfstate.ErrLimit) {
		t.Fatalf("state %s: %v, want no room", s.Digest, err)
	}
}

// dismiss dismisses the newest version with a status, as a person does.
func dismiss(t testing.TB, w *jobstest.World, component, status string) {
	t.Helper()
	w.In(t, func(ctx context.Context, tx *store.Tx) error {
		place, err := tx.InstallComponentByID(ctx, tx.Org, component)
		must(t, err)
		found, err := tx.ContestedStates(ctx, tx.Org, place.InstallID)
		must(t, err)
		for _, v := range found {
			if v.Status == status {
				return tfstate.Dismiss(ctx, tx, place, v.Version, "a test said so")
			}
		}
		return fmt.Errorf("no version is %s", status)
	})
}

func TestOnlyAnApplyWritesStates(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	for _, kind := range []string{"sync", "action", "health"} {
		w.Job(t, runner, kind, component)
		ref, _ := w.Start(t, runner)
		for n := range 3 {
			_, err := w.States.Put(t.Context(), runner.Caller, ref, unrelated(n))
			wantIs(t, err, refusal.ErrInvalid)
		}
	}
	if got := w.Text(t, "select count(*)::text from states"); got != "0" {
		t.Errorf("%s versions are stored", got)
	}
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	w.PutState(t, runner, ref, jobstest.SealedState(3, "a"))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))

	// A plan may deliver the newest state again that a control plane restored from an older backup
	// has lost, and nothing else: otherwise a runner could fill the database from one plan.
	w.Job(t, runner, "plan", component)
	plan, _ := w.Start(t, runner)
	for n := range 24 {
		_, err := w.States.Put(t.Context(), runner.Caller, plan, unrelated(n))
		wantIs(t, err, refusal.ErrInvalid)
	}
	_, err := w.States.Put(t.Context(), runner.Caller, plan, jobstest.SealedState(2, "older"))
	wantIs(t, err, refusal.ErrInvalid)
	w.PutState(t, runner, plan, jobstest.SealedState(4, "newer"))
	w.PutState(t, runner, plan, jobstest.SealedState(4, "newer"))
	for serial := int64(5); serial < 24; serial++ {
		_, err := w.States.Put(t.Context(), runner.Caller, plan, jobstest.SealedState(serial, "again"))
		wantIs(t, err, refusal.ErrInvalid)
	}
	if got, want := w.StateVersions(t), "3 a kept, 4 newer kept"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
}

func TestAnAttemptsNewStatesReplaceItsOldOnes(t *testing.T) {
	w := jobstest.New(t)
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 3})
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	before, _ := w.Start(t, runner)
	w.PutState(t, runner, before, jobstest.SealedState(1, "before"))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, before, jobstest.Lost))
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	for serial := int64(2); serial < 50; serial++ {
		if w.PutState(t, runner, ref, jobstest.SealedState(serial, fmt.Sprint("s", serial))) {
			t.Fatalf("serial %d is contested", serial)
		}
	}
	if got, want := w.StateVersions(t), "1 before kept, 47 s47 kept, 48 s48 kept, 49 s49 kept"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	// Bytes count as well.
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 3, AttemptBytes: 40})
	long := jobstest.SealedState(50, "long")
	long.Sealed.Ciphertext = []byte(strings.Repeat("x", 30))
	w.PutState(t, runner, ref, long)
	if got, want := w.StateVersions(t), "1 before kept, 49 s49 kept, 50 long kept"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
}

// The states that an attempt writes in many lineages are not stored without a limit, and those
// beyond the limit are not discarded.
func TestAStateWithoutRoomWaitsForIt(t *testing.T) {
	w := jobstest.New(t)
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 3})
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	w.PutState(t, runner, ref, jobstest.SealedState(5, "kept"))
	w.PutState(t, runner, ref, unrelated(1))
	w.PutState(t, runner, ref, unrelated(2))
	for range 3 {
		for n := 3; n < 24; n++ {
			noRoom(t, w, runner, ref, unrelated(n))
		}
	}
	want := "5 kept kept, 1 digest-1 contested, 1 digest-2 contested, 1 digest-3 withheld"
	if got := w.StateVersions(t); got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	if got := w.Text(t, "select reason from states where status = 'withheld'"); !strings.Contains(got, "3 versions") ||
		!strings.Contains(got, ref.Job) {
		t.Errorf("withheld because %q", got)
	}
	// The first contested one, and the first withheld one.
	if got := w.Text(t, "select count(*)::text from audit_events where action like 'state.%'"); got != "2" {
		t.Errorf("%s audit events", got)
	}
	_, err := w.States.Get(t.Context(), runner.Caller, ref, 0)
	must(t, err) // the kept one is still the newest
	// A person who raises the limit admits it.
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 4})
	if !w.PutState(t, runner, ref, unrelated(3)) {
		t.Error("a state of another lineage is not contested")
	}
	if got, want := w.StateVersions(t),
		"5 kept kept, 1 digest-1 contested, 1 digest-2 contested, 1 digest-3 contested"; got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	// A state that a person dismisses is accepted without being stored, so that its runner
	// continues; once it fits it is stored after all.
	noRoom(t, w, runner, ref, unrelated(4))
	dismiss(t, w, component, "withheld")
	w.PutState(t, runner, ref, unrelated(4))
	if got := w.Text(
		t, "select status || ' ' || (sealed is not null) from states where digest = 'digest-4'",
	); got != "dismissed false" {
		t.Errorf("what was given up is %s", got)
	}
	w.States = tfstate.New(w.Store, tfstate.Limits{})
	w.PutState(t, runner, ref, unrelated(4))
	if got := w.Text(
		t, "select status || ' ' || (sealed is not null) from states where digest = 'digest-4'",
	); got != "dismissed true" {
		t.Errorf("what was given up is %s", got)
	}
}

func TestSupersededStatesGoWhenTheirInstallIsFull(t *testing.T) {
	w := jobstest.New(t)
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 1, InstallVersions: 5})
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	write := func(s api.State) api.AttemptRef {
		t.Helper()
		w.Job(t, runner, "apply", component)
		ref, _ := w.Start(t, runner)
		w.PutState(t, runner, ref, s)
		must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))
		return ref
	}
	for serial := int64(1); serial < 10; serial++ {
		write(jobstest.SealedState(serial, fmt.Sprint("s", serial)))
	}
	if got, want := w.StateVersions(t), "5 s5 kept, 6 s6 kept, 7 s7 kept, 8 s8 kept, 9 s9 kept"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	for n := range 4 {
		write(unrelated(n)) // contested: these wait for a person, and displace what is superseded
	}
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	noRoom(t, w, runner, ref, unrelated(9))
	if got, want := w.StateVersions(t), "9 s9 kept, 1 digest-0 contested, 1 digest-1 contested, 1 digest-2 contested, 1 "+
		"digest-3 contested, 1 digest-9 withheld"; got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	if got := stored(t, w); !strings.HasPrefix(got, "5 of ") {
		t.Errorf("stored %s", got)
	}
	// Versions that a person has decided about can be removed.
	w.Exec(t, "update states set created_at = now() - interval '1 day' where digest = 'digest-0'")
	for range 4 {
		dismiss(t, w, component, "contested")
	}
	if !w.PutState(t, runner, ref, unrelated(9)) {
		t.Error("a state of another lineage is not contested")
	}
}

// An attempt that is over delivers a spool of any length, and the audit log does not record each
// state of it.
func TestALateSpoolIsAuditedOnce(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", w.Component(t, runner))
	ref, _ := w.Start(t, runner)
	w.PutState(t, runner, ref, jobstest.SealedState(1, "in time"))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))
	for serial := int64(2); serial < 30; serial++ {
		w.PutState(t, runner, ref, jobstest.SealedState(serial, fmt.Sprint("s", serial)))
	}
	if n := w.Text(t, "select count(*)::text from audit_events where action = 'state.late'"); n != "1" {
		t.Errorf("%s late versions are in the audit, want the first", n)
	}
}

// A runner that refuses every offer leaves no row for each.
func TestOffersThatNobodyTakesLeaveNothing(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "sync", w.Component(t, runner))
	for range 20 {
		must(t, w.Jobs.Result(t.Context(), runner.Caller, w.Offer(t, runner), jobstest.Lost))
	}
	if n := w.Text(t, "select count(*)::text from attempts"); n != "1" {
		t.Errorf("%s attempts are stored, want the newest", n)
	}
	w.Start(t, runner)
}

// TestContestedStatesFillNoAuditLog checks that the contested versions of an attempt leave one record until a person
// dismisses them, also if each new version replaces the one before.
func TestContestedStatesFillNoAuditLog(t *testing.T) {
	w := jobstest.New(t)
	w.States = tfstate.New(w.Store, tfstate.Limits{AttemptVersions: 2})
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	var attempts []api.AttemptRef
	for serial := range int64(2) {
		w.Job(t, runner, "apply", component)
		ref, _ := w.Start(t, runner)
		w.PutState(t, runner, ref, jobstest.SealedState(serial+1, fmt.Sprint("kept-", serial)))
		must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))
		attempts = append(attempts, ref)
	}
	write := func(serial int64) {
		t.Helper()
		for n, ref := range attempts {
			s := jobstest.SealedState(serial, fmt.Sprintf("other-%d-%d", n, serial))
			s.Lineage = fmt.Sprint("other-", n)
			if !w.PutState(t, runner, ref, s) {
				t.Fatalf("serial %d of attempt %d is not contested", serial, n)
			}
		}
	}
	events := func() string {
		t.Helper()
		return w.Text(t, "select count(*)::text from audit_events where action = 'state.contested'")
	}
	for serial := range int64(10) {
		write(serial)
	}
	if got := events(); got != "2" {
		t.Errorf("the contested versions of two attempts are recorded %s times", got)
	}
	dismiss(t, w, component, "contested")
	dismiss(t, w, component, "contested")
	write(10)
	write(11)
	if got := events(); got != "4" {
		t.Errorf("with those after the decision they are recorded %s times", got)
	}
}
