package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// The targets of the design, which `make bench` prints beside the figures.
const (
	coreLimit  = 0.05                  // of one core for idleFleet
	offerLimit = 50 * time.Millisecond // at the 99th percentile, with busyFleet
)

const (
	idleFleet = 10_000
	busyFleet = 1_000
	window    = 30 * time.Second // one heartbeat of every poll
	// Each runner is polled from the database every ten minutes even without a notification. The
	// benchmark is shorter than that, so it sends notifications at the same rate.
	lookedUp = 10 * time.Minute
)

// BenchmarkIdleRunners measures the cost of 10,000 waiting runners for one reconciler: processor
// time, memory, and the load of Postgres. Each holds a connection and a poll, as a real runner
// does; a share of the polls ends and starts again in every round.
func BenchmarkIdleRunners(b *testing.B) {
	p := startPlane(b)
	rest := resident(b, p.Replicas[0].PID())
	f := p.register(idleFleet)
	ctx, stop := context.WithCancel(b.Context())
	defer f.polls.Wait()
	defer stop()
	f.poll(ctx)
	f.polls.Go(func() { f.ring(ctx, lookedUp) })
	backoff.Pause(ctx, window) // every poll has sent a heartbeat
	var busy, database, took time.Duration
	before := p.written()
	for b.Loop() {
		began := time.Now()
		ours, theirs := processorTime(b, p.Replicas[0].PID()), processorTime(b, children(b, p.postmaster())...)
		backoff.Pause(ctx, window)
		took += time.Since(began)
		busy += processorTime(b, p.Replicas[0].PID()) - ours
		database += processorTime(b, children(b, p.postmaster())...) - theirs
	}
	after, seconds := p.written(), took.Seconds()
	core := busy.Seconds() / seconds
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*core, "%core")
	b.ReportMetric(core/coreLimit, "of-limit")
	b.ReportMetric(100*database.Seconds()/seconds, "%core-postgres")
	b.ReportMetric((after.transactions-before.transactions)/seconds, "transactions/s")
	b.ReportMetric((after.rows-before.rows)/seconds, "rows-written/s")
	b.ReportMetric((resident(b, p.Replicas[0].PID())-rest)/idleFleet/1024, "KiB/runner")
	b.ReportMetric(rest/(1<<20), "MiB-at-rest")
}

// BenchmarkAtRest measures the memory of a reconciler and of an install runner that are idle for a
// minute, which a machine must reserve for them. The peer is an idle Go program, which shows the
// minimum of the language.
func BenchmarkAtRest(b *testing.B) {
	p := startPlane(b, "acme")
	backoff.Pause(b.Context(), time.Minute)
	reconciler, runner := p.Replicas[0].PID(), p.Installers["acme"].PID()
	var control, install float64
	for b.Loop() {
		control, install = resident(b, reconciler), resident(b, runner)
	}
	nothing := p.startNothing()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(control/(1<<20), "MiB-reconciler")
	b.ReportMetric(install/(1<<20), "MiB-runnerd")
	b.ReportMetric(nothing/(1<<20), "MiB-nothing")
	b.ReportMetric(private(b, reconciler)/(1<<20), "MiB-private-reconciler")
	b.ReportMetric(private(b, runner)/(1<<20), "MiB-private-runnerd")
	b.ReportMetric(control/nothing, "ratio-reconciler")
	b.ReportMetric(install/nothing, "ratio-runnerd")
}

// BenchmarkOfferToRunning measures the time from the commit that queues a job to the response with
// which its runner may start it, with 1,000 waiting runners: notification, claim, offer, accept.
func BenchmarkOfferToRunning(b *testing.B) {
	p := startPlane(b)
	f := p.register(busyFleet)
	ctx, stop := context.WithCancel(b.Context())
	defer f.polls.Wait()
	defer stop()
	f.poll(ctx)
	p.exec("insert into apps (org_id, id, name) values ($1, 'app', 'app')", p.org)
	p.exec("insert into components (org_id, id, app_id, name, kind) values ($1, 'cmp', 'app', 'web', 'terraform_module')",
		p.org)
	var all []time.Duration
	for round := 0; b.Loop(); round++ {
		for n := range 100 {
			all = append(all, f.one(ctx, fmt.Sprintf("%d-%d", round, n)))
		}
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1))] }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*at(0.5).Seconds(), "ms-median")
	b.ReportMetric(1000*at(0.99).Seconds(), "ms-p99")
	b.ReportMetric(at(0.99).Seconds()/offerLimit.Seconds(), "of-limit")
}

// one queues a build job for some runner, as package jobs does, and accepts it there.
func (f *crowd) one(ctx context.Context, mark string) time.Duration {
	b, runner := f.plane.b, f.ids[rand.IntN(len(f.ids))]
	tx, err := f.plane.admin.Begin(ctx)
	must(b, err)
	for _, sql := range []string{
		"insert into component_inputs (org_id, id, component_id, digest, recipe, reason) values ($1, 'inp-' || $2, 'cmp', " +
			"$2, '{}', 'measured')",
		`insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, reason, job_id)
			select $1, 'bld-' || $2, 'cmp', 'inp-' || $2, 1 + count(*), 'queued', '', '', 'measured', 'job-' || $2 from builds`,
	} {
		_, err = tx.Exec(ctx, sql, f.plane.org, mark)
		must(b, err)
	}
	_, err = tx.Exec(ctx, `insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, spec, reason)
		values ($1, 'job-' || $2, $3, 'build', 'queued', 'build', 'bld-' || $2, '{}', 'measured')`, f.plane.org, mark, runner)
	must(b, err)
	_, err = tx.Exec(ctx, "select pg_notify('nuon_jobs', $1)", f.plane.org+"/"+runner)
	must(b, err)
	began := time.Now()
	must(b, tx.Commit(ctx))
	var got offer
	select {
	case got = <-f.offered:
	case <-time.After(time.Minute):
		b.Fatalf("nobody was offered job %s within a minute", mark)
	}
	accepted, err := got.client.AcceptWithResponse(ctx, got.ref.Job, got.ref.Attempt)
	took := time.Since(began)
	must(b, err)
	if accepted.JSON200 == nil {
		b.Fatalf("accept: %s %s", accepted.Status(), accepted.Body)
	}
	// It ends here, so that it is no load for the rest of the benchmark.
	ended, err := got.client.PostResultWithResponse(ctx, got.ref.Job, got.ref.Attempt,
		api.JobResult{Status: api.JobResultStatusFailed, Error: "only measured"})
	must(b, err)
	if ended.StatusCode() != 204 {
		b.Fatalf("result: %s %s", ended.Status(), ended.Body)
	}
	return took
}

// written counts the writes of Postgres so far.
type written struct{ transactions, rows float64 }

func (p *plane) written() written {
	return written{
		transactions: p.number("select xact_commit from pg_stat_database where datname = current_database()"),
		rows: p.number("select tup_inserted + tup_updated + tup_deleted from pg_stat_database where datname = " +
			"current_database()"),
	}
}

func (p *plane) postmaster() int {
	return int(p.number("select pg_backend_pid() * 0 + (regexp_match(pg_read_file('postmaster.pid'), '^[0-9]+'))[1]::int"))
}
