package jobs_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// outage is a world with a plan and an apply in flight on one runner.
type outage struct {
	*testing.T
	*jobstest.World
	runner jobstest.Runner
	refs   []api.AttemptRef
}

func newOutage(t *testing.T, w *jobstest.World) *outage {
	t.Helper()
	o := &outage{T: t, World: w, runner: w.Runner(t, runners.KindInstall)}
	for _, kind := range []string{"plan", "apply"} {
		w.Job(t, o.runner, kind, "")
		ref, _ := w.Start(t, o.runner)
		o.refs = append(o.refs, ref)
	}
	return o
}

// beat sends a replica's heartbeat.
func (o *outage) beat() {
	o.Helper()
	must(o, o.Store.RecordHeartbeat(o.Context(), store.RecordHeartbeatParams{ID: "rep_a", Version: "1", Schema: 1}))
}

// upFor makes the control plane count as up for that long, without a gap before the heartbeat that it sends.
func (o *outage) upFor(d time.Duration) {
	o.Helper()
	// A heartbeat starts the time again if more than the gap has passed, which it may on a busy machine.
	testtime.Until(o, "a heartbeat without a gap", func() bool {
		o.Exec(o, "update uptime set since = now() - $1 * interval '1 second', seen_at = now() - $2 * interval '1 second'",
			d.Seconds(), store.UptimeGap.Seconds()/2)
		o.beat()
		return o.Text(o, "select (since < seen_at - $1 * interval '1 second')::text from uptime", d.Seconds()/2) == "true"
	})
	o.Exec(o, "update uptime set seen_at = now() + interval '1 hour'") // no gap follows, however long the next steps take
}

// passed makes all recorded times an hour older, as if nobody could write to the database for that
// long.
func (o *outage) passed() {
	o.Helper()
	o.Exec(o, "update attempts set lease_until = lease_until - interval '1 hour'")
	o.Exec(o, "update due set at = at - interval '1 hour'")
	o.Exec(o, "update uptime set since = since - interval '1 hour', seen_at = seen_at - interval '1 hour'")
}

// expire calls Expire for all leases and checks the statuses of the two jobs after that.
func (o *outage) expire(what string, want ...string) {
	o.Helper()
	for i, ref := range o.refs {
		must(o, o.Jobs.Expire(o.Context(), o.Org.ID, jobstest.Due(ref)))
		job, err := o.Jobs.Job(o.Context(), o.Org.ID, ref.Job)
		must(o, err)
		said, _, _ := strings.Cut(job.Waits, " with runner")
		if got := strings.TrimSpace(
			o.JobStatus(o, ref.Job) + " " + o.AttemptStatus(o, ref) + " " + said,
		); got != want[i] {
			o.Errorf("%s: the %s is %q, want %q", what, job.Kind, got, want[i])
		}
	}
}

// TestPostgresIsAwayForLongerThanALease checks that no contact counts as lost when only Postgres
// was down, in any order in which the sweep, the replica's heartbeat and the runner's follow once
// Postgres is back. Silence after that counts.
func TestPostgresIsAwayForLongerThanALease(t *testing.T) {
	dir, err := os.MkdirTemp("", "nuon-uptime-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	start := func() *pgcluster.Cluster {
		cluster, err := pgcluster.Start(context.WithoutCancel(t.Context()), pgcluster.Options{
			Dir: dir, Settings: map[string]string{"fsync": "off"},
		})
		must(t, err)
		return cluster
	}
	cluster := start()
	t.Cleanup(func() { _ = cluster.Stop() })
	must(t, store.Migrate(t.Context(), cluster.DSN("postgres")))
	o := newOutage(t, jobstest.On(t, cluster.DSN("postgres")))
	o.beat()

	must(t, syscall.Kill(cluster.PID(), syscall.SIGQUIT))
	<-cluster.Done()
	must(t, cluster.Stop())
	beat := api.Heartbeat{Attempts: o.refs}
	var away *store.Unavailable
	if _, err := o.Jobs.Heartbeat(t.Context(), o.runner.Caller, beat); !errors.As(err, &away) {
		t.Fatalf("a heartbeat while Postgres is away: %v", err)
	}
	cluster = start()
	testtime.Until(t, "the pool has connections again", func() bool {
		return o.Store.ReadTx(t.Context(), o.Org.ID, func(context.Context, *store.Tx) error { return nil }) == nil
	})
	o.Connect(t)
	o.passed()

	began := o.Clock(t)
	o.expire("before anybody was heard", "running running", "running running")
	if due := o.Text(t, "select (min(at) > $1::timestamptz)::text from due where kind = 'attempt'", began); due != "true" {
		t.Error("a lease that cannot be judged yet is looked at in a hot loop")
	}
	o.beat()
	o.expire("when the replica was heard", "running running", "running running")
	answer, err := o.Jobs.Heartbeat(t.Context(), o.runner.Caller, beat)
	must(t, err)
	for _, order := range answer.Attempts {
		if order.Superseded || order.Cancel {
			t.Errorf("the runner, which never stopped, is told %+v", order)
		}
	}
	o.expire("when the runner was heard", "running running", "running running")
	o.Exec(t, "update attempts set lease_until = lease_until - interval '1 hour'")
	o.upFor(2 * time.Hour)
	o.expire("when the runner alone is silent", "queued expired lost contact", "running expired lost contact")
}

// TestTimeWithoutAReplicaCountsForNoLease checks that a lease runs as long as a replica writes
// without a gap, and restarts after a gap.
func TestTimeWithoutAReplicaCountsForNoLease(t *testing.T) {
	w := jobstest.New(t)
	o := newOutage(t, w)
	o.Exec(t, "update uptime set since = now() - interval '1 hour', seen_at = now()")
	o.passed()
	o.expire("no replica was there", "running running", "running running")
	o.beat()
	o.expire("a replica is back", "running running", "running running")
	// It sends heartbeats without a gap from then on, for a lease.
	o.upFor(timing.Lease)
	o.expire("it was up for a lease", "queued expired lost contact", "running expired lost contact")
}
