package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// finalResult returns the final status and summary of a workflow whose steps have all ended.
func (g *Graph) finalResult() FinishWorkflow {
	var done, same, actions int
	var failed, cancelled, skipped []string
	var missing followers
	stuck, rejected := false, 0
	for _, gr := range g.groups() {
		switch name := gr.plan.Component; {
		case gr.apply.Status == StepSucceeded:
			done++
		case gr.g.isDone(gr.apply):
			same++
		case gr.failedStep() != nil:
			failed = append(failed, name+": "+gr.failedStep().Reason)
			if gr.failedStep().RejectedBy != "" {
				rejected++
			}
		case slices.ContainsFunc(gr.steps(), func(s *Step) bool { return s.Status == StepCancelled }):
			cancelled = append(cancelled, name)
		default:
			if blocking := gr.blockedBy(); blocking != "" {
				missing.add(blocking, name)
			} else {
				skipped = append(skipped, fmt.Sprintf("%s skipped%s", name, gr.skipReason()))
			}
			stuck = stuck || gr.isStuck()
		}
	}
	for _, s := range g.Steps {
		switch {
		case s.Kind != StepAction:
		case s.Status == StepSucceeded:
			actions++
		case s.Status == StepFailed:
			failed = append(failed, "action "+s.Action+": "+s.Reason)
			if s.RejectedBy != "" {
				rejected++
			}
		case s.Status == StepCancelled:
			cancelled = append(cancelled, "action "+s.Action)
		}
	}
	var words []string
	words = appendCount(words, done, g.pastVerb())
	words = appendCount(words, same, "without changes")
	if actions == 1 {
		words = append(words, "1 action run")
	} else {
		words = appendCount(words, actions, "actions run")
	}
	skipped = append(skipped, missing.summaries(g.pastVerb())...)
	words = completeSummary(append(append(words, failed...), skipped...), cancelled)
	f := g.newFinish(words, done+same+actions, len(failed), len(cancelled), len(skipped))
	switch {
	case f.Status == Failed && rejected == len(failed):
		f.Status = Rejected
	case stuck && f.Status == Succeeded:
		f.Status = Failed
	}
	return f
}

// followers are the components that were skipped because of others, by those, in the order of the steps.
type followers struct {
	blocking []string
	skipped  map[string][]string
}

func (f *followers) add(blocking, skipped string) {
	if f.skipped == nil {
		f.skipped = map[string][]string{}
	}
	if _, known := f.skipped[blocking]; !known {
		f.blocking = append(f.blocking, blocking)
	}
	f.skipped[blocking] = append(f.skipped[blocking], skipped)
}

// summaries returns a text for each component that others needed. The reason is with that component.
func (f *followers) summaries(verb string) (all []string) {
	for _, name := range f.blocking {
		all = append(all, fmt.Sprintf("%s skipped: %s was not %s", strings.Join(f.skipped[name], ", "), name, verb))
	}
	return all
}

// missingReason returns why a step is skipped that needs another one, which is not done: what that one needed, if it
// was skipped itself.
func (g *Graph) missingReason(need *Step) string {
	if gr := g.groupOf(need.Component); gr.apply != nil && gr.blockedBy() != "" {
		return gr.apply.Reason
	}
	return fmt.Sprintf("%s was not %s: %s", need.Component, pastVerb(need.Destroy), need.Reason)
}

// blockedBy returns the component without which a group was skipped; "" if it was not skipped because of another one.
func (gr stepGroup) blockedBy() string {
	name, rest, found := strings.Cut(gr.apply.Reason, " was not ")
	if !found || gr.apply.Status != StepSkipped || name == gr.plan.Component || !strings.Contains(rest, ": ") ||
		gr.g.groupOf(name).plan == nil {
		return ""
	}
	return name
}

// isStuck reports whether nothing will deploy what a skipped group was to deploy: it waits for
// a change that only a person or another version of the app can make, or it was refused. It
// returns false if a person skipped the group, or a step that it needs, on purpose.
func (gr stepGroup) isStuck() bool {
	w := gr.desired
	if w.Current || w.Absent != gr.plan.Destroy || w.RejectionReason == "" && (w.WaitReason == "" || !w.Stalled) {
		return false
	}
	return !gr.g.skippedByPerson(gr.steps())
}

// skippedByPerson reports whether a person skipped one of the steps, or a step that they need.
func (g *Graph) skippedByPerson(steps []*Step) bool {
	return slices.ContainsFunc(steps, func(s *Step) bool {
		var needs []*Step
		for _, id := range s.Needs {
			if need := g.stepByID(id); need != nil {
				needs = append(needs, need)
			}
		}
		return s.SkippedByPerson && s.Kind != StepAction || g.skippedByPerson(needs)
	})
}

// completeSummary completes the summary of a workflow, which is never empty.
func completeSummary(words, cancelled []string) []string {
	if len(cancelled) > 0 {
		words = append(words, "cancelled: "+strings.Join(cancelled, ", "))
	}
	if len(words) == 0 {
		words = []string{"nothing to do"}
	}
	return words
}

func (g *Graph) newFinish(words []string, well, failed, cancelled, skipped int) FinishWorkflow {
	return FinishWorkflow{Status: g.finalStatus(well, failed, cancelled, skipped), Outcome: strings.Join(words, "; ")}
}

// pastVerb returns the past participle of what the workflow does to components.
func (g *Graph) pastVerb() string {
	if g.Kind == KindRestore {
		return "restored"
	}
	return pastVerb(g.Kind.destroys())
}

func (g *Graph) finalStatus(well, failed, cancelled, skipped int) Status {
	switch {
	case g.Cancelled != nil && (cancelled > 0 || failed > 0 || skipped > 0):
		return Cancelled
	case failed > 0:
		return Failed
	case cancelled > 0:
		return Cancelled
	case well == 0 && skipped > 0:
		return Superseded
	}
	return Succeeded
}

func appendCount(words []string, n int, what string) []string {
	if n == 0 {
		return words
	}
	return append(words, fmt.Sprintf("%d %s", n, what))
}

// skipReason returns why a group was skipped, unless the reason of a failed step already states it.
func (gr stepGroup) skipReason() string {
	for _, s := range gr.g.Steps {
		another := s.Kind == StepAction || s.Component != gr.plan.Component
		if another && s.Status == StepFailed && s.Reason != "" && strings.Contains(gr.apply.Reason, s.Reason) {
			return ""
		}
	}
	if by, person := strings.CutPrefix(gr.apply.Reason, skippedByPrefix); person {
		return " by " + by
	}
	return ": " + gr.apply.Reason
}

// failedStep returns the step at which the group failed, or nil.
func (gr stepGroup) failedStep() *Step {
	for _, s := range gr.steps() {
		if s.Status == StepFailed {
			return s
		}
	}
	return nil
}
