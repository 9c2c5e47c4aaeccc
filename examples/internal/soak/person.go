package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// decide plays the people at the vendor until ctx ends: they change things, and approve, reject and
// cancel. A command that fails because the control plane is down is retried in a later round.
func (s *soak) decide(ctx context.Context) error {
	r := s.random(2)
	for step := 1; backoff.Pause(ctx, 300*time.Millisecond); step++ {
		s.approve(ctx, r)
		all, err := s.installs(ctx)
		if err != nil {
			continue
		}
		for _, i := range all {
			s.treat(ctx, r, i, step)
		}
		if r.IntN(100) == 0 {
			s.did("push", s.changeModule(ctx))
		}
	}
	return nil
}

// treat performs one random action on an install.
func (s *soak) treat(ctx context.Context, r *rand.Rand, i api.Install, step int) {
	draw := r.IntN(1000)
	switch i.Status {
	case "current":
		if draw < 40 {
			s.do(ctx, "deprovision", "installs", "deprovision", i.Name, "--yes")
			return
		}
		s.update(ctx, r, i, step)
	case "deprovisioned":
		s.do(ctx, "provision again", "deploy", i.Name)
	case "stalled":
		s.settle(ctx, r, i.Name)
	case "rejected":
		if draw < 500 {
			s.do(ctx, "ask again", "deploy", i.Name)
		}
	default:
		switch {
		case draw < 15:
			s.update(ctx, r, i, step) // the new values supersede the running workflow
		case draw < 25:
			s.cancel(ctx, i)
		}
	}
}

// settle handles a stalled install by its reason: it resolves contested states, or requests a retry.
func (s *soak) settle(ctx context.Context, r *rand.Rand, install string) {
	var states []api.ComponentState
	if err := s.fleet.JSON(ctx, &states, "state", "list", install); err != nil {
		s.say("state list: %v", err)
	}
	decided := false
	for _, state := range states {
		for _, version := range state.Contested {
			verb := "dismiss"
			if r.IntN(3) == 0 && !decided {
				verb = "restore"
			}
			decided = true
			if verb == "dismiss" { // the next plan starts from an older state, so a person must approve it
				s.do(ctx, "require approvals", "installs", "update", install, "--approval", "prompt")
			}
			s.do(ctx, verb, "state", verb, install, state.Component, fmt.Sprint(version.Version), "--reason",
				"the soak has looked at it")
		}
	}
	if !decided {
		s.do(ctx, "retry", "deploy", install)
	}
}

// cancel cancels what runs on an install.
func (s *soak) cancel(ctx context.Context, i api.Install) {
	var all []api.Workflow
	if err := s.fleet.JSON(ctx, &all, "workflows", "list", "--install", i.Name); err != nil {
		return
	}
	for _, w := range all {
		if w.Status == "running" {
			s.do(ctx, "cancel", "workflows", "cancel", w.ID, "--reason", "the soak changes its mind")
			return
		}
	}
}

// update sets new values on an install, so that it is behind.
func (s *soak) update(ctx context.Context, r *rand.Rand, i api.Install, step int) {
	s.do(ctx, "update", "installs", "update", i.Name, "--input", fmt.Sprintf("step=s%d", step), "--input",
		fmt.Sprintf("lines=%d", 1+r.IntN(15)))
}

// approve answers pending approvals, mostly with yes.
func (s *soak) approve(ctx context.Context, r *rand.Rand) {
	for _, id := range s.waiting(ctx) {
		if r.IntN(50) == 0 {
			s.do(ctx, "reject", "reject", id, "--reason", "the soak says no")
			continue
		}
		s.do(ctx, "approve", "approve", id)
	}
}

// waiting returns the pending approvals, as far as the control plane can be reached.
func (s *soak) waiting(ctx context.Context) []string {
	out, err := s.fleet.Nuon(ctx, "review", "-o", "name")
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}

// do runs a command as a person, and counts it if it succeeds.
func (s *soak) do(ctx context.Context, what string, args ...string) {
	_, err := s.fleet.Nuon(ctx, args...)
	s.did(what, err)
}

func (s *soak) did(what string, err error) {
	if err != nil {
		s.say("%s: %v", what, err)
		return
	}
	if what != "approve" {
		s.say("%s", what)
	}
	s.note(s.figures.Decisions, what)
}
