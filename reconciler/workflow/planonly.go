package workflow

import "fmt"

// This file is the core of a workflow that only plans. Each component is independent:
// its sync, then its plan. Nothing is approved or applied, no refusal is recorded,
// and nothing waits: the workflow reports what cannot be planned now.

// advancePlanOnly returns the next commands of a plan-only workflow.
func (g *Graph) advancePlanOnly() []Command {
	var todo []Command
	for i, s := range g.Steps {
		if s.Kind == StepPlan {
			todo = append(todo, g.groupAt(i).nextPlanOnly()...)
		}
	}
	if len(todo) == 0 && g.allEnded() {
		return []Command{g.planOnlyResult()}
	}
	return todo
}

func (gr stepGroup) nextPlanOnly() []Command {
	want, name := gr.desired, gr.plan.Component
	switch {
	case gr.ended():
		return nil
	case gr.sync.Status == StepRunning:
		return gr.handlePlanOnlySync()
	case gr.plan.Status == StepRunning:
		return gr.handlePlanOnlyPlan()
	case gr.g.Cancelled != nil:
		return gr.endWithoutPlan(StepCancelled, gr.g.Cancelled.text())
	case want.Absent != gr.plan.Destroy:
		return gr.endWithoutPlan(StepSkipped, fmt.Sprintf("%s should not be %s", name, pastVerb(gr.plan.Destroy)))
	case want.Current:
		return gr.endWithoutPlan(StepSucceeded, "nothing to do: "+name+" is up to date")
	case want.WaitReason != "":
		return gr.endWithoutPlan(StepSkipped, "cannot be planned yet: "+want.WaitReason)
	case gr.sync.Status == StepPending:
		return []Command{StartStep{gr.sync.ID, orDefault(want.Reason, gr.sync.Reason)}}
	case gr.syncedDigest() != want.Digest:
		return []Command{Replan{Component: name, Fresh: true, Reason: "superseded by a newer desired state: " + want.Reason}}
	}
	return []Command{StartStep{gr.plan.ID, orDefault(want.Reason, gr.plan.Reason)}}
}

// endWithoutPlan ends the remaining steps of a component that is not planned. Without a plan,
// no artifact is copied.
func (gr stepGroup) endWithoutPlan(to StepStatus, why string) []Command {
	todo := []Command{SetStatus{gr.plan.ID, to, why}}
	if !gr.sync.Status.Ended() {
		return append([]Command{SetStatus{gr.sync.ID, StepSkipped, why}}, todo...)
	}
	return todo
}

// handlePlanOnlySync waits for the job that copies the artifact.
func (gr stepGroup) handlePlanOnlySync() []Command {
	if stop, open := gr.checkOpenJob(gr.sync); open {
		return stop
	}
	if gr.sync.Job != nil && gr.sync.Job.Status == JobSucceeded {
		return []Command{SetStatus{gr.sync.ID, StepSucceeded, gr.sync.Job.syncReason()}}
	}
	if again := gr.replanInterrupted(gr.sync, "its sync was interrupted"); again != nil {
		return again
	}
	to, why := gr.sync.failureStatus("the job that copied its artifact was lost", "its sync was cancelled",
		"the sync failed")
	return []Command{SetStatus{gr.sync.ID, to, why}, SetStatus{gr.plan.ID, StepSkipped, why}}
}

// handlePlanOnlyPlan waits for the plan, and records what it found. The plan is made once, apart from
// interruptions; for another one, a person requests a new workflow.
func (gr stepGroup) handlePlanOnlyPlan() []Command {
	s := gr.plan
	stop, open := gr.checkOpenJob(s)
	switch {
	case open:
		return stop
	case s.Plan != nil && s.Plan.Status == PlanReady:
		return []Command{ClosePlan{s.ID, PlanSuperseded, plannedOnlyReason}, SetStatus{s.ID, StepSucceeded,
			plannedOnlyReason}}
	case s.Plan != nil:
		return []Command{SetStatus{s.ID, StepSucceeded, "planned only: " + gr.g.unchangedReason()}}
	}
	if again := gr.replanInterrupted(s, "its plan was interrupted"); again != nil {
		return again
	}
	to, why := s.failureStatus("the job that planned it was lost", "its plan was cancelled", "the plan failed")
	return []Command{SetStatus{s.ID, to, why}}
}

// checkOpenJob reports whether the job of a step runs, with the command that stops it if
// the workflow was cancelled.
func (gr stepGroup) checkOpenJob(s *Step) (stop []Command, open bool) {
	if s.hasOpenJob() && gr.g.Cancelled != nil {
		return gr.cancelJob(s, gr.g.Cancelled.text()), true
	}
	return nil, s.hasOpenJob()
}

// replanInterrupted restarts a step whose job was interrupted or lost, up to maxInterruptedTries times,
// unless the workflow was cancelled.
func (gr stepGroup) replanInterrupted(s *Step, why string) []Command {
	interrupted := s.Job == nil || s.Job.Status == JobLost || s.Job.Status == JobCancelled
	if !interrupted || gr.g.Cancelled != nil || s.Interruptions+1 >= maxInterruptedTries {
		return nil
	}
	return []Command{Replan{Component: gr.plan.Component, Interrupted: true,
		Reason: fmt.Sprintf("%s (try %d of at most %d)", why, s.Interruptions+2, maxInterruptedTries)}}
}

// failureStatus returns the final status and reason of a step whose job did not succeed.
func (s *Step) failureStatus(lost, cancelled, failed string) (StepStatus, string) {
	switch {
	case s.Job == nil || s.Job.Status == JobLost:
		return StepFailed, lost
	case s.Job.Status == JobCancelled:
		return StepCancelled, orDefault(s.Job.Error, cancelled)
	}
	return StepFailed, orDefault(s.Job.Error, failed)
}

// plannedOnlyReason is why the plan of a plan-only workflow is never applied.
const plannedOnlyReason = "planned only: it is shown, and never applied"

// planOnlyResult returns the final status and summary of a plan-only workflow.
func (g *Graph) planOnlyResult() FinishWorkflow {
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
	words := appendCount(appendCount(nil, changed, "with changes"), same, "without changes")
	words = completeSummary(append(append(words, failed...), skipped...), cancelled)
	words[0] = "planned only: " + words[0]
	return g.newFinish(words, changed+same, len(failed), len(cancelled), len(skipped))
}
