package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/examples/fleet"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// Options say how long to break what.
type Options struct {
	// Bin is the directory of the programs; Dir takes everything that they leave.
	Bin, Dir string
	// Seed decides what breaks when.
	Seed uint64
	// For is how long things break.
	For time.Duration
	// Deploys, when not zero, ends that earlier: after so many applies that succeeded.
	Deploys int
	// Installs is how many there are; zero means 2.
	Installs int
	// Faults are the kinds that may happen; nil means all.
	Faults []string
	// Pause is the most that lies between two faults; zero means three seconds.
	Pause time.Duration
	// Verbose says each fault and decision as it happens.
	Verbose bool
	// Rest is how long everything may take to come to rest afterwards; zero means ten minutes.
	Rest time.Duration
	// Say takes a line; nil drops it.
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
	// replaced counts the machines that were; returned are those that turned out to be alive; givenUp are the attempts, as
	// job/attempt, that ended because a person said so: what two do at once then, that person has caused.
	replaced int
	returned []*fleet.Runner
	givenUp  map[string]bool

	mu      sync.Mutex
	figures Figures
}

// Soak runs everything, breaks it, lets it come to rest and counts. The figures are of use after an error, too.
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

// begin starts the programs. Its fleet must be stopped, also after an error.
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
	s = &soak{Options: o, began: time.Now(), givenUp: map[string]bool{}, figures: Figures{Seed: o.Seed, Faults: map[string]int{}, Decisions: map[string]int{}}}
	s.fleet, err = fleet.Start(ctx, fleet.Options{Bin: o.Bin, Dir: o.Dir, Replicas: 2, Installers: customers, Seed: o.Seed})
	return s, err
}

// storm breaks things and has work done meanwhile, until the time is over.
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

// watchDeploys ends the storm when there were enough deploys.
func (s *soak) watchDeploys(enough context.CancelFunc) func(context.Context) error {
	return func(ctx context.Context) error {
		for s.Deploys > 0 && backoff.Pause(ctx, time.Second) {
			if n, err := s.deploys(ctx); err == nil && n >= s.Deploys { // the database may be down just now
				enough()
			}
		}
		return nil
	}
}

// random gives a generator for one part of the run, so that what one part draws does not change what another gets.
func (s *soak) random(part uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, part)) }

// say tells what happens.
func (s *soak) say(format string, args ...any) {
	if s.Verbose {
		s.Say(fmt.Sprintf("%6.1fs  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...)))
	}
}

// note counts something in one of the figures' maps.
func (s *soak) note(in map[string]int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in[what]++
}

func (s *soak) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// upTo draws a time between zero and most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}
