package workflow

import (
	"slices"
)

// This file is the core's part of script approval: no action starts before an
// approver has approved, for this install, what it runs.

// Script is what an action would run now, before its templates are rendered.
type Script struct {
	Digest   string
	Approved bool   // an approver has approved this digest for this install
	Rejected string // why an approver rejected it, as a sentence; empty if it was not rejected
	By       string // who rejected it
}

// Question is a pending approval request for scripts.
type Question struct {
	ID      string
	Digests []string
}

// covers reports whether approving the question approves a script.
func (q *Question) covers(digest string) bool { return q != nil && slices.Contains(q.Digests, digest) }

// unseen reports whether a step still has to run a script that no approver has
// approved or rejected.
func (s *Step) unseen() bool {
	return s.Kind == StepAction && !s.Status.Ended() && s.Script != nil && !s.Script.Approved && s.Script.Rejected == ""
}

// unseen returns the digests of the scripts that the workflow still has to run and
// that no approver has approved or rejected, sorted.
func (g *Graph) unseen() []string { return g.unseenOf(func(*Step) bool { return true }) }

func (g *Graph) unseenOf(counts func(*Step) bool) []string {
	var digests []string
	for _, s := range g.Steps {
		if s.unseen() && counts(s) {
			digests = append(digests, s.Script.Digest)
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// unseenWith returns the digests of the unseen scripts that are shown with a
// component's plan, so that one answer approves both: those of its own actions and of
// the actions around all components, except for scripts that a pending question covers.
func (g *Graph) unseenWith(component string) []string {
	return g.unseenOf(func(s *Step) bool {
		return (s.Component == "" || s.Component == component) && !g.Question.covers(s.Script.Digest)
	})
}

// run starts an action whose script is approved for this install, or requests that approval.
func (g *Graph) run(s *Step) []Command {
	script := s.Script
	switch {
	case script != nil && script.Rejected != "":
		return []Command{Deny{s.ID, script.By, script.Rejected}}
	case script != nil && !script.Approved && !g.Question.covers(script.Digest):
		return []Command{AskScripts{s.ID, g.unseen(), "no approver has seen its script for this install"}}
	case script != nil && !script.Approved && s.Status != StepWaiting:
		return []Command{Set{s.ID, StepWaiting, "its script waits for an approver"}}
	case script != nil && !script.Approved:
		return nil
	case s.Status == StepWaiting:
		return []Command{Set{s.ID, StepPending, "its script is approved"}}
	}
	return []Command{Begin{s.ID, s.Reason}}
}

// unasked ends an action's wait for an approver, because the action must not start now, even if its
// script is approved.
func (s *Step) unasked(why string) []Command {
	if s.Status != StepWaiting {
		return nil
	}
	return []Command{Set{s.ID, StepPending, why}}
}

// actions returns the commands for the workflow's actions. All unseen scripts go into one approval
// request.
func (g *Graph) actions() []Command {
	var todo []Command
	asked := false
	for _, s := range g.Steps {
		if s.Kind != StepAction {
			continue
		}
		for _, c := range g.act(s) {
			if _, asks := c.(AskScripts); asks && asked {
				continue
			} else if asks {
				asked = true
			}
			todo = append(todo, c)
		}
	}
	return todo
}

// answerless withdraws a question that no action waits for any more.
func (g *Graph) answerless() []Command {
	waits := func(s *Step) bool { return s.Kind == StepAction && s.Status == StepWaiting }
	if g.Question == nil || slices.ContainsFunc(g.Steps, waits) {
		return nil
	}
	return []Command{EndQuestion{"no action of the workflow waits for it any more"}}
}
