package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// rollouts is a worker for rollouts.
type rollouts struct {
	river.WorkerDefaults[queue.Rollout]
	do func(context.Context) error
}

// idKey is the context key of River's id of the current job.
type idKey struct{}

func (r *rollouts) Work(ctx context.Context, job *river.Job[queue.Rollout]) error {
	return r.do(context.WithValue(ctx, idKey{}, job.ID))
}

// NextRetry returns a time after the end of the test.
func (*rollouts) NextRetry(*river.Job[queue.Rollout]) time.Time { return time.Now().Add(time.Hour) }

// resyncs is a worker for resyncs.
type resyncs struct {
	river.WorkerDefaults[queue.Resync]
	do func(context.Context) error
}

func (r *resyncs) Work(ctx context.Context, _ *river.Job[queue.Resync]) error { return r.do(ctx) }

// work starts a replica's workers, and returns a function that abandons their running jobs.
func work(t *testing.T, s *store.Store, replica string, do func(context.Context) error) (abandon func()) {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &rollouts{do: do})
	river.AddWorker(workers, &resyncs{do: do})
	c, err := s.Workers(replica, workers, map[string]int{queue.Local: 2, queue.Background: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = c.StopAndCancel(context.WithoutCancel(t.Context())) }
	t.Cleanup(stop)
	return stop
}

func ask(t *testing.T, s *store.Store, org string) {
	t.Helper()
	err := s.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
		return tx.Enqueue(ctx, queue.Rollout{Org: org, Install: "ins_1"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	testtime.Until(t, what, is)
}

func beat(t *testing.T, s *store.Store, replica string, embedded bool) {
	t.Helper()
	if err := s.RecordHeartbeat(t.Context(), store.RecordHeartbeatParams{ID: replica, Version: "1", Schema: 1,
		Embedded: embedded}); err != nil {
		t.Fatal(err)
	}
}

// TestRescue: a replica's jobs pass to another one when it is gone, and not before.
func TestRescue(t *testing.T) {
	s, org := storetest.New(t)
	beat(t, s, "rep_a", false)
	var begun, done atomic.Int32
	hold := make(chan struct{})
	defer close(hold)
	work(t, s, "rep_a", func(context.Context) error {
		if begun.Add(1) > 1 {
			done.Add(1)
			return nil
		}
		<-hold // like a process that hangs or is gone
		return nil
	})
	ask(t, s, org.ID)
	await(t, "a replica has it in hand", func() bool { return begun.Load() == 1 })
	if n, err := s.Rescue(t.Context(), store.LostJobs{ReplicaTimeout: time.Minute}); n != 0 || err != nil {
		t.Fatalf("rescued %d from a replica that lives: %v", n, err)
	}
	if err := s.RemoveReplica(t.Context(), "rep_a"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Rescue(t.Context(), store.LostJobs{ReplicaTimeout: time.Minute}); n != 1 || err != nil {
		t.Fatalf("rescued %d from a replica that is gone: %v", n, err)
	}
	await(t, "it was done", func() bool { return done.Load() == 1 })
}

// A replica that was assigned a job without receiving it (the answer was lost with the connection)
// releases it.
func TestRescueOfWhatWasNeverHeardOf(t *testing.T) {
	s, org := storetest.New(t)
	beat(t, s, "rep_a", false)
	beat(t, s, "rep_b", false)
	begun, hold := make(chan int64, 10), make(chan struct{})
	defer close(hold)
	work(t, s, "rep_a", func(ctx context.Context) error {
		begun <- ctx.Value(idKey{}).(int64)
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil
	})
	ask(t, s, org.ID)
	id := <-begun
	for _, c := range []struct {
		name string
		lost store.LostJobs
		want int64
	}{
		{"it has it in hand", store.LostJobs{ReplicaTimeout: time.Minute, Replica: "rep_a", InFlight: []int64{id}}, 0},
		{"it may just have been given it", store.LostJobs{ReplicaTimeout: time.Minute, Replica: "rep_a",
			UnseenTimeout: time.Minute}, 0},
		{"it is another's", store.LostJobs{ReplicaTimeout: time.Minute, Replica: "rep_b"}, 0},
		{"it never heard of it", store.LostJobs{ReplicaTimeout: time.Minute, Replica: "rep_a", InFlight: []int64{id + 1}}, 1},
	} {
		if n, err := s.Rescue(t.Context(), c.lost); n != c.want || err != nil {
			t.Errorf("%s: rescued %d, want %d: %v", c.name, n, c.want, err)
		}
	}
	<-begun // it runs again
}

// TestFailing: a failing job is listed once, with its error.
func TestFailing(t *testing.T) {
	s, org := storetest.New(t)
	work(t, s, "rep_a", func(context.Context) error { return errors.New("the moon is full") })
	ask(t, s, org.ID)
	ask(t, s, org.ID)
	await(t, "the work is seen to fail", func() bool {
		failing, err := s.FailingJobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(failing) == 1 && failing[0].Kind == "rollout" && failing[0].Error == "the moon is full" &&
			failing[0].Tries == 1
	})
}

// TestEmbeddedElsewhere: of two replicas with an embedded registry, the later one finds the
// earlier one, while that is alive.
func TestEmbeddedElsewhere(t *testing.T) {
	s, _ := storetest.New(t)
	beat(t, s, "rep_b", true)
	beat(t, s, "rep_plain", false)
	beat(t, s, "rep_a", true)
	other := func(replica string, alive time.Duration) string {
		t.Helper()
		found, _, _, err := s.OtherEmbeddedRegistry(t.Context(), replica, alive)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if a, b := other("rep_a", time.Minute), other("rep_b", time.Minute); a != "rep_b" || b != "" {
		t.Errorf("rep_a is told of %q, rep_b of %q", a, b)
	}
	if gone := other("rep_a", time.Nanosecond); gone != "" {
		t.Errorf("a replica that is gone still counts: %q", gone)
	}
	all, err := s.Replicas(t.Context())
	if err != nil || len(all) != 3 {
		t.Errorf("the replicas are %v, %v", all, err)
	}
}

func TestCheckAndLate(t *testing.T) {
	s, org := storetest.New(t)
	if version, err := s.Check(t.Context()); err != nil || version == "" {
		t.Errorf("Postgres is %q, %v", version, err)
	}
	if late, err := s.QueueDelay(t.Context()); err != nil || late != 0 {
		t.Errorf("with nothing due, work is %s late, %v", late, err)
	}
	err := s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org.ID, Kind: store.DueApp, ID: "app_1",
			InSeconds: -time.Hour.Seconds()})
	})
	if err != nil {
		t.Fatal(err)
	}
	if late, err := s.QueueDelay(t.Context()); err != nil || late < 59*time.Minute || late > 61*time.Minute {
		t.Errorf("work is %s late, %v", late, err)
	}
}

// TestDueIsByTheDatabasesClock: ClaimDue compares due times with the database's clock, so no query
// writes a replica's time there. With a clock that is behind, an item that was just postponed
// would be due at once, again and again.
func TestDueIsByTheDatabasesClock(t *testing.T) {
	files, err := filepath.Glob("queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	writes, given := regexp.MustCompile(`(insert into|update) due\b`),
		regexp.MustCompile(`(@|sqlc\.n?arg\(')at\b|::timestamptz`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range strings.Split(string(text), "-- name: ")[1:] {
			if !writes.MatchString(query) {
				continue
			}
			found++
			if given.MatchString(query) {
				t.Errorf("%s: a query writes a time that it was given: %s", file, query)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d queries write what is due: the test does not find them", found)
	}
}

// TestNowIsTheDatabasesTime: also on a machine whose clock is decades behind; in a synctest
// bubble it is the year 2000.
func TestNowIsTheDatabasesTime(t *testing.T) {
	s, org := storetest.New(t)
	var away time.Duration
	synctest.Test(t, func(t *testing.T) {
		beat(t, s, "rep_a", false)
		must(t, s.InTx(t.Context(), org.ID, func(_ context.Context, tx *store.Tx) error {
			away = tx.Now().Sub(time.Now())
			return nil
		}))
	})
	if away < 20*365*24*time.Hour {
		t.Errorf("a replica whose clock says 2000 takes the database's time to be %s later", away)
	}
}

// TestDueWhileItIsLookedAt: an item that becomes due while a worker processes it is taken as soon
// as the worker is done, and not at its next regular time.
func TestDueWhileItIsLookedAt(t *testing.T) {
	s, org := storetest.New(t)
	beat(t, s, "rep_a", false)
	looks := make(chan struct{})
	hold := make(chan struct{})
	work(t, s, "rep_a", func(context.Context) error {
		looks <- struct{}{}
		<-hold
		return nil
	})
	due := func() {
		t.Helper()
		err := s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org.ID, Kind: store.DueInstall, ID: "ins_1"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sweep := func() (n int) {
		t.Helper()
		n, err := s.ClaimDue(t.Context(), store.ClaimDueOptions{Limit: 10, RetryAfter: time.Hour, Resync: time.Hour}, resync)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	due()
	await(t, "it is taken", func() bool { return sweep() == 1 })
	<-looks
	due()
	if n := sweep(); n != 0 {
		t.Fatalf("%d things were taken that a worker is at", n)
	}
	close(hold)
	again := make(chan struct{})
	go func() { <-looks; close(again) }()
	await(t, "it is looked at once more", func() bool {
		sweep()
		select {
		case <-again:
			return true
		default:
			return false
		}
	})
}
