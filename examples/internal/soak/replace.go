package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// replaceMachine plays a person who replaces an unreachable machine: a new one with the customer's
// copy of the install key takes its place. Half of the time the old one was still running, and
// comes back with its results.
func (s *soak) replaceMachine(ctx context.Context, r *rand.Rand) (string, error) {
	name := one(r, customers)
	old, alive := s.fleet.Installers[name], r.IntN(2) == 0
	old.Line.SetFaults(fault.Faults{Blackhole: true})
	backoff.Pause(ctx, upTo(r, 5*time.Second))
	ctx = context.WithoutCancel(ctx) // a fault in progress is still repaired
	var replaced api.ReplacedRunner
	if err := s.fleet.JSON(ctx, &replaced, "runners", "replace", name, "--reason", "the soak cannot reach it",
		"--yes"); err != nil {
		// The control plane is down, so the person does not replace the machine, which turns out to
		// be fine.
		s.say("replace: %v", err)
		old.Line.SetFaults(fault.Faults{})
		return "", nil
	}
	if !alive {
		if err := s.scrap(old); err != nil {
			return "", err
		}
	}
	s.replaced++
	for _, a := range replaced.Lost {
		s.givenUp[fmt.Sprintf("%s/%d", a.Job, a.Attempt)] = true
	}
	next, err := s.fleet.Machine(fmt.Sprintf("%d-%s", s.replaced+1, name), name, "install")
	if err != nil {
		return "", err
	}
	if err := s.equip(next, old.Key); err != nil {
		return "", err
	}
	if err := s.fleet.Register(ctx, next, replaced.RegistrationToken); err != nil {
		return "", err
	}
	s.fleet.Installers[name] = next
	if !alive {
		return fmt.Sprintf("%s, which had died; %d attempts were lost", old.Name, len(replaced.Lost)), nil
	}
	s.returned = append(s.returned, old)
	backoff.Pause(ctx, upTo(r, 20*time.Second)) // long enough for the new one to do the same work
	old.Line.SetFaults(fault.Faults{})
	return fmt.Sprintf("%s, which came back; %d attempts were lost", old.Name, len(replaced.Lost)), nil
}

// scrap removes a machine for good: its processes and its disk.
func (s *soak) scrap(m *fleet.Runner) error {
	for {
		if err := m.Kill(); err != nil {
			return err
		}
		left, err := s.jobsOf(m)
		if err != nil {
			return err
		}
		for _, p := range left {
			if _, err := fault.Kill(p); err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return os.RemoveAll(m.Dir)
		}
	}
}
