package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/probe"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/metrics"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// checks returns the checks that make this replica ready. The registry is optional: while it is
// down, builds wait and runners still deliver, and taking every replica out of service would turn
// one outage into two.
func (r *replica) checks() []probe.Check {
	return []probe.Check{
		{Name: "database", Probe: func(ctx context.Context) error { _, err := r.store.Check(ctx); return err }},
		{Name: "notifications", Probe: func(context.Context) error { return r.notifier.Listening() }},
		{Name: "registry", Probe: func(ctx context.Context) error { return r.registry.Check(ctx) }, Optional: true},
	}
}

// instrument counts the requests of a listener by route template.
func (r *replica) instrument(listener string, routes *http.ServeMux, next http.Handler) http.Handler {
	return r.metrics.InstrumentHandler(listener, metrics.RouteTemplate(routes), next)
}

// statusPage returns the handler of /debug/status.
func (r *replica) statusPage() http.Handler {
	return r.board.Handler("reconciler", version.Number, func(ctx context.Context) ([]status.Failure, error) {
		failing, err := r.store.FailingJobs(ctx)
		var all []status.Failure
		for _, f := range failing {
			all = append(all, status.Failure{
				What: f.Kind + " " + string(f.Args), Tries: f.Tries, Error: f.Error, Next: f.Next,
			})
		}
		return all, err
	})
}

// sources returns the functions that the metrics call.
func (r *replica) sources() metrics.Sources {
	return metrics.Sources{
		Figures: r.figures,
		Pool: func() metrics.Pool {
			now := r.store.PoolUse()
			return metrics.Pool{InUse: now.InUse, Idle: now.Idle, Max: now.Max, Waits: now.Waits, Waited: now.Waited}
		},
		Listening:  func() bool { return r.notifier.Listening() == nil },
		Reconnects: r.notifier.Reconnects,
	}
}

// figures adds up the figures of all orgs, one after the other, because only due work may be read
// across orgs.
func (r *replica) figures(ctx context.Context) (metrics.Figures, error) {
	m := metrics.Figures{Jobs: map[metrics.JobKind]int{}, Runners: map[string]int{}}
	late, err := r.store.QueueDelay(ctx)
	if err != nil {
		return m, err
	}
	m.QueueDelaySeconds = late.Seconds()
	failing, err := r.store.FailingJobs(ctx)
	if err != nil {
		return m, err
	}
	m.FailingJobs = len(failing)
	replicas, err := r.store.Replicas(ctx)
	if err != nil {
		return m, fmt.Errorf("read the replicas: %w", err)
	}
	for _, row := range replicas {
		if time.Since(row.SeenAt) < time.Minute {
			m.Replicas++
		}
	}
	orgs, err := r.store.Orgs(ctx)
	if err != nil {
		return m, fmt.Errorf("read the orgs: %w", err)
	}
	for _, org := range orgs {
		if err := r.store.ReadTx(
			ctx, org.ID, func(ctx context.Context, tx *store.Tx) error { return addOrgFigures(ctx, tx, &m) },
		); err != nil {
			return m, fmt.Errorf("sum up org %s: %w", org.ID, err)
		}
	}
	return m, nil
}

func addOrgFigures(ctx context.Context, tx *store.Tx, m *metrics.Figures) error {
	jobs, err := tx.OpenJobs(ctx, tx.Org)
	if err != nil {
		return err
	}
	contested, err := tx.ContestedComponents(ctx, tx.Org)
	if err != nil {
		return err
	}
	runners, err := tx.RunnersByState(ctx, timing.Online.Seconds(), tx.Org)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		m.Jobs[metrics.JobKind{Kind: j.Kind, Status: j.Status}] += int(j.Jobs)
		m.AttemptsOutOfContact += int(j.Silent)
	}
	m.ContestedStates += int(contested)
	for _, r := range runners {
		m.Runners[r.State] += int(r.Runners)
	}
	return nil
}

// systemHealth returns the part of GET /v1/system that is not limited to the caller's org.
func (r *replica) systemHealth(ctx context.Context) (api.System, error) {
	s := api.System{Version: version.Number, Replicas: []api.Replica{}}
	began := time.Now()
	postgres, err := r.store.Check(ctx)
	s.Database = partHealth(began, err)
	s.Database.Version = postgres
	began = time.Now()
	s.Registry = partHealth(began, r.registry.Check(ctx))
	s.Registry.Milliseconds = milliseconds(began)
	replicas, err := r.store.Replicas(ctx)
	if err != nil {
		return s, fmt.Errorf("read the replicas: %w", err)
	}
	for _, row := range replicas {
		s.Replicas = append(s.Replicas, api.Replica{
			ID: row.ID, Version: row.Version, Schema: int(row.Schema), StartedAt: row.StartedAt,
			SeenAt: row.SeenAt, This: row.ID == r.id,
		})
	}
	late, err := r.store.QueueDelay(ctx)
	if err != nil {
		return s, err
	}
	failing, err := r.store.FailingJobs(ctx)
	s.Work.LateSeconds, s.Work.Failing = late.Seconds(), len(failing)
	return s, err
}

func partHealth(began time.Time, err error) api.PartHealth {
	p := api.PartHealth{Ok: err == nil, Milliseconds: milliseconds(began)}
	if err != nil {
		p.Error = err.Error()
	}
	return p
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }
