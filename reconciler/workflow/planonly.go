package workflow

import "fmt"

// This file is the core of a workflow that only plans. Each component is independent:
// its sync, then its plan. Nothing is approved or applied, no refusal is recorded,
// and nothing waits: the workflow reports what cannot be planned now.

// look returns the next commands of a plan-only workflow.
func (g *Graph) look() []Command {
	var todo []Command
	for i, s := range g.Steps {
		if s.Kind == StepPlan {
			todo = append(todo, g.groupAt(i).look()...)
		}
	}
	if len(todo) == 0 && g.allEnded() {
		return []Command{g.looked()}
	}
	return todo
}

func (in group) look() []Command {
	want, name := in.want, in.plan.Component
	switch {
	case in.ended():
		return nil
	case in.sync.Status == StepRunning:
		return in.lookSynced()
	case in.plan.Status == StepRunning:
		return in.lookEnded()
	case in.g.Cancelled != nil:
		return in.unseen(StepCancelled, in.g.Cancelled.words())
	case want.Absent != in.plan.Destroy:
		return in.unseen(StepSkipped, fmt.Sprintf("%s is not to be %s", name, verb(in.plan.Destroy)))
	case want.Current:
		return in.unseen(StepSucceeded, "nothing to do: "+name+" is as it is wanted")
	case want.Waits != "":
		return in.unseen(StepSkipped, "cannot be planned yet: "+want.Waits)
	case in.sync.Status == StepPending:
		return []Command{Begin{in.sync.ID, sentence(want.Reason, in.sync.Reason)}}
	case in.synced() != want.Digest:
		return []Command{Again{Component: name, Fresh: true, Reason: "superseded by a newer desired: " + want.Reason}}
	}
	return []Command{Begin{in.plan.ID, sentence(want.Reason, in.plan.Reason)}}
}

// unseen ends the remaining steps of a component that is not planned. Without a plan,
// no artifact is copied.
func (in group) unseen(to StepStatus, why string) []Command {
	todo := []Command{Set{in.plan.ID, to, why}}
	if !in.sync.Status.Ended() {
		return append([]Command{Set{in.sync.ID, StepSkipped, why}}, todo...)
	}
	return todo
}

// lookSynced waits for the job that copies the artifact.
func (in group) lookSynced() []Command {
	if stop, open := in.lookOpen(in.sync); open {
		return stop
	}
	if in.sync.Job != nil && in.sync.Job.Status == JobSucceeded {
		return []Command{Set{in.sync.ID, StepSucceeded, in.sync.Job.syncedAs()}}
	}
	if again := in.lookAgain(in.sync, "its sync was interrupted"); again != nil {
		return again
	}
	to, why := in.sync.ending("the job that copied its artifact was lost", "its sync was cancelled", "the sync failed")
	return []Command{Set{in.sync.ID, to, why}, Set{in.plan.ID, StepSkipped, why}}
}

// lookEnded waits for the plan, and records what it found. The plan is made once, apart from
// interruptions; for another one, a person requests a new workflow.
func (in group) lookEnded() []Command {
	s := in.plan
	stop, open := in.lookOpen(s)
	switch {
	case open:
		return stop
	case s.Plan != nil && s.Plan.Status == PlanReady:
		return []Command{EndPlan{s.ID, PlanSuperseded, plannedOnly}, Set{s.ID, StepSucceeded, plannedOnly}}
	case s.Plan != nil:
		return []Command{Set{s.ID, StepSucceeded, "planned only: " + in.g.unchanged()}}
	}
	if again := in.lookAgain(s, "its plan was interrupted"); again != nil {
		return again
	}
	to, why := s.ending("the job that planned it was lost", "its plan was cancelled", "the plan failed")
	return []Command{Set{s.ID, to, why}}
}

// lookOpen reports whether the job of a step runs, with the command that stops it if
// the workflow was cancelled.
func (in group) lookOpen(s *Step) (stop []Command, open bool) {
	if s.open() && in.g.Cancelled != nil {
		return in.stop(s, in.g.Cancelled.words()), true
	}
	return nil, s.open()
}

// lookAgain restarts a step whose job was interrupted or lost, up to mostRuns times,
// unless the workflow was cancelled.
func (in group) lookAgain(s *Step, why string) []Command {
	interrupted := s.Job == nil || s.Job.Status == JobLost || s.Job.Status == JobCancelled
	if !interrupted || in.g.Cancelled != nil || s.Broken+1 >= mostRuns {
		return nil
	}
	return []Command{Again{Component: in.plan.Component, Broken: true,
		Reason: fmt.Sprintf("%s (try %d of at most %d)", why, s.Broken+2, mostRuns)}}
}

// ending returns the final status and reason of a step whose job did not succeed.
func (s *Step) ending(lost, cancelled, failed string) (StepStatus, string) {
	switch {
	case s.Job == nil || s.Job.Status == JobLost:
		return StepFailed, lost
	case s.Job.Status == JobCancelled:
		return StepCancelled, sentence(s.Job.Error, cancelled)
	}
	return StepFailed, sentence(s.Job.Error, failed)
}

// plannedOnly is why the plan of a plan-only workflow is never applied.
const plannedOnly = "planned only: it is shown, and never applied"

// looked returns the final status and summary of a plan-only workflow.
func (g *Graph) looked() Finish {
	var changed, same int
	var failed, skipped, cancelled []string
	for i, s := range g.Steps {
		if s.Kind != StepPlan {
			continue
		}
		if sync := g.groupAt(i).sync; sync.Status == StepFailed || sync.Status == StepCancelled {
			s = sync
		}
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
