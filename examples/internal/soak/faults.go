package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// faults maps names to faults. Each injects one fault, waits, and repairs what a service manager or
// an operator would repair. It returns what it hit, or the empty string if there was nothing to
// hit.
var faults = map[string]func(*soak, context.Context, *rand.Rand) (string, error){
	"runner":     (*soak).killRunner,
	"machine":    (*soak).killMachine,
	"job":        (*soak).killJob,
	"terraform":  (*soak).killTerraform,
	"reconciler": (*soak).killReconciler,
	"postgres":   (*soak).crashPostgres,
	"registry":   (*soak).stopRegistry,
	"hole":       (*soak).blackHole,
	"replace":    (*soak).replaceMachine,
	"reset": weather("reset",
		func(r *rand.Rand) fault.Faults { return fault.Faults{Reset: 0.1 + 0.4*r.Float64(), Cut: 0.1} }),
	"slow": weather("slow", func(r *rand.Rand) fault.Faults {
		return fault.Faults{MaxDelay: 100*time.Millisecond + upTo(r, 2*time.Second)}
	}),
	"twice": weather("twice", func(r *rand.Rand) fault.Faults {
		return fault.Faults{Duplicate: 0.5, MaxDuplicateDelay: upTo(r, 3*time.Second) + 1, MaxDelay: 300 * time.Millisecond}
	}),
}

// kinds returns the names of the faults.
func kinds() []string { return slices.Sorted(maps.Keys(faults)) }

func parseKinds(list string) ([]string, error) {
	if list == "all" {
		return kinds(), nil
	}
	names := strings.Split(list, ",")
	for _, n := range names {
		if _, known := faults[n]; !known && n != "none" {
			return nil, fmt.Errorf("-faults: there is no %q; name some of %s, or all, or none", n, strings.Join(kinds(), ", "))
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "none" }), nil
}

// breakThings injects faults one after the other until ctx ends. A fault in progress is still
// repaired.
func (s *soak) breakThings(ctx context.Context) error {
	r := s.random(1)
	for len(s.Faults) > 0 && backoff.Pause(ctx, s.Pause/10+upTo(r, s.Pause)) {
		kind := s.Faults[r.IntN(len(s.Faults))]
		hit, err := faults[kind](s, ctx, r)
		if err != nil {
			return fmt.Errorf("fault %s: %w", kind, err)
		}
		if hit != "" {
			s.say("✗ %s: %s", kind, hit)
			s.note(s.figures.Faults, kind)
		}
	}
	return nil
}

// runners returns all runners in use, in a fixed order.
func (s *soak) runners() []*fleet.Runner {
	all := []*fleet.Runner{s.fleet.Builder}
	for _, c := range customers {
		all = append(all, s.fleet.Installers[c])
	}
	return all
}

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// down returns the duration of an outage: mostly a moment, sometimes longer than any retry waits.
func down(r *rand.Rand) time.Duration {
	if r.IntN(10) == 0 {
		return 5*time.Second + upTo(r, 20*time.Second)
	}
	return upTo(r, 3*time.Second)
}

func (s *soak) killRunner(ctx context.Context, r *rand.Rand) (string, error) {
	runner := one(r, s.runners())
	if err := runner.Kill(); err != nil {
		return "", err
	}
	away := down(r)
	backoff.Pause(ctx, away)
	return fmt.Sprintf("%s for %s", runner.Name, away), runner.Start()
}

// killMachine kills a runner and all its child processes, as a power failure does.
func (s *soak) killMachine(ctx context.Context, r *rand.Rand) (string, error) {
	runner := one(r, s.runners())
	if err := runner.Kill(); err != nil {
		return "", err
	}
	n := 0
	for again := true; again; {
		found, err := s.jobsOf(runner)
		if err != nil {
			return "", err
		}
		again = len(found) > 0
		for _, p := range found {
			if hit, err := fault.Kill(p); err != nil {
				return "", err
			} else if hit {
				n++
			}
		}
	}
	away := down(r)
	backoff.Pause(ctx, away)
	return fmt.Sprintf("%s and %d processes for %s", runner.Name, n, away), runner.Start()
}

// jobsOf returns all processes that work for a runner, except the runner itself.
func (s *soak) jobsOf(runner *fleet.Runner) ([]fault.Process, error) {
	var found []fault.Process
	for _, dir := range []string{runner.Dir, runner.Home} {
		using, err := fault.UsingDir(dir)
		if err != nil {
			return nil, err
		}
		for _, p := range using {
			if p.PID != runner.PID() && p.State != 'Z' {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// isJob reports whether a process runs a job: it works in the spool directory of an attempt, unlike one that waits.
func isJob(p fault.Process) bool {
	if len(p.Args) < 2 || !strings.HasSuffix(p.Args[0], "runnerd") || p.Args[1] != "job" {
		return false
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
	return err == nil && filepath.Base(filepath.Dir(dir)) == "spool"
}

func (s *soak) killJob(ctx context.Context, r *rand.Rand) (string, error) {
	return s.killOne(ctx, r, isJob)
}

func (s *soak) killTerraform(ctx context.Context, r *rand.Rand) (string, error) {
	return s.killOne(ctx, r,
		func(p fault.Process) bool { return len(p.Args) > 0 && filepath.Base(p.Args[0]) == "terraform" })
}

// killOne waits up to five seconds for a matching process, lets it work for a moment, and kills it.
func (s *soak) killOne(ctx context.Context, r *rand.Rand, meant func(fault.Process) bool) (string, error) {
	for range 50 {
		using, err := fault.UsingDir(s.path("runners"))
		if err != nil {
			return "", err
		}
		found := slices.DeleteFunc(using, func(p fault.Process) bool { return !meant(p) || p.State == 'Z' })
		if len(found) == 0 {
			if !backoff.Pause(ctx, 100*time.Millisecond) {
				return "", nil
			}
			continue
		}
		slices.SortFunc(found, func(a, b fault.Process) int { return a.PID - b.PID })
		chosen := one(r, found)
		backoff.Pause(ctx, upTo(r, 1500*time.Millisecond))
		hit, err := fault.Kill(chosen)
		if err != nil || !hit {
			return "", err
		}
		return strings.ReplaceAll(chosen.CommandLine(), s.Dir, "…"), nil
	}
	return "", nil
}

func (s *soak) killReconciler(ctx context.Context, r *rand.Rand) (string, error) {
	number := r.IntN(len(s.fleet.Replicas))
	replica := s.fleet.Replicas[number]
	if err := replica.Kill(); err != nil {
		return "", err
	}
	away := down(r)
	backoff.Pause(ctx, away)
	// The replica is restarted even if the run's time is over.
	return fmt.Sprintf("%s for %s", replica.Name, away), s.fleet.StartReplica(context.WithoutCancel(ctx), number)
}

func (s *soak) crashPostgres(ctx context.Context, _ *rand.Rand) (string, error) {
	return "crashed and recovered", s.fleet.Database.Crash(context.WithoutCancel(ctx))
}

func (s *soak) stopRegistry(ctx context.Context, r *rand.Rand) (string, error) {
	if err := s.fleet.Registry.Down(); err != nil {
		return "", err
	}
	away := down(r)
	backoff.Pause(ctx, away)
	return fmt.Sprintf("down for %s", away), s.fleet.Registry.Up()
}

// blackHole drops everything on one runner's connection, sometimes for longer than a lease.
func (s *soak) blackHole(ctx context.Context, r *rand.Rand) (string, error) {
	runner, away := one(r, s.runners()), time.Second+upTo(r, 15*time.Second)
	if r.IntN(8) == 0 {
		away = 65*time.Second + upTo(r, 20*time.Second)
	}
	runner.Line.SetFaults(fault.Faults{Blackhole: true})
	backoff.Pause(ctx, away)
	runner.Line.SetFaults(fault.Faults{})
	return fmt.Sprintf("%s for %s", runner.Name, away), nil
}

// weather returns a fault that changes the weather on the connections of all runners.
func weather(name string, draw func(*rand.Rand) fault.Faults) func(*soak, context.Context, *rand.Rand) (string, error) {
	return func(s *soak, ctx context.Context, r *rand.Rand) (string, error) {
		w, during := draw(r), time.Second+upTo(r, 6*time.Second)
		for _, runner := range s.runners() {
			runner.Line.SetFaults(w)
		}
		backoff.Pause(ctx, during)
		for _, runner := range s.runners() {
			runner.Line.SetFaults(fault.Faults{})
		}
		return fmt.Sprintf("%s for %s", name, during), nil
	}
}
