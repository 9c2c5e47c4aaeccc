package store_test

import (
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// server is a private Postgres that the test can stop.
type server struct {
	*testing.T
	options pgcluster.Options
	cluster *pgcluster.Cluster
}

func newServer(t *testing.T) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "nuon-away-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{T: t, options: pgcluster.Options{Dir: dir, Settings: map[string]string{"fsync": "off"}}}
	s.start()
	t.Cleanup(func() { _ = s.cluster.Stop() })
	return s
}

func (s *server) start() {
	s.Helper()
	var err error
	if s.cluster, err = pgcluster.Start(context.WithoutCancel(s.Context()), s.options); err != nil {
		s.Fatal(err)
	}
}

// crash kills the server as a power failure does.
func (s *server) crash() {
	s.Helper()
	if err := syscall.Kill(s.cluster.PID(), syscall.SIGQUIT); err != nil {
		s.Fatal(err)
	}
	<-s.cluster.Done()
	if err := s.cluster.Stop(); err != nil {
		s.Fatal(err)
	}
}

// TestPostgresGoesAway: units of work wait for Postgres or return *Unavailable and no other error, no
// commit is lost, and the notifier reports notifications that were missed.
func TestPostgresGoesAway(t *testing.T) {
	postgres := newServer(t)
	dsn := postgres.cluster.DSN("postgres")
	must(t, store.Migrate(t.Context(), dsn))
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(s.Close)
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	bell := store.NewNotifier()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() { _ = bell.Run(ctx, s) })
	await(t, "the bell listens", func() bool { return bell.Listening() == nil })
	rung, ignore := bell.Wait(store.ChannelJobs, "nobody")
	defer ignore()

	// Before the crash: more units than the pool has connections work all the time.
	var committed, unsure, away atomic.Int32
	for range 8 {
		work.Go(func() {
			for ctx.Err() == nil {
				err := s.InTx(ctx, org.ID, func(ctx context.Context, tx *store.Tx) error {
					return tx.Audit(ctx, "test", "test.try", org.ID, nil)
				})
				var gone *store.Unavailable
				switch {
				case err == nil:
					committed.Add(1)
				case ctx.Err() != nil:
				case errors.As(err, &gone):
					away.Add(1)
					if gone.CommitUnknown {
						unsure.Add(1)
					}
				default:
					t.Errorf("while Postgres is away: %v", err)
				}
			}
		})
	}
	await(t, "work is done", func() bool { return committed.Load() > 50 })
	select { // it may have been woken when the notifier connected
	case <-rung:
	default:
	}
	postgres.crash()
	testtime.Receive(t, rung, "the notifier wakes waiters when it loses the connection")
	if bell.Listening() == nil {
		t.Error("the notifier still listens")
	}
	await(t, "somebody gave up waiting", func() bool { return away.Load() > unsure.Load() })
	before := committed.Load()
	postgres.start()
	await(t, "work is done again", func() bool { return committed.Load() > before+50 })
	await(t, "the bell listens again", func() bool { return bell.Listening() == nil })
	if bell.Reconnects() == 0 {
		t.Error("no reconnect was counted")
	}
	testtime.Receive(t, rung, "everybody is woken after the reconnect")
	stop()
	work.Wait()
	// Every confirmed commit is stored; of the unsure ones, any number.
	n := 0
	must(t, s.ReadTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.ViewAudit(ctx,
			store.ViewAuditParams{OrgID: org.ID, Before: math.MaxInt64, Most: math.MaxInt32})
		n = len(events)
		return err
	}))
	if low, high := int(committed.Load()), int(committed.Load()+unsure.Load()); n < low {
		t.Errorf("%d are there; %d were committed, and of %d nobody is sure", n, low, high-low)
	}
	t.Logf("%d committed, %d told that it is away, of which %d unsure", committed.Load(), away.Load(), unsure.Load())
}

// TestAUnitThatOutlivesARestart: a unit of work waits through a short outage and succeeds.
func TestAUnitThatOutlivesARestart(t *testing.T) {
	postgres := newServer(t)
	dsn := postgres.cluster.DSN("postgres")
	must(t, store.Migrate(t.Context(), dsn))
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(s.Close)
	org, err := s.AddOrg(t.Context(), id.New("org"), "acme")
	must(t, err)
	runs := 0
	began := time.Now()
	err = s.InTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		if runs++; runs == 1 {
			postgres.crash()
			postgres.start()
		}
		return tx.Audit(ctx, "test", "test.try", org.ID, nil)
	})
	if err != nil || runs < 2 {
		t.Errorf("after a restart in the middle (%s): %v, run %d times", time.Since(began), err, runs)
	}
}
