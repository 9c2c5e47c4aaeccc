package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Figures holds the figures of the store and the replica at the time of a scrape.
type Figures struct {
	QueueDelaySeconds    float64 // delay of the oldest overdue work
	FailingJobs          int     // work that is being retried
	Jobs                 map[JobKind]int
	AttemptsOutOfContact int            // attempts out of contact
	ContestedStates      int            // components with a contested state version
	Runners              map[string]int // by state
	Replicas             int
}

// JobKind is a kind and a status of jobs.
type JobKind struct{ Kind, Status string }

// Pool is the use of the replica's connections to Postgres.
type Pool struct {
	InUse, Idle, Max int32
	Waits            int64 // acquisitions that had to wait
	Waited           time.Duration
}

// Sources are the functions that a scrape calls.
type Sources struct {
	Figures    func(context.Context) (Figures, error)
	Pool       func() Pool
	Listening  func() bool
	Reconnects func() int
}

// The limits of a scrape: the store is queried at most once per maxFiguresAge, however many scrapes
// arrive.
const (
	maxFiguresAge  = 5 * time.Second
	figuresTimeout = 3 * time.Second
)

// RegisterSources registers the sources that a scrape calls.
func (m *Metrics) RegisterSources(s Sources) { m.registry.MustRegister(&collector{sources: s}) }

type collector struct {
	sources Sources

	mu     sync.Mutex
	readAt time.Time
	last   Figures
	err    error
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	readable = desc("nuon_store_readable", "1 if the metrics that come from the database could be read.")
	late     = desc("nuon_due_late_seconds", "Time that the oldest overdue object has waited to be reconciled.")
	failing  = desc("nuon_work_failing",
		"Reconcile calls that failed and are being retried, of all replicas.")
	jobs      = desc("nuon_jobs_open", "Jobs that have not ended.", "kind", "status")
	silent    = desc("nuon_attempts_out_of_contact", "Attempts whose runner has lost contact.")
	contested = desc("nuon_components_contested",
		"Components with a contested state version, which needs a person.")
	runners    = desc("nuon_runners", "Runners.", "state")
	replicas   = desc("nuon_replicas", "Replicas that were seen within a minute.")
	pool       = desc("nuon_pool_connections", "Connections of this replica's pool.", "state")
	poolMost   = desc("nuon_pool_connections_most", "Maximum size of this replica's connection pool.")
	poolWaits  = desc("nuon_pool_waits_total", "Number of times that a connection was waited for.")
	poolWaited = desc("nuon_pool_wait_seconds_total", "Total time that connections were waited for.")
	listening  = desc("nuon_notifier_listening", "1 if the replica receives notifications.")
	reconnects = desc("nuon_notifier_reconnects_total", "Number of times that the connection for notifications was lost.")
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		readable, late, failing, jobs, silent, contested, runners, replicas, pool, poolMost, poolWaits, poolWaited,
		listening, reconnects,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	p := c.sources.Pool()
	gauge(pool, float64(p.InUse), "in_use")
	gauge(pool, float64(p.Idle), "idle")
	gauge(poolMost, float64(p.Max))
	counter(poolWaits, float64(p.Waits))
	counter(poolWaited, p.Waited.Seconds())
	gauge(listening, boolValue(c.sources.Listening()))
	counter(reconnects, float64(c.sources.Reconnects()))
	now, err := c.figures()
	gauge(readable, boolValue(err == nil))
	if err != nil {
		return
	}
	gauge(late, now.QueueDelaySeconds)
	gauge(failing, float64(now.FailingJobs))
	gauge(silent, float64(now.AttemptsOutOfContact))
	gauge(contested, float64(now.ContestedStates))
	gauge(replicas, float64(now.Replicas))
	for k, n := range now.Jobs {
		gauge(jobs, float64(n), k.Kind, k.Status)
	}
	for state, n := range now.Runners {
		gauge(runners, float64(n), state)
	}
}

func (c *collector) figures() (Figures, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.readAt) > maxFiguresAge {
		ctx, stop := context.WithTimeout(context.Background(), figuresTimeout) // a scrape passes no context
		defer stop()
		c.last, c.err = c.sources.Figures(ctx)
		c.readAt = time.Now()
	}
	return c.last, c.err
}

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
