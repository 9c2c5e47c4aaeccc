package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// rest repairs what an operator would repair, and waits until nothing changes any more and every
// install is in its desired state. People still answer pending approvals, but start nothing new.
func (s *soak) rest(ctx context.Context) error {
	for _, r := range append(s.runners(), s.returned...) {
		r.Line.SetFaults(fault.Faults{})
		if err := r.Start(); err != nil {
			return err
		}
	}
	if err := s.fleet.Registry.Up(); err != nil {
		return err
	}
	if err := s.fleet.StartReplicas(ctx); err != nil {
		return err
	}
	s.say("everything is mended; waiting for rest")
	r := s.random(3)
	deadline, said, saidAt := time.Now().Add(s.Rest), "", time.Time{}
	for quiet := 0; quiet < 3; {
		moving, err := s.moving(ctx, r)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			moving = []string{err.Error()}
		}
		if quiet++; len(moving) > 0 {
			quiet = 0
			if moving[0] != said || time.Since(saidAt) > 30*time.Second {
				said, saidAt = moving[0], time.Now()
				s.say("not at rest: %s (and %d more)", said, len(moving)-1)
			}
		}
		if time.Now().After(deadline) {
			s.figures.Unfinished = moving
			return nil
		}
		if !backoff.Pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// moving returns what has not settled, and performs the actions of people for it.
func (s *soak) moving(ctx context.Context, r *rand.Rand) ([]string, error) {
	s.approveAll(ctx)
	all, err := s.installs(ctx)
	if err != nil {
		return nil, err
	}
	var moving []string
	for _, i := range all {
		switch i.Status {
		case "current", "deprovisioned":
			continue
		case "stalled", "rejected":
			s.settle(ctx, r, i.Name)
		}
		moving = append(moving, fmt.Sprintf("install %s is %s: %s", i.Name, i.Status, i.Reason))
	}
	rows, err := s.query(ctx, unfinished)
	if err != nil {
		return nil, err
	}
	moving = append(moving, rows...)
	left, err := s.undelivered()
	return append(moving, left...), err
}

// undelivered returns the results in the spools of runners. It ignores jobs that a replaced machine
// was offered and never started.
func (s *soak) undelivered() ([]string, error) {
	spooled, err := filepath.Glob(s.path("runners", "*", "spool", "*"))
	if err != nil {
		return nil, err
	}
	var left []string
	for _, attempt := range spooled {
		began, err := filepath.Glob(filepath.Join(attempt, "started.json"))
		if err != nil {
			return nil, err
		}
		replaced := slices.ContainsFunc(s.returned,
			func(m *fleet.Runner) bool { return strings.HasPrefix(attempt, m.Dir+"/") })
		if len(began) > 0 || !replaced {
			left = append(left, "not delivered: "+attempt)
		}
	}
	return left, nil
}

// approveAll approves everything that is pending.
func (s *soak) approveAll(ctx context.Context) {
	for _, id := range s.waiting(ctx) {
		s.do(ctx, "approve", "approve", id)
	}
}

// query queries the database read-only and without row-level security, which no part of the product
// does. Each row is a sentence.
func (s *soak) query(ctx context.Context, sql string) ([]string, error) {
	c, err := pgx.Connect(ctx, s.fleet.Database.DSN())
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is in flight on it
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
