package dev

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// database keeps the private PostgreSQL cluster running.
type database struct {
	log      *prefixWriter
	options  pgcluster.Options
	timeouts timeouts

	mu      sync.Mutex
	cluster *pgcluster.Cluster // replaced after each restart

	stopRequested chan struct{}
	done          chan struct{}
	name          string // the connection string, which survives restarts
}

// startDatabase starts the private cluster, unless DATABASE_URL selects another database.
func (s *system) startDatabase(ctx context.Context) error {
	if s.external.database {
		s.log.logf("using the database of DATABASE_URL")
		return nil
	}
	log := s.view.newWriter("postgres", 3)
	fetch := &pgcluster.Fetch{Progress: func(text string) { log.logf("%s", text) }}
	started := &database{
		log: log, timeouts: s.options.timeouts, stopRequested: make(chan struct{}), done: make(chan struct{}),
		options: pgcluster.Options{
			Dir: s.place.postgres(), Log: log, Search: pgcluster.Search{Getenv: s.options.Getenv, Fetch: fetch}},
	}
	cluster, err := pgcluster.Start(ctx, started.options)
	if err != nil {
		return err
	}
	started.cluster, started.name = cluster, cluster.DSN("")
	// Restarts use the binaries of the first start, without a search.
	started.options.Binaries = cluster.Binaries()
	s.database = started
	go started.keep()
	return nil
}

// keep restarts the server when it exits, until a stop is requested.
func (d *database) keep() {
	defer close(d.done)
	pause := d.timeouts.backoff
	for {
		d.mu.Lock()
		cluster := d.cluster
		d.mu.Unlock()
		select {
		case <-d.stopRequested:
			if err := cluster.Stop(); err != nil {
				d.log.logf("%v", err)
			}
			return
		case <-cluster.Done():
		}
		d.log.logf("it exited (%v); starting it again", cluster.Err())
		if err := cluster.Stop(); err != nil {
			d.log.logf("%v", err)
		}
		if !d.again(&pause) {
			return
		}
	}
}

// again retries the start until it succeeds. It returns false if a stop is requested before that.
func (d *database) again(pause *time.Duration) bool {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		watching := make(chan struct{})
		go func() { // cancels a start in progress when a stop is requested
			select {
			case <-d.stopRequested:
				cancel()
			case <-watching:
			}
		}()
		cluster, err := pgcluster.Start(ctx, d.options)
		close(watching)
		cancel()
		if err == nil {
			d.mu.Lock()
			d.cluster = cluster
			d.mu.Unlock()
			return true
		}
		d.log.logf("%v; retrying in %s", err, *pause)
		later := time.NewTimer(*pause)
		select {
		case <-d.stopRequested:
			later.Stop()
			return false
		case <-later.C:
		}
		*pause = min(2**pause, d.timeouts.longest)
	}
}

func (d *database) dsn() string { return d.name }

// stopDatabase stops the private cluster.
func (s *system) stopDatabase() {
	if s.database == nil {
		return
	}
	close(s.database.stopRequested)
	<-s.database.done
}

// databaseText describes the database for the banner.
func (s *system) databaseText() string {
	if s.database == nil {
		return "the one of DATABASE_URL"
	}
	binaries := s.database.options.Binaries
	return fmt.Sprintf("PostgreSQL %s of %s, on a unix socket", binaries.Version, binaries.Dir)
}
