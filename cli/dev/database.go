package dev

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// database keeps the private cluster running.
type database struct {
	log      *source
	options  pgcluster.Options
	patience patience

	mu      sync.Mutex
	cluster *pgcluster.Cluster // nil between two lives

	asked chan struct{}
	done  chan struct{}
	name  string // the connection string, the same over restarts
}

// startDatabase starts the private cluster, unless DATABASE_URL names another one.
func (s *system) startDatabase(ctx context.Context) error {
	if s.external.database {
		s.log.say("using the database of DATABASE_URL")
		return nil
	}
	log := s.view.source("postgres", 3)
	fetch := &pgcluster.Fetch{Progress: func(text string) { log.say("%s", text) }}
	started := &database{
		log: log, patience: s.options.patience, asked: make(chan struct{}), done: make(chan struct{}),
		options: pgcluster.Options{Dir: s.place.postgres(), Log: log, Search: pgcluster.Search{Getenv: s.options.Getenv, Fetch: fetch}},
	}
	cluster, err := pgcluster.Start(ctx, started.options)
	if err != nil {
		return err
	}
	started.cluster, started.name = cluster, cluster.DSN("")
	// Later starts use the binaries of the first, without a search.
	started.options.Binaries = cluster.Binaries()
	s.database = started
	go started.keep()
	return nil
}

// keep waits for the server to leave, and brings it up again until it is asked not to.
func (d *database) keep() {
	defer close(d.done)
	pause := d.patience.backoff
	for {
		d.mu.Lock()
		cluster := d.cluster
		d.mu.Unlock()
		select {
		case <-d.asked:
			if err := cluster.Stop(); err != nil {
				d.log.say("%v", err)
			}
			return
		case <-cluster.Done():
		}
		d.log.say("it left by itself (%v); starting it again", cluster.Err())
		if err := cluster.Stop(); err != nil {
			d.log.say("%v", err)
		}
		if !d.again(&pause) {
			return
		}
	}
}

// again tries to start until it works; false when it is asked to stop before that.
func (d *database) again(pause *time.Duration) bool {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		watching := make(chan struct{})
		go func() { // ends a start in progress when the stop is asked for
			select {
			case <-d.asked:
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
		d.log.say("%v; again in %s", err, *pause)
		later := time.NewTimer(*pause)
		select {
		case <-d.asked:
			later.Stop()
			return false
		case <-later.C:
		}
		*pause = min(2**pause, d.patience.longest)
	}
}

func (d *database) dsn() string { return d.name }

// stopDatabase ends the private cluster.
func (s *system) stopDatabase() {
	if s.database == nil {
		return
	}
	close(s.database.asked)
	<-s.database.done
}

// databaseText says for the banner which database is in use.
func (s *system) databaseText() string {
	if s.database == nil {
		return "the one of DATABASE_URL"
	}
	binaries := s.database.options.Binaries
	return fmt.Sprintf("PostgreSQL %s of %s, on a unix socket", binaries.Version, binaries.Dir)
}
