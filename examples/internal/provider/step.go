package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// The steps of an object, which are the keys of the maps slow, fail and crash.
const (
	stepPlan   = "plan"
	stepRead   = "read"
	stepCreate = "create"
	stepUpdate = "update"
	stepDelete = "delete"
)

var steps = []string{stepPlan, stepRead, stepCreate, stepUpdate, stepDelete}

// untilInterrupt is the duration of a step that takes until it is interrupted.
const untilInterrupt = "interrupt"

// crashed is the exit code of a provider that crashes.
const crashed = 3

// errInterrupted is the error of a step that reacts to an interrupt.
var errInterrupted = errors.New("the step was interrupted before it had done anything")

// take performs one step with all the trouble that the object configures. It calls middle in the
// middle of the step's duration, and end at its end; either may be nil. Failures occur at the end,
// crashes in the middle.
func (s *service) take(ctx context.Context, step string, on traits, middle, end func() error) error {
	s.note(step, on.name, "begins")
	if err := s.wait(ctx, step, on, 0, 5); err != nil {
		return err
	}
	if middle != nil {
		if err := middle(); err != nil {
			return err
		}
	}
	crash, err := s.again(step, "crash", on.name, on.crash[step])
	if err != nil {
		return err
	}
	if crash {
		s.note(step, on.name, "crashes")
		fmt.Fprintf(os.Stderr, "the provider crashes in mid-%s of %s, as it was told to\n", step, on.name)
		os.Exit(crashed)
	}
	if err := s.wait(ctx, step, on, 5, 10); err != nil {
		return err
	}
	fail, err := s.again(step, "fail", on.name, on.fail[step])
	if err != nil {
		return err
	}
	if fail {
		s.note(step, on.name, "fails")
		return fmt.Errorf("%s of %s fails, as it was told to (its value is %q)", step, on.name, on.value)
	}
	if end != nil {
		if err := end(); err != nil {
			return err
		}
	}
	s.note(step, on.name, "ends")
	return nil
}

// wait waits from tenth first to tenth last of the step's duration, and notes each tenth. The interrupt that some
// steps wait for is in the first half.
func (s *service) wait(ctx context.Context, step string, on traits, first, last int) error {
	tenth := on.slow[step] / 10
	if on.held[step] && first == 0 {
		s.note(step, on.name, "waits for an interrupt")
		<-ctx.Done()
		if !on.deaf {
			s.note(step, on.name, "is interrupted")
			return errInterrupted
		}
	}
	if on.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	for done := first; done < last && tenth > 0; done++ {
		timer := time.NewTimer(tenth)
		select {
		case <-timer.C:
			s.note(step, on.name, fmt.Sprintf("is at %d %%", (done+1)*10))
		case <-ctx.Done():
			timer.Stop()
			s.note(step, on.name, "is interrupted")
			return errInterrupted
		}
	}
	return nil
}
