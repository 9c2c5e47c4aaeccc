package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// Options configures the faults of a run.
type Options struct {
	// Bin is the directory of the programs; Dir receives all output.
	Bin, Dir string
	// Seed determines the sequence of faults.
	Seed uint64
	// For is the duration of the faults.
	For time.Duration
	// Deploys, if not zero, ends the faults earlier: after this many successful applies.
	Deploys int
	// Installs is the number of installs; zero means 2.
	Installs int
	// Faults lists the kinds of faults; nil means all.
	Faults []string
	// Pause is the maximum time between two faults; zero means three seconds.
	Pause time.Duration
	// Verbose reports each fault and decision as it happens.
	Verbose bool
	// Rest is the maximum time for everything to settle afterwards; zero means ten minutes.
	Rest time.Duration
	// Say receives progress lines; nil drops them.
	Say func(string)
}

// customers are the names of the install runners.
var customers = []string{"east", "west"}

// soak is one run.
type soak struct {
	Options
	fleet  *fleet.Fleet
	began  time.Time
	vendor *fleet.Repository
	pushes int
	// replaced counts the replaced machines; returned holds those that came back; givenUp holds the
	// attempts, as job/attempt, that ended because a person declared their machine as lost. That
	// person is responsible for concurrent work of such attempts.
	replaced int
	returned []*fleet.Runner
	givenUp  map[string]bool

	mu      sync.Mutex
	figures Figures
}

// Soak starts everything, injects faults, lets it settle and counts. The figures are valid after an
// error, too.
func Soak(ctx context.Context, o Options) (Figures, error) {
	s, err := begin(ctx, o)
	for _, part := range []func(context.Context) error{s.install, s.storm, s.rest, s.count} {
		if err == nil {
			err = part(ctx)
		}
	}
	s.figures.Took = time.Since(s.began)
	return s.figures, errors.Join(err, s.fleet.Stop())
}

// begin starts the programs. The caller must stop the fleet, also after an error.
func begin(ctx context.Context, o Options) (s *soak, err error) {
	if o.Installs == 0 {
		o.Installs = 2
	}
	if o.Rest == 0 {
		o.Rest = 10 * time.Minute
	}
	if o.Pause == 0 {
		o.Pause = 3 * time.Second
	}
	if o.Faults == nil {
		o.Faults = kinds()
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	s = &soak{Options: o, began: time.Now(), givenUp: map[string]bool{},
		figures: Figures{Seed: o.Seed, Faults: map[string]int{}, Decisions: map[string]int{}}}
	s.fleet, err = fleet.Start(ctx, fleet.Options{Bin: o.Bin, Dir: o.Dir, Replicas: 2, Installers: customers,
		Seed: o.Seed})
	return s, err
}

// storm injects faults while work is done, until the time is over.
func (s *soak) storm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	errs := make(chan error, 3)
	var all sync.WaitGroup
	for _, part := range []func(context.Context) error{s.breakThings, s.decide, s.watchDeploys(cancel)} {
		all.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				errs <- err
				cancel()
			}
		})
	}
	all.Wait()
	close(errs)
	var found []error
	for err := range errs {
		found = append(found, err)
	}
	return errors.Join(found...)
}

// watchDeploys ends the storm after enough deploys.
func (s *soak) watchDeploys(enough context.CancelFunc) func(context.Context) error {
	return func(ctx context.Context) error {
		for s.Deploys > 0 && backoff.Pause(ctx, time.Second) {
			if n, err := s.deploys(ctx); err == nil && n >= s.Deploys { // the database may be down
				enough()
			}
		}
		return nil
	}
}

// random returns a generator for one part of the run, so that the parts draw independently.
func (s *soak) random(part uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, part)) }

// say reports progress.
func (s *soak) say(format string, args ...any) {
	if s.Verbose {
		s.Say(fmt.Sprintf("%6.1fs  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...)))
	}
}

// note increments a count in one of the figures' maps.
func (s *soak) note(in map[string]int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in[what]++
}

func (s *soak) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// upTo draws a duration between zero and most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}
