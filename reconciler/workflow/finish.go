package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// finish returns the final status and summary of a workflow whose steps have all ended.
func (g *Graph) finish() Finish {
	var done, same, actions int
	var failed, cancelled, skipped []string
	stuck, rejected := false, 0
	for _, in := range g.groups() {
		switch name := in.plan.Component; {
		case in.apply.Status == StepSucceeded:
			done++
		case in.g.done(in.apply):
			same++
		case in.failure() != nil:
			failed = append(failed, name+": "+in.failure().Reason)
			if in.failure().RejectedBy != "" {
				rejected++
			}
		case slices.ContainsFunc(in.steps(), func(s *Step) bool { return s.Status == StepCancelled }):
			cancelled = append(cancelled, name)
		default:
			skipped = append(skipped, fmt.Sprintf("%s skipped%s", name, in.because()))
			stuck = stuck || in.stuck()
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
	words = count(words, done, g.verb())
	words = count(words, same, "without changes")
	if actions == 1 {
		words = append(words, "1 action run")
	} else {
		words = count(words, actions, "actions run")
	}
	words = closing(append(append(words, failed...), skipped...), cancelled)
	f := g.outcome(words, done+same+actions, len(failed), len(cancelled), len(skipped))
	switch {
	case f.Status == Failed && rejected == len(failed):
		f.Status = Rejected
	case stuck && f.Status == Succeeded:
		f.Status = Failed
	}
	return f
}

// stuck reports whether nothing will deploy what a skipped group was to deploy: it waits for
// a change that only a person or another version of the app can make, or it was refused. It
// returns false if a person skipped the group, or a step that it needs, on purpose.
func (in group) stuck() bool {
	w := in.want
	if w.Current || w.Absent != in.plan.Destroy || w.Refused == "" && (w.Waits == "" || !w.Stuck) {
		return false
	}
	return !in.g.passedOver(in.steps())
}

// passedOver reports whether a person skipped one of the steps, or a step that they need.
func (g *Graph) passedOver(steps []*Step) bool {
	return slices.ContainsFunc(steps, func(s *Step) bool {
		var needs []*Step
		for _, id := range s.Needs {
			if need := g.step(id); need != nil {
				needs = append(needs, need)
			}
		}
		return s.Passed && s.Kind != StepAction || g.passedOver(needs)
	})
}

// closing completes the summary of a workflow, which is never empty.
func closing(words, cancelled []string) []string {
	if len(cancelled) > 0 {
		words = append(words, "cancelled: "+strings.Join(cancelled, ", "))
	}
	if len(words) == 0 {
		words = []string{"nothing to do"}
	}
	return words
}

func (g *Graph) outcome(words []string, well, failed, cancelled, skipped int) Finish {
	return Finish{Status: g.end(well, failed, cancelled, skipped), Outcome: strings.Join(words, "; ")}
}

// verb returns the past participle of what the workflow does to components.
func (g *Graph) verb() string {
	if g.Kind == KindRestore {
		return "restored"
	}
	return verb(g.Kind.destroys())
}

func (g *Graph) end(well, failed, cancelled, skipped int) Status {
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

func count(words []string, n int, what string) []string {
	if n == 0 {
		return words
	}
	return append(words, fmt.Sprintf("%d %s", n, what))
}

// because returns why a group was skipped, unless the reason of a failed step already states it.
func (in group) because() string {
	for _, s := range in.g.Steps {
		another := s.Kind == StepAction || s.Component != in.plan.Component
		if another && s.Status == StepFailed && s.Reason != "" && strings.Contains(in.apply.Reason, s.Reason) {
			return ""
		}
	}
	if by, person := strings.CutPrefix(in.apply.Reason, skippedBy); person {
		return " by " + by
	}
	return ": " + in.apply.Reason
}

// failure returns the step at which the group failed, or nil.
func (in group) failure() *Step {
	for _, s := range in.steps() {
		if s.Status == StepFailed {
			return s
		}
	}
	return nil
}
