package tfstate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

func TestStateGoesForwardOnly(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	_, err := w.States.Get(t.Context(), runner.Caller, ref, 0)
	wantIs(t, err, tfstate.ErrNoState)
	elsewhere := jobstest.SealedState(9, "x")
	elsewhere.Lineage = "lineage-2"
	for _, step := range []struct {
		next      api.State
		contested bool
		because   string
	}{
		{next: jobstest.SealedState(1, "a")},
		{next: jobstest.SealedState(3, "b")},
		{next: jobstest.SealedState(1, "a")}, // a spool that is sent again
		{next: jobstest.SealedState(3, "b")},
		{jobstest.SealedState(3, "c"), true, "wrote it with serial 3, which is not after version 2 (serial 3)"},
		{jobstest.SealedState(3, "c"), true, ""}, // and again
		{
			elsewhere, true,
			"wrote it with lineage lineage-2, and that of version 2 (serial 3), which attempt 1 of job " + ref.Job +
				" wrote, is lineage-1",
		},
		{next: jobstest.SealedState(2, "d")}, // overtaken on the way: stored, with no effect
	} {
		if got := w.PutState(t, runner, ref, step.next); got != step.contested {
			t.Errorf("serial %d %s: contested %t, want %t", step.next.Serial, step.next.Digest, got, step.contested)
		}
		if reason := w.Text(
			t, "select reason from states where digest = $1", step.next.Digest,
		); !strings.Contains(reason, step.because) {
			t.Errorf("serial %d %s: because %q, want %q", step.next.Serial, step.next.Digest, reason, step.because)
		}
	}
	if got, want := w.StateVersions(t), "1 a kept, 3 b kept, 3 c contested, 9 x contested, 2 d dismissed"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	for name, s := range map[string]api.State{
		"no lineage": {Serial: 4, Digest: "d", Sealed: jobstest.SealedState(1, "a").Sealed},
		"NUL":        {Serial: 4, Lineage: "a\x00", Digest: "d", Sealed: jobstest.SealedState(1, "a").Sealed},
		"not sealed": {Serial: 4, Lineage: "a", Digest: "d"},
		"negative":   jobstest.SealedState(-1, "d"),
		"long lineage": {Serial: 4, Lineage: strings.Repeat("l", 300), Digest: "d",
			Sealed: jobstest.SealedState(1, "a").Sealed},
	} {
		if _, err := w.States.Put(t.Context(), runner.Caller, ref, s); !errors.Is(err, refusal.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := w.States.Get(t.Context(), runner.Caller, ref, 0)
	must(t, err)
	if diff := cmp.Diff(jobstest.SealedState(3, "b"), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	_, err = w.States.Get(t.Context(), runner.Caller, ref, 1)
	wantIs(t, err, refusal.ErrInvalid) // it is no restore
	// What an attempt wrote may arrive after its result.
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))
	if w.PutState(t, runner, ref, jobstest.SealedState(4, "late")) {
		t.Error("a late state that follows is contested")
	}
	if n := w.Text(
		t, "select count(*)::text from audit_events where action = 'state.contested' and subject = $1", component,
	); n != "1" { // of all that this attempt wrote
		t.Errorf("%s contested versions are in the audit", n)
	}
	if n := w.Text(t, "select count(*)::text || ' ' || min(detail->>'version') from audit_events where action = "+
		"'state.late' and subject = $1", component); n != "1 6" {
		t.Errorf("late versions in the audit: %s", n)
	}
	if n := w.Text(
		t, "select count(*)::text from river.river_job where kind = 'rollout' and args->>'install' = $1",
		w.InstallOf(t, component),
	); n != "1" { // for each contested one and for the late one, merged while it waits
		t.Errorf("%s requests to reconcile the install wait", n)
	}
}

// Nothing that was really done is discarded: a superseded attempt's state becomes the newest if it
// follows; otherwise a person decides.
func TestASupersededAttemptsStateIsNeverLost(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	first, _ := w.Start(t, runner)
	w.RunOut(t, w.Org.ID, first)
	if w.PutState(t, runner, first, jobstest.SealedState(1, "a")) {
		t.Error("what follows is contested")
	}
	must(t, w.Jobs.Result(t.Context(), runner.Caller, first, jobstest.Lost))
	w.Job(t, runner, "apply", component)
	second := w.Offer(t, runner)
	_, err := w.States.Put(t.Context(), runner.Caller, second, jobstest.SealedState(2, "x"))
	wantIs(t, err, jobs.ErrNotRunning)
	_, err = w.Jobs.Accept(t.Context(), runner.Caller, second)
	must(t, err)
	if w.PutState(t, runner, first, jobstest.SealedState(2, "b")) {
		t.Error("what follows is contested, though nobody is at work under the lock")
	}
	if !w.PutState(t, runner, second, jobstest.SealedState(3, "c")) {
		t.Error("the second attempt began before version 2, and its version is kept all the same")
	}
	must(t, w.States.Lock(t.Context(), runner.Caller, second, api.StateLock{ID: "l"}))
	if !w.PutState(t, runner, first, jobstest.SealedState(3, "d")) {
		t.Error("written while another holds the lock, and kept")
	}
	must(t, w.Jobs.Result(t.Context(), runner.Caller, second, jobstest.Failed))
	if w.PutState(t, runner, first, jobstest.SealedState(4, "e")) {
		t.Error("it follows on its own newest version, and it is contested")
	}
	if got, want := w.StateVersions(t), "1 a kept, 2 b kept, 3 c contested, 3 d contested, 4 e kept"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

// A late state of a component that was checked and found absent would otherwise go unnoticed.
func TestALateStateOfWhatWasFoundGoneIsContested(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "apply", w.Component(t, runner))
	ref, _ := w.Start(t, runner)
	w.Exec(t, "update install_components set applied_artifact = ''")
	if w.PutState(t, runner, ref, jobstest.SealedState(1, "a")) {
		t.Error("an attempt at work is the one that finds out")
	}
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Lost))
	if !w.PutState(t, runner, ref, jobstest.SealedState(2, "b")) {
		t.Error("a late state of what counts as gone is kept without a word")
	}
}

func TestJobsWithoutAComponentHaveNoState(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "action", "")
	ref, _ := w.Start(t, runner)
	_, err := w.States.Get(t.Context(), runner.Caller, ref, 0)
	wantIs(t, err, refusal.ErrInvalid)
	wantIs(t, w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}), refusal.ErrInvalid)
	_, err = w.States.Put(t.Context(), runner.Caller, ref, jobstest.SealedState(1, "a"))
	wantIs(t, err, refusal.ErrInvalid)
}

// A restore reads the version that its spec names, regardless of its status, and dismisses it if it was
// contested.
func TestARestoreReadsItsVersionAndSettlesIt(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	before, _ := w.Start(t, runner)
	w.PutState(t, runner, before, jobstest.SealedState(5, "kept"))
	w.PutState(t, runner, before, jobstest.SealedState(5, "contested"))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, before, jobstest.Failed))
	restore := api.Restore{Version: 2, Digest: "contested"}
	module := api.DeploySpec{InstallComponent: component}
	w.Enqueue(t, runner, jobs.NewJob{
		Kind: "plan", InstallID: w.InstallOf(t, component),
		Spec: api.JobSpec{Plan: api.PlanSpec{Deploy: module, Restore: restore}},
	})
	plan, _ := w.Start(t, runner)
	for version, want := range map[int]api.State{0: jobstest.SealedState(5, "kept"),
		2: jobstest.SealedState(5, "contested")} {
		got, err := w.States.Get(t.Context(), runner.Caller, plan, version)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	for _, version := range []int{-1, 1, 3, 1 << 40} {
		if _, err := w.States.Get(t.Context(), runner.Caller, plan, version); !errors.Is(err, refusal.ErrInvalid) {
			t.Errorf("version %d, which the spec does not name: %v", version, err)
		}
	}
	must(t,
		w.Jobs.Result(t.Context(), runner.Caller, plan, api.JobResult{Status: api.JobResultStatusSucceeded,
			Plan: api.PlanResult{
				Report: []byte("{}"), ReportDigest: "sha256:1", Applyable: true,
				Bundle: api.ArtifactRef{Digest: "sha256:2"},
			}}))
	w.Enqueue(t, runner, jobs.NewJob{
		Kind: "apply", InstallID: w.InstallOf(t, component),
		Spec: api.JobSpec{Apply: api.ApplySpec{Deploy: module, Restore: restore}},
	})
	apply, _ := w.Start(t, runner)
	must(t, w.States.Lock(t.Context(), runner.Caller, apply, api.StateLock{ID: "l"}))
	if w.PutState(t, runner, apply, jobstest.SealedState(6, "restored")) {
		t.Error("the restored state is contested")
	}
	if got, want := w.StateVersions(t), "5 kept kept, 5 contested dismissed, 6 restored kept"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	if got, want := w.Text(t, "select string_agg(reason, ', ' order by version) from states where version > 1"),
		"restored as version 3, restores version 2"; got != want {
		t.Errorf("because %s, want %s", got, want)
	}
}

func TestLocksBelongToAttempts(t *testing.T) {
	w := jobstest.New(t)
	one, two := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	component := w.Component(t, one)
	w.Job(t, one, "apply", component)
	w.Job(t, two, "apply", component)
	first, _ := w.Start(t, one)
	second, _ := w.Start(t, two)
	lock := func(runner jobstest.Runner, ref api.AttemptRef, id string) error {
		return w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{
			ID: id, Info: []byte(`{"Who":"` + id + `"}`),
		})
	}
	must(t, lock(one, first, "l1"))
	must(t, lock(one, first, "l1"))  // the response was lost
	must(t, lock(one, first, "l1b")) // a process of the same attempt that died
	held := func() {
		t.Helper()
		var locked *tfstate.LockedError
		if err := lock(two, second, "l2"); !errors.As(err, &locked) {
			t.Fatalf("locked twice: %v", err)
		}
		if locked.ID != "l1b" || !strings.Contains(locked.Holder, first.Job) ||
			!strings.Contains(string(locked.Info), "l1b") {
			t.Errorf("the holder is %+v", locked)
		}
	}
	held()
	if !w.PutState(t, two, second, jobstest.SealedState(7, "between")) {
		t.Error("a state was kept while another attempt at work held the lock")
	}
	must(t, w.States.Unlock(t.Context(), two.Caller, second)) // releases only its own lock
	held()
	w.RunOut(t, w.Org.ID, first) // silent does not mean dead
	held()
	if w.PutState(t, one, first, jobstest.SealedState(1, "a")) {
		t.Error("what the holder of the lock wrote is contested")
	}
	must(t, w.Jobs.Result(t.Context(), one.Caller, first, jobstest.Lost)) // the lock is released with the attempt
	if left := w.Text(t, "select count(*)::text from state_locks"); left != "0" {
		t.Errorf("%s locks are left of an attempt that ended", left)
	}
	must(t, lock(two, second, "l2"))
	must(t, w.States.Unlock(t.Context(), two.Caller, second))
	must(t, w.States.Unlock(t.Context(), two.Caller, second))
	if left := w.Text(t, "select count(*)::text from state_locks"); left != "0" {
		t.Errorf("%s locks are left", left)
	}
	wantIs(t, lock(one, first, "l3"), jobs.ErrNotRunning)
	// A lock whose attempt ended without releasing it, for any reason, is taken over.
	w.Exec(t, "insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) values ($1, $2, "+
		"'old', '{}', $3, 1)", w.Org.ID, component, first.Job)
	must(t, lock(two, second, "l2"))
}

// The fence of its attempt, not its age, decides whether a lock is an orphan.
func TestALockIsFreedByHandOnlyWhenItsAttemptIsOver(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Job(t, runner, "apply", component)
	ref, _ := w.Start(t, runner)
	free := func() error {
		return w.Store.InTx(t.Context(), w.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			place, err := tx.InstallComponentByID(ctx, tx.Org, component)
			must(t, err)
			return tfstate.FreeLock(ctx, tx, place)
		})
	}
	wantIs(t, free(), tfstate.ErrNotLocked)
	must(t, w.States.Lock(t.Context(), runner.Caller, ref, api.StateLock{ID: "l"}))
	live := func() {
		t.Helper()
		var locked *tfstate.LockedError
		if err := free(); !errors.As(err, &locked) || !strings.Contains(locked.Holder, ref.Job) {
			t.Errorf("the lock of an attempt at work: %v", err)
		}
	}
	live()
	w.Exec(t, "update state_locks set locked_at = now() - interval '1 year'")
	w.RunOut(t, w.Org.ID, ref)
	live() // silent does not mean dead
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	wantIs(t, free(), tfstate.ErrNotLocked) // it was released with the attempt
	w.Exec(t, "insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) values ($1, $2, "+
		"'odd', '{}', $3, 1)", w.Org.ID, component, ref.Job)
	must(t, free())
	w.Exec(t, "insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) values ($1, $2, "+
		"'odd', '{}', 'job_gone', 1)", w.Org.ID, component)
	must(t, free())
	wantIs(t, free(), tfstate.ErrNotLocked)
}

// TestAReturnedAttemptLeavesNoState checks that an attempt that wrote a state cannot be returned as not started, and
// that one that was returned writes none: otherwise a runner could make any number of attempts that leave states.
func TestAReturnedAttemptLeavesNoState(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	component := w.Component(t, runner)
	w.Enqueue(t, runner, jobs.NewJob{Kind: "apply", InstallID: w.InstallOf(t, component), Spec: api.JobSpec{
		Kind: api.JobSpecKindApply, Apply: api.ApplySpec{Deploy: api.DeploySpec{InstallComponent: component}},
		Role: api.OperationRole{Cloud: "aws", Name: "ins_1-deployer", Key: "key", Kind: "custom"}}})
	returned := api.JobResult{Status: api.JobResultStatusNotStarted, Error: "it is off",
		UnusableRole: api.UnusableRole{Role: "ins_1-deployer", Refused: true, Reason: "AccessDenied"}}
	first, _ := w.Start(t, runner)
	must(t, w.Jobs.Result(t.Context(), runner.Caller, first, returned))
	put := func(ref api.AttemptRef, serial int64) error {
		_, err := w.States.Put(t.Context(), runner.Caller, ref, jobstest.SealedState(serial, "a"))
		return err
	}
	wantIs(t, put(first, 1), jobs.ErrNotRunning)
	second, _ := w.Start(t, runner)
	wantIs(t, put(first, 1), jobs.ErrNotRunning)
	must(t, put(second, 1))
	wantIs(t, w.Jobs.Result(t.Context(), runner.Caller, second, returned), refusal.ErrInvalid)
	must(t, w.Jobs.Result(t.Context(), runner.Caller, second, jobstest.Failed))
	must(t, put(second, 2)) // what an attempt wrote may arrive after its result
	if got, want := w.StateVersions(t), "1 a kept, 2 a kept"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
}
