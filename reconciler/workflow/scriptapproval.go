package workflow

import (
	"slices"
)

// This file is the core's part of script approval: no action starts before an
// approver has approved, for this install, what it runs.

// Script is what an action would run now, before its templates are rendered.
type Script struct {
	Digest          string
	Approved        bool   // an approver has approved this digest for this install
	RejectionReason string // why an approver rejected it, as a sentence; empty if it was not rejected
	RejectedBy      string // who rejected it
}

// ScriptRequest is a pending approval request for scripts.
type ScriptRequest struct {
	ID      string
	Digests []string
}

// covers reports whether approving the question approves a script.
func (q *ScriptRequest) covers(digest string) bool {
	return q != nil && slices.Contains(q.Digests, digest)
}

// needsScriptApproval reports whether a step still has to run a script that no approver has
// approved or rejected.
func (s *Step) needsScriptApproval() bool {
	return s.Kind == StepAction && !s.Status.Ended() && s.Script != nil && !s.Script.Approved &&
		s.Script.RejectionReason == ""
}

// unseenScripts returns the digests of the scripts that the workflow still has to run and
// that no approver has approved or rejected, sorted.
func (g *Graph) unseenScripts() []string {
	return g.unseenScriptsWhere(func(*Step) bool { return true })
}

func (g *Graph) unseenScriptsWhere(counts func(*Step) bool) []string {
	var digests []string
	for _, s := range g.Steps {
		if s.needsScriptApproval() && counts(s) {
			digests = append(digests, s.Script.Digest)
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// unseenScriptsWith returns the digests of the unseen scripts that are shown with a
// component's plan, so that one answer approves both: those of its own actions and of
// the actions around all components, except for scripts that a pending question covers.
func (g *Graph) unseenScriptsWith(component string) []string {
	return g.unseenScriptsWhere(func(s *Step) bool {
		return (s.Component == "" || s.Component == component) && !g.ScriptRequest.covers(s.Script.Digest)
	})
}

// startAction starts an action whose script is approved for this install, or requests that approval.
func (g *Graph) startAction(s *Step) []Command {
	script := s.Script
	switch {
	case script != nil && script.RejectionReason != "":
		return []Command{RejectStep{s.ID, script.RejectedBy, script.RejectionReason}}
	case script != nil && !script.Approved && !g.ScriptRequest.covers(script.Digest):
		return []Command{RequestScriptApproval{s.ID, g.unseenScripts(), "its script is not approved for this install"}}
	case script != nil && !script.Approved && s.Status != StepWaiting:
		return []Command{SetStatus{s.ID, StepWaiting, "its script waits for approval"}}
	case script != nil && !script.Approved:
		return nil
	case s.Status == StepWaiting:
		return []Command{SetStatus{s.ID, StepPending, "its script is approved"}}
	}
	return []Command{StartStep{s.ID, s.Reason}}
}

// stopWaiting ends an action's wait for an approver, because the action must not start now, even if its
// script is approved.
func (s *Step) stopWaiting(why string) []Command {
	if s.Status != StepWaiting {
		return nil
	}
	return []Command{SetStatus{s.ID, StepPending, why}}
}

// advanceActions returns the commands for the workflow's actions. All unseen scripts go into one approval
// request.
func (g *Graph) advanceActions() []Command {
	var todo []Command
	asked := false
	for _, s := range g.Steps {
		if s.Kind != StepAction {
			continue
		}
		for _, c := range g.advanceAction(s) {
			if _, asks := c.(RequestScriptApproval); asks && asked {
				continue
			} else if asks {
				asked = true
			}
			todo = append(todo, c)
		}
	}
	return todo
}

// withdrawUnneededRequest withdraws a question that no action waits for any more.
func (g *Graph) withdrawUnneededRequest() []Command {
	waits := func(s *Step) bool { return s.Kind == StepAction && s.Status == StepWaiting }
	if g.ScriptRequest == nil || slices.ContainsFunc(g.Steps, waits) {
		return nil
	}
	return []Command{WithdrawScriptApproval{"no action of the workflow waits for it anymore"}}
}
