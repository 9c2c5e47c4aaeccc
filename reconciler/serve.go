package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/startup"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	databaseURL                          string
	listen, runnerListen, registryListen string
	dataDir, keyFile                     string
	fileRemotes                          []string
	allowPrivate                         bool
	poll                                 time.Duration
	readyFile                            string
	registry                             vendorRegistry // external; its reference is empty for the embedded one
}

// replica is one running control plane.
type replica struct {
	options  serveOptions
	key      seal.Identity
	store    *store.Store
	bell     *store.Bell
	registry vendorRegistry
	servers  []*server
}

// server is one listener with what answers on it.
type server struct {
	name     string
	listener net.Listener
	http     *http.Server
}

// serve runs a replica until ctx ends, then lets what is in flight finish.
func serve(ctx context.Context, o serveOptions) (err error) {
	r := &replica{options: o, bell: store.NewBell()}
	if r.key, err = seal.LoadOrCreateIdentity(o.keyFile); err != nil {
		return err
	}
	if err := store.Migrate(ctx, o.databaseURL); err != nil {
		return err
	}
	if r.store, err = store.Open(ctx, o.databaseURL); err != nil {
		return err
	}
	defer r.store.Close()
	defer func() { err = errors.Join(err, r.closeListeners()) }()
	if err := r.openRegistry(); err != nil {
		return err
	}
	rooms := r.rooms()
	if err := rooms.dispatch.Resume(ctx); err != nil {
		return fmt.Errorf("resume leases: %w", err)
	}
	if err := r.listen("control API", o.listen, r.controlAPI(rooms)); err != nil {
		return err
	}
	if err := r.listen("runner API", o.runnerListen, r.runnerAPI(rooms)); err != nil {
		return err
	}
	return r.run(ctx, rooms)
}

// run serves and works until ctx ends or a part fails.
func (r *replica) run(ctx context.Context, rooms *rooms) error {
	workers, err := rooms.workers(r.store)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range r.servers {
		group.Go(func() error { return s.serve() })
	}
	group.Go(func() error { return r.bell.Run(ctx, r.store) })
	group.Go(func() error { sweep(ctx, r.store); return nil })
	// The workers outlive ctx: they are asked to stop, and finish what they have begun.
	if err := workers.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start workers: %w", err)
	}
	if err := r.tellReady(); err != nil {
		return err
	}
	group.Go(func() error {
		<-ctx.Done()
		rooms.dispatch.Drain()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		errs := []error{workers.Stop(last)}
		for _, s := range r.servers {
			errs = append(errs, s.http.Shutdown(last))
		}
		return errors.Join(errs...)
	})
	return group.Wait()
}

// drainTime is how long requests and work in flight have to finish.
const drainTime = 20 * time.Second

// openRegistry uses the external registry, or opens the embedded one on its listener.
func (r *replica) openRegistry() error {
	if external := r.options.registry; external.reference != (vendorRegistry{}).reference {
		if external.reference.Host == "" {
			return fmt.Errorf("NUON_REGISTRY %q: write it as host/path, without a scheme", external.reference.Repository)
		}
		r.registry = external
		return nil
	}
	signer, err := registrySigner(r.key)
	if err != nil {
		return err
	}
	embedded, err := registry.New(registry.Options{Dir: filepath.Join(r.options.dataDir, "registry"), Signer: signer, Log: slog.Default()})
	if err != nil {
		return err
	}
	if err := r.listen("registry", r.options.registryListen, embedded); err != nil {
		return err
	}
	r.registry = embeddedAt(r.servers[len(r.servers)-1].listener.Addr().String(), signer)
	return nil
}

// How long a client may take over its headers, and how long a quiet connection is kept. What a handler may take is its own
// business:
// polls and streams are long.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
)

// listen opens a listener; nothing is accepted before run.
func (r *replica) listen(name, address string, handler http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the %s: %w", name, err)
	}
	r.servers = append(r.servers, &server{name: name, listener: l, http: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}})
	return nil
}

func (s *server) serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// closeListeners frees the addresses of a replica that did not get to run.
func (r *replica) closeListeners() error {
	var errs []error
	for _, s := range r.servers {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tellReady says that all listeners are up, in the log and, whole or not at all, in the ready file.
func (r *replica) tellReady() error {
	now := startup.Ready{Registry: r.registry.reference.String()}
	for _, s := range r.servers {
		switch url := "http://" + s.listener.Addr().String(); s.name {
		case "control API":
			now.ControlURL = url
		case "runner API":
			now.RunnerURL = url
		case "registry":
			now.Registry = s.listener.Addr().String()
		}
	}
	slog.Info("ready", "control", now.ControlURL, "runner", now.RunnerURL, "registry", now.Registry)
	if r.options.readyFile == "" {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	beside := r.options.readyFile + ".new"
	if err := os.WriteFile(beside, b, 0o600); err != nil {
		return fmt.Errorf("tell that all is ready: %w", err)
	}
	return os.Rename(beside, r.options.readyFile)
}
