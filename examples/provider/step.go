package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// The steps in an object's life, which the maps slow, fail and crash name.
const (
	stepPlan   = "plan"
	stepRead   = "read"
	stepCreate = "create"
	stepUpdate = "update"
	stepDelete = "delete"
)

var steps = []string{stepPlan, stepRead, stepCreate, stepUpdate, stepDelete}

// crashed is the exit code of a provider that crashes.
const crashed = 3

// errInterrupted is what a step says that heeds an interrupt.
var errInterrupted = errors.New("the step was interrupted before it had done anything")

// take does one step with all the trouble that the object asks for. In the middle of its time the step calls middle, at its end
// end; either may be nil. What fails fails at the end, what crashes does so in the middle.
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

// wait takes the tenths of the step's time from first up to last, and notes each.
func (s *service) wait(ctx context.Context, step string, on traits, first, last int) error {
	tenth := on.slow[step] / 10
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
