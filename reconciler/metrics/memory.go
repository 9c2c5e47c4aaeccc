package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Memory holds the figures of the store and the replica at the time of a scrape.
type Memory struct {
	LateSeconds float64 // delay of the oldest overdue work
	Failing     int     // work that is being retried
	Jobs        map[JobKind]int
	Silent      int            // attempts out of contact
	Contested   int            // components with a contested state version
	Runners     map[string]int // by state
	Replicas    int
}

// JobKind is a kind and a status of jobs.
type JobKind struct{ Kind, Status string }

// Pool is the use of the replica's connections to Postgres.
type Pool struct {
	InUse, Idle, Most int32
	Waits             int64 // acquisitions that had to wait
	Waited            time.Duration
}

// Sources are the functions that a scrape calls.
type Sources struct {
	Memory     func(context.Context) (Memory, error)
	Pool       func() Pool
	Listening  func() bool
	Reconnects func() int
}

// The limits of a scrape: the store is queried at most once per freshFor, however many scrapes
// arrive.
const (
	freshFor = 5 * time.Second
	askTime  = 3 * time.Second
)

// Ask registers the sources that a scrape calls.
func (m *Metrics) Ask(s Sources) { m.registry.MustRegister(&asker{sources: s}) }

type asker struct {
	sources Sources

	mu    sync.Mutex
	taken time.Time
	last  Memory
	err   error
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	readable = desc("nuon_store_readable", "1 when the figures below that come from the database could be read.")
	late     = desc("nuon_due_late_seconds", "How long the oldest thing that is due waits to be taken up.")
	failing  = desc("nuon_work_failing",
		"Reconcile functions that went wrong and are being tried again, of all replicas.")
	jobs      = desc("nuon_jobs_open", "Jobs that have not ended.", "kind", "status")
	silent    = desc("nuon_attempts_out_of_contact", "Attempts whose runner is not heard of.")
	contested = desc("nuon_components_contested",
		"Components with a contested state version, which wait for a person.")
	runners    = desc("nuon_runners", "Runners.", "state")
	replicas   = desc("nuon_replicas", "Replicas that were seen within a minute.")
	pool       = desc("nuon_pool_connections", "Connections of this replica's pool.", "state")
	poolMost   = desc("nuon_pool_connections_most", "The most connections that the pool may have.")
	poolWaits  = desc("nuon_pool_waits_total", "How often somebody had to wait for a connection.")
	poolWaited = desc("nuon_pool_wait_seconds_total", "How long was waited for connections.")
	listening  = desc("nuon_bell_listening", "1 while the replica hears notifications.")
	reconnects = desc("nuon_bell_reconnects_total", "How often the connection that hears notifications was lost.")
)

// Describe implements prometheus.Collector.
func (a *asker) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		readable, late, failing, jobs, silent, contested, runners, replicas, pool, poolMost, poolWaits, poolWaited,
		listening, reconnects,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (a *asker) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	p := a.sources.Pool()
	gauge(pool, float64(p.InUse), "in_use")
	gauge(pool, float64(p.Idle), "idle")
	gauge(poolMost, float64(p.Most))
	counter(poolWaits, float64(p.Waits))
	counter(poolWaited, p.Waited.Seconds())
	gauge(listening, one(a.sources.Listening()))
	counter(reconnects, float64(a.sources.Reconnects()))
	now, err := a.memory()
	gauge(readable, one(err == nil))
	if err != nil {
		return
	}
	gauge(late, now.LateSeconds)
	gauge(failing, float64(now.Failing))
	gauge(silent, float64(now.Silent))
	gauge(contested, float64(now.Contested))
	gauge(replicas, float64(now.Replicas))
	for k, n := range now.Jobs {
		gauge(jobs, float64(n), k.Kind, k.Status)
	}
	for state, n := range now.Runners {
		gauge(runners, float64(n), state)
	}
}

func (a *asker) memory() (Memory, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.taken) > freshFor {
		ctx, stop := context.WithTimeout(context.Background(), askTime) // a scrape passes no context
		defer stop()
		a.last, a.err = a.sources.Memory(ctx)
		a.taken = time.Now()
	}
	return a.last, a.err
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
