package workflow

import "fmt"

// act takes an action's step on. An action may have effects that nobody can see, so it is never run again by itself.
func (g *Graph) act(s *Step) []Command {
	switch {
	case s.Status.Ended():
		return nil
	case s.Status == StepRunning:
		return g.acting(s)
	case g.Cancelled != nil:
		return []Command{Set{s.ID, StepCancelled, "cancelled by " + g.Cancelled.Actor}}
	}
	for _, id := range s.Needs {
		need := g.step(id)
		switch {
		case need == nil || !need.Status.Ended():
			return nil
		case need.Kind == StepAction && need.Status != StepSucceeded:
			return []Command{Set{s.ID, StepSkipped, fmt.Sprintf("action %s, which comes first, did not succeed: %s", need.Action, need.Reason)}}
		case !g.done(need):
			return []Command{Set{s.ID, StepSkipped, fmt.Sprintf("%s was not %s: %s", need.Component, verb(need.Destroy), need.Reason)}}
		case need.Component == s.Component && need.Status == StepSkipped && !need.Begun:
			return []Command{Set{s.ID, StepSkipped, "nothing was deployed: " + need.Reason}}
		}
	}
	return []Command{Begin{s.ID, s.Reason}}
}

// acting waits for the action's job.
func (g *Graph) acting(s *Step) []Command {
	if s.Job == nil {
		return []Command{Set{s.ID, StepFailed, "its job is gone"}}
	}
	switch s.Job.Status {
	case JobOpen:
		if g.Cancelled != nil && !s.Job.Cancelling {
			return []Command{Stop{s.ID, "cancelled by " + g.Cancelled.Actor}}
		}
		return nil
	case JobSucceeded:
		return []Command{Set{s.ID, StepSucceeded, "the action ran"}}
	case JobCancelled:
		return []Command{Set{s.ID, StepCancelled, sentence(s.Job.Error, "the action was cancelled")}}
	case JobLost:
		return []Command{Set{s.ID, StepFailed, "the action's process is gone without a result; it may have done anything up to all of its work, and is not run again by itself"}}
	}
	return []Command{Set{s.ID, StepFailed, sentence(s.Job.Error, "the action failed")}}
}
