package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/probe"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/control"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/metrics"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
	"github.com/nuon-toolkit/nuon/reconciler/retention"
	"github.com/nuon-toolkit/nuon/reconciler/runnerprogram"
	"github.com/nuon-toolkit/nuon/reconciler/stackpublish"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// serveOptions holds the flags of serve.
type serveOptions struct {
	databaseURL                          string
	listen, runnerListen, registryListen string
	dataDir, keyFile                     string
	fileRemotes                          []string
	allowPrivate                         bool
	gitMirrors                           []observe.GitMirror
	poll                                 time.Duration
	retention                            retention.Options
	refreshImages                        time.Duration
	states                               stateOptions
	readyFile                            string
	metricsListen                        string // empty for no insight listener
	profiles                             bool   // /debug/pprof there
	migrate                              bool   // migrate the database to this program's schema first
	drainDelay                           time.Duration
	registry                             vendorRegistry // external; its reference is empty for the embedded one
	tlsCert, tlsKey                      string         // empty for plain HTTP
	rateLimit                            ratelimit.Options
	runnerURL, runnerProgram             string // for machines of stacks; empty for none
	stackBucket                          string // address, for templates of stacks; empty for none
	azureAudience                        string // of the identity tokens of machines on Azure; empty accepts none
}

// replica is one running control plane.
type replica struct {
	options  serveOptions
	id       string
	key      seal.Identity
	store    *store.Store
	notifier *store.Notifier
	registry vendorRegistry
	board    *status.Board
	metrics  *metrics.Metrics
	inFlight inFlight
	health   *probe.Health
	servers  []*server
	tls      *certificate // nil for plain HTTP
	program  *runnerprogram.Program

	publisher *stackpublish.Publisher

	runnerSocket net.Listener // of the runner API, if it was opened early
}

// server is one listener with its HTTP server.
type server struct {
	name     string
	listener net.Listener
	http     *http.Server
	tls      bool
}

// serve runs a replica until ctx ends, and then lets work in flight finish.
func serve(ctx context.Context, o serveOptions) (err error) {
	r := &replica{options: o, notifier: store.NewNotifier(), board: status.NewBoard(),
		metrics: metrics.New(version.Number)}
	ctx, stopTraces, err := telemetry.Start(r.board.WithBoard(ctx), "nuon-reconciler", version.Number)
	if err != nil {
		return err
	}
	defer sendLast(ctx, stopTraces)
	claim, err := r.claimDataDir(ctx)
	if err != nil {
		return err
	}
	defer filelock.Unlock(claim) //nolint:errcheck // the end of the process frees it too
	if r.key, err = seal.LoadOrCreateIdentity(o.keyFile); err != nil {
		return err
	}
	if r.tls, err = newCertificate(o.tlsCert, o.tlsKey); err != nil {
		return err
	}
	if err := r.openStacks(ctx); err != nil {
		return err
	}
	if err := r.fixRunnerPort(ctx); err != nil {
		return err
	}
	defer r.program.Close() //nolint:errcheck // only read
	if err := r.openStore(ctx); err != nil {
		return err
	}
	defer r.store.Close()
	defer func() { err = errors.Join(err, r.closeListeners()) }()
	r.health = probe.New(r.checks()...)
	if err := r.registerReplica(ctx); err != nil {
		return err
	}
	if err := r.openRegistry(ctx); err != nil {
		return err
	}
	rooms := r.newServices()
	if err := r.openListeners(ctx, rooms); err != nil {
		return err
	}
	return r.run(ctx, rooms)
}

// sendLast exports the last spans. A collector that refuses them is not an error of this program.
func sendLast(ctx context.Context, stop func(context.Context) error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetry.StopTimeout)
	defer cancel()
	if err := stop(last); err != nil {
		slog.WarnContext(ctx, "the last traces were not exported", "error", err)
	}
}

// openStacks opens the program that machines of runners download, and the bucket of templates.
func (r *replica) openStacks(ctx context.Context) (err error) {
	if at, err := url.Parse(r.options.runnerURL); err != nil || r.options.runnerURL != "" && at.Host == "" {
		return fmt.Errorf("--runner-url %q is not an address; write https://HOST[:PORT]", r.options.runnerURL)
	}
	r.publisher, err = stackpublish.New(ctx, stackpublish.Options{
		Bucket: r.options.stackBucket, AllowPrivate: r.options.allowPrivate})
	if err != nil {
		return err
	}
	r.program = &runnerprogram.Program{}
	if r.options.runnerProgram != "" {
		r.program, err = runnerprogram.Open(r.options.runnerProgram)
	}
	return err
}

// fixRunnerPort opens the listener of the runner API at once if --runner-url has the port 0, which becomes that of the
// listener.
func (r *replica) fixRunnerPort(ctx context.Context) (err error) {
	at, err := url.Parse(r.options.runnerURL)
	if err != nil || at.Port() != "0" {
		return err
	}
	if r.runnerSocket, err = middleware.Listen(ctx, r.options.runnerListen); err != nil {
		return fmt.Errorf("listen for the %s: %w", runnerListener, err)
	}
	_, port, err := net.SplitHostPort(r.runnerSocket.Addr().String())
	at.Host = net.JoinHostPort(at.Hostname(), port)
	r.options.runnerURL = at.String()
	return err
}

// openStore opens the database, which must have this program's schema or a newer one.
func (r *replica) openStore(ctx context.Context) (err error) {
	if r.options.migrate {
		if err := store.Migrate(ctx, r.options.databaseURL); err != nil {
			return err
		}
	}
	if r.store, err = store.Open(ctx, r.options.databaseURL); err != nil {
		return err
	}
	if _, err := r.store.Check(ctx); err != nil {
		r.store.Close()
		return err
	}
	return nil
}

func (r *replica) openListeners(ctx context.Context, rooms *services) error {
	controlRoutes, runnerRoutes := http.NewServeMux(), http.NewServeMux()
	control.HandlerWithOptions(nil, control.StdHTTPServerOptions{BaseRouter: controlRoutes})
	controlRoutes.Handle("POST /hooks/{org}/{hook}", http.NotFoundHandler())
	runner.HandlerWithOptions(nil, runner.StdHTTPServerOptions{BaseRouter: runnerRoutes})
	runnerRoutes.Handle("GET /v2/", http.NotFoundHandler())
	runnerRoutes.Handle(runnerprogram.Route, http.NotFoundHandler())
	if err := r.listen(
		ctx, controlListener, r.options.listen, r.instrument("control", controlRoutes, r.controlAPI(rooms)),
	); err != nil {
		return err
	}
	if err := r.listen(
		ctx, runnerListener, r.options.runnerListen, r.instrument("runner", runnerRoutes, r.runnerAPI(rooms)),
	); err != nil {
		return err
	}
	if r.options.metricsListen == "" {
		return nil
	}
	r.metrics.RegisterSources(r.sources())
	return r.listen(ctx, metricsListener, r.options.metricsListen,
		r.metrics.Handler(r.statusPage(), r.options.profiles))
}

// The names of the listeners in messages.
const (
	controlListener  = "control API"
	runnerListener   = "runner API"
	registryListener = "registry"
	metricsListener  = "insight"
)

// run serves and works until ctx ends or a part fails. All parts outlive ctx until the work in
// flight has ended.
func (r *replica) run(ctx context.Context, rooms *services) error {
	workers, err := rooms.workers(r.id, r.store, r.metrics, &r.inFlight)
	if err != nil {
		return err
	}
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, living := errgroup.WithContext(living)
	for _, s := range r.servers {
		group.Go(func() error { return s.serve() })
	}
	group.Go(func() error { return r.notifier.Run(living, r.store) })
	group.Go(func() error { r.heartbeatLoop(living); return nil })
	sweeping, stopSweep := context.WithCancel(living)
	defer stopSweep()
	group.Go(func() error { sweep(sweeping, r.store); return nil })
	group.Go(func() error { scheduleRetention(sweeping, r.store); return nil })
	group.Go(func() error { reindexQueue(sweeping, r.store); return nil })
	// The workers are stopped separately and finish what they have started.
	if err := workers.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start workers: %w", err)
	}
	if err := r.writeReadyFile(); err != nil {
		return err
	}
	group.Go(func() error {
		defer end()
		select {
		case <-ctx.Done():
			r.waitDrainDelay(living)
		case <-living.Done():
		}
		stopSweep()
		return r.drain(context.WithoutCancel(living), rooms, workers)
	})
	return group.Wait()
}

// waitDrainDelay makes /readyz report that this replica is stopping, and waits for load balancers to notice
// while all requests are still served.
func (r *replica) waitDrainDelay(ctx context.Context) {
	r.health.Drain()
	slog.InfoContext(ctx, "stopping", "delay", r.options.drainDelay.String())
	delay := time.NewTimer(r.options.drainDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-ctx.Done():
	}
}

// drain finishes the work in flight.
func (r *replica) drain(ctx context.Context, rooms *services, workers *river.Client[pgx.Tx]) error {
	rooms.jobs.Drain()
	rooms.logs.Drain()
	last, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	var stops errgroup.Group
	stops.Go(func() error { return workers.Stop(last) })
	for _, s := range r.servers {
		stops.Go(func() error { return s.http.Shutdown(last) })
	}
	return stops.Wait()
}

// drainTime is how long requests and work in flight have to finish.
const drainTime = 20 * time.Second

// openRegistry uses the external registry, or opens the embedded one on its listener.
func (r *replica) openRegistry(ctx context.Context) error {
	if external := r.options.registry; external.reference != (vendorRegistry{}).reference {
		if external.reference.Host == "" {
			return fmt.Errorf("NUON_REGISTRY %q: write it as host/path, without a scheme",
				external.reference.Repository)
		}
		r.registry = external
		return nil
	}
	signer, err := registrySigner(r.key)
	if err != nil {
		return err
	}
	embedded, err := registry.New(registry.Options{
		Dir: filepath.Join(r.options.dataDir, "registry"), Signer: signer, Log: slog.Default(),
	})
	if err != nil {
		return err
	}
	if err := r.listen(ctx, registryListener, r.options.registryListen, embedded); err != nil {
		return err
	}
	r.registry = embeddedRegistry(r.servers[len(r.servers)-1].listener.Addr().String(), signer, embedded)
	return nil
}

// Limits for every listener: the time and size of a client's headers, and the lifetime of an idle
// connection. Handlers set their own time limits, because polls and streams are long.
const (
	headerTime  = 10 * time.Second
	headerBytes = 64 << 10
	idleTime    = 2 * time.Minute
)

// registryTime is how long one request to the embedded registry may take: layers are large.
const registryTime = 15 * time.Minute

// listen opens a listener; run starts to accept connections.
func (r *replica) listen(ctx context.Context, name, address string, handler http.Handler) error {
	open := func(ctx context.Context, address string) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if name == runnerListener { // runners hold long connections there
		open = middleware.Listen
		if r.runnerSocket != nil {
			open = func(context.Context, string) (net.Listener, error) { return r.runnerSocket, nil }
		}
	}
	l, err := open(ctx, address)
	if err != nil {
		return fmt.Errorf("listen for the %s: %w", name, err)
	}
	guard := middleware.Options{}
	if name == registryListener {
		guard.Time = registryTime
	}
	made := &server{name: name, listener: l, http: &http.Server{
		Handler: middleware.New(r.health.Handler(handler), guard), ReadHeaderTimeout: headerTime, MaxHeaderBytes: headerBytes,
		IdleTimeout: idleTime,
		// The context carries telemetry; requests must not end when ctx does.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}}
	if r.tls != nil && (name == controlListener || name == runnerListener) {
		made.http.TLSConfig, made.tls = r.tls.config(), true
	}
	r.servers = append(r.servers, made)
	return nil
}

func (s *server) serve() error {
	serve := s.http.Serve
	if s.tls {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// url returns the address at which a server is reached from this machine.
func (s *server) url() string {
	if s.tls { // net/http fills its own TLSConfig in any case
		return "https://" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String()
}

// closeListeners releases the addresses of a replica that failed before run.
func (r *replica) closeListeners() error {
	var errs []error
	for _, s := range r.servers {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writeReadyFile reports that all listeners are up, in the log and atomically in the ready file.
func (r *replica) writeReadyFile() error {
	now := devcontract.Ready{Registry: r.registry.reference.String()}
	for _, s := range r.servers {
		switch url := s.url(); s.name {
		case controlListener:
			now.ControlURL = url
		case runnerListener:
			now.RunnerURL = url
		case registryListener:
			now.Registry = s.listener.Addr().String()
		case metricsListener:
			now.MetricsURL = url
		}
	}
	slog.Info("ready", "control", now.ControlURL, "runner", now.RunnerURL, "registry", now.Registry,
		"insight", now.MetricsURL)
	if r.options.readyFile == "" {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	beside := r.options.readyFile + ".new"
	if err := os.WriteFile(beside, b, 0o600); err != nil {
		return fmt.Errorf("report that all listeners are ready: %w", err)
	}
	return os.Rename(beside, r.options.readyFile)
}
