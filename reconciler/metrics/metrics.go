package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics counts the events of one replica. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	inFlight       *prometheus.GaugeVec
	polls          prometheus.Gauge
	logBytes       prometheus.Counter

	work           *prometheus.CounterVec
	workSeconds    *prometheus.HistogramVec
	pollSeconds    *prometheus.HistogramVec
	queuedSeconds  *prometheus.HistogramVec
	offeredSeconds *prometheus.HistogramVec
	runSeconds     *prometheus.HistogramVec
}

// Buckets in seconds: for what should be quick, and for what runs in a customer's account.
var (
	shortBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}
	longBuckets  = []float64{.05, .25, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
)

// New returns the metrics of a replica, in a separate registry.
func New(version string) *Metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("nuon_http_requests_total", "Requests that have ended.", "listener", "route", "class"),
		requestSeconds: histograms("nuon_http_request_seconds",
			"Duration of requests; polls and streams take long.", shortBuckets, "listener", "route"),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nuon_http_in_flight", Help: "Requests in progress.",
		}, []string{"listener"}),
		polls: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nuon_lease_polls_waiting", Help: "Open polls of runners for jobs.",
		}),
		logBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nuon_log_received_bytes_total", Help: "Bytes of job logs, as runners sent them.",
		}),
		work:        counters("nuon_work_total", "Reconcile calls, by result.", "kind", "outcome"),
		workSeconds: histograms("nuon_work_seconds", "Duration of reconcile calls.", shortBuckets, "kind"),
		pollSeconds: histograms("nuon_git_look_seconds",
			"Polls of git repositories, with the fetch if a ref moved, by result.", longBuckets, "outcome"),
		queuedSeconds: histograms("nuon_job_queued_seconds",
			"Time from the creation of a job to the offer that was accepted.", shortBuckets, "kind"),
		offeredSeconds: histograms("nuon_attempt_accept_seconds", "Time from an offer to its acceptance.", shortBuckets,
			"kind"),
		runSeconds: histograms("nuon_attempt_run_seconds", "Time from the acceptance of a job to its recorded end.",
			longBuckets, "kind", "outcome"),
	}
	about := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "nuon_build_info", Help: "1, with the program's version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	about.Set(1)
	m.registry.MustRegister(
		m.requests, m.requestSeconds, m.inFlight, m.polls, m.logBytes, m.work, m.workSeconds, m.pollSeconds, m.queuedSeconds,
		m.offeredSeconds, m.runSeconds, about,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// RecordWork counts one run of a reconcile function.
func (m *Metrics) RecordWork(kind string, took time.Duration, err error) {
	outcome := "done"
	if err != nil {
		outcome = "again"
	}
	m.work.WithLabelValues(kind, outcome).Inc()
	m.workSeconds.WithLabelValues(kind).Observe(took.Seconds())
}

// RecordPoll counts one poll of a git repository: outcome is moved, same, trouble or error.
func (m *Metrics) RecordPoll(outcome string, took time.Duration) {
	m.pollSeconds.WithLabelValues(outcome).Observe(took.Seconds())
}

// RecordAccepted counts an attempt that a runner accepted: how long its job was queued, and how long its
// offer was open.
func (m *Metrics) RecordAccepted(kind string, queued, offered time.Duration) {
	m.queuedSeconds.WithLabelValues(kind).Observe(queued.Seconds())
	m.offeredSeconds.WithLabelValues(kind).Observe(offered.Seconds())
}

// RecordEnded counts an attempt whose end was recorded.
func (m *Metrics) RecordEnded(kind, outcome string, ran time.Duration) {
	m.runSeconds.WithLabelValues(kind, outcome).Observe(ran.Seconds())
}
