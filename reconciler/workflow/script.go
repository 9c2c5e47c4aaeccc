package workflow

import (
	"slices"
)

// This file is the core's part of scripts: no action begins before an approver has approved, for this install, what it runs.

// Script is what an action would run now, as far as it is not rendered.
type Script struct {
	Digest   string
	Approved bool   // an approver has approved this digest for this install
	Rejected string // why an approver has not, as a sentence; empty when nobody has said no
	By       string // who rejected it
}

// Question is an approval of scripts that waits for an answer.
type Question struct {
	ID      string
	Digests []string
}

// covers reports whether a yes to the question approves a script.
func (q *Question) covers(digest string) bool { return q != nil && slices.Contains(q.Digests, digest) }

// unseen reports whether a step has still to run a script about which no approver has said anything.
func (s *Step) unseen() bool {
	return s.Kind == StepAction && !s.Status.Ended() && s.Script != nil && !s.Script.Approved && s.Script.Rejected == ""
}

// unseen returns the digests of the scripts that the workflow has still to run and about which no approver has said anything, sorted.
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

// unseenWith returns the digests of the scripts that are shown with a component's plan, so that one answer approves both: its own, and those
// around all components, unless they are asked about already.
func (g *Graph) unseenWith(component string) []string {
	return g.unseenOf(func(s *Step) bool {
		return (s.Component == "" || s.Component == component) && !g.Question.covers(s.Script.Digest)
	})
}

// run begins an action whose script is approved for this install, or asks about it.
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

// unasked takes back that an action waits for an approver, because it may not begin now whatever is answered.
func (s *Step) unasked(why string) []Command {
	if s.Status != StepWaiting {
		return nil
	}
	return []Command{Set{s.ID, StepPending, why}}
}

// actions takes the actions on. All scripts that nobody has seen are asked about together.
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
