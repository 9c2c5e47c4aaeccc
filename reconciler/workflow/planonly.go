package workflow

import "fmt"

// This file is the core of a workflow that only plans. Each of its steps stands alone, nothing is asked or applied, nothing is
// remembered against what is wanted, and nothing waits: what cannot be planned now is said.

// look takes such a workflow on.
func (g *Graph) look() []Command {
	var todo []Command
	for _, s := range g.Steps {
		todo = append(todo, g.lookAt(s)...)
	}
	if len(todo) == 0 && g.allEnded() {
		return []Command{g.looked()}
	}
	return todo
}

func (g *Graph) lookAt(s *Step) []Command {
	want := g.want(s.Component)
	switch {
	case s.Status.Ended():
		return nil
	case s.Status == StepRunning:
		return g.lookEnded(s)
	case g.Cancelled != nil:
		return []Command{Set{s.ID, StepCancelled, g.Cancelled.words()}}
	case want.Absent != s.Destroy:
		return []Command{Set{s.ID, StepSkipped, fmt.Sprintf("%s is not to be %s", s.Component, verb(s.Destroy))}}
	case want.Current:
		return []Command{Set{s.ID, StepSucceeded, "nothing to do: " + s.Component + " is as it is wanted"}}
	case want.Waits != "":
		return []Command{Set{s.ID, StepSkipped, "cannot be planned yet: " + want.Waits}}
	}
	return []Command{Begin{s.ID, sentence(want.Reason, s.Reason)}}
}

// lookEnded waits for the plan, and says what it found. It is made once: who wants another asks again.
func (g *Graph) lookEnded(s *Step) []Command {
	switch {
	case s.open() && g.Cancelled != nil && !s.Job.Cancelling:
		return []Command{Stop{s.ID, g.Cancelled.words()}}
	case s.open():
		return nil
	case s.Plan != nil && s.Plan.Status == PlanReady:
		return []Command{EndPlan{s.ID, PlanSuperseded, plannedOnly}, Set{s.ID, StepSucceeded, plannedOnly}}
	case s.Plan != nil:
		return []Command{Set{s.ID, StepSucceeded, "planned only: " + g.unchanged()}}
	case s.Job == nil || s.Job.Status == JobLost:
		return []Command{Set{s.ID, StepFailed, "the job that planned it was lost"}}
	case s.Job.Status == JobCancelled:
		return []Command{Set{s.ID, StepCancelled, sentence(s.Job.Error, "its plan was cancelled")}}
	}
	return []Command{Set{s.ID, StepFailed, sentence(s.Job.Error, "the plan failed")}}
}

// plannedOnly is why the plan of such a workflow is never applied.
const plannedOnly = "planned only: it is shown, and never applied"

// looked says how such a workflow ended.
func (g *Graph) looked() Finish {
	var changed, same int
	var failed, skipped, cancelled []string
	for _, s := range g.Steps {
		switch s.Status {
		case StepSucceeded:
			if s.Plan != nil && s.Plan.Status == PlanSuperseded {
				changed++
			} else {
				same++
			}
		case StepFailed:
			failed = append(failed, s.Component+": "+s.Reason)
		case StepCancelled:
			cancelled = append(cancelled, s.Component)
		default:
			skipped = append(skipped, s.Component+": "+s.Reason)
		}
	}
	words := count(count(nil, changed, "with changes"), same, "without changes")
	words = closing(append(append(words, failed...), skipped...), cancelled)
	words[0] = "planned only: " + words[0]
	return g.outcome(words, changed+same, len(failed), len(cancelled), len(skipped))
}
