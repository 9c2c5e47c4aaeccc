package workflow

import "slices"

// Graph is one workflow as Advance sees it: what was asked, how far each step is, what jobs found, and what is wanted now. It is
// plain data; ids are opaque.
type Graph struct {
	Kind         Kind
	PlanOnly     bool // it plans and shows, and neither asks nor applies
	Status       Status
	Cancelled    *Cancellation // nil until a person ends the workflow
	Rule         Rule
	WorkflowRule *WorkflowRule   // of an approver, for this workflow; nil for none
	Steps        []*Step         // in the order in which they were composed: sync, plan, approve, apply of a component stand together
	Wants        map[string]Want // by component
	Question     *Question       // about scripts, that waits for an answer; nil for none
}

// Cancellation is a person's word that the workflow is to end.
type Cancellation struct{ Actor, Reason string }

// Rule is what an install lets through without asking.
type Rule struct {
	ApproveAll   bool   // everything but plans that delete or replace
	AllowDestroy bool   // with ApproveAll: those too
	By           string // who set it; empty when nobody is recorded
}

// Step is one step and what is known of its work.
type Step struct {
	ID         string
	Kind       StepKind
	Component  string
	Action     string
	Trigger    string  // of an action: what makes it run
	Script     *Script // of an action that has not ended: what it would run; nil when the app has no such action
	Destroy    bool
	Needs      []string // ids of steps that must have ended before this one begins
	Status     StepStatus
	Reason     string
	Tries      int    // of a sync or plan step: how often it was begun for what is wanted now
	Broken     int    // how many of these tries did not fail, but were interrupted, lost or stale
	Job        *Job   // the step's newest job, if it had one
	Plan       *Plan  // of a plan step: the plan that its newest job made
	Passed     bool   // a person skipped it
	RejectedBy string // who said no to its plan or script; empty when nobody did
	Begun      bool   // of an apply step: an apply before this one began and did not end well, so something may have been deployed
}

// JobStatus is how a step's job is or ended, as far as a workflow cares.
type JobStatus string

// The statuses of a job as a workflow sees them.
const (
	JobOpen      JobStatus = "open" // queued, offered or running
	JobSucceeded JobStatus = "succeeded"
	JobFailed    JobStatus = "failed"
	JobStale     JobStatus = "stale" // an apply that saw that the world had moved, and did nothing; an action that was not let begin
	JobCancelled JobStatus = "cancelled"
	JobLost      JobStatus = "lost" // its process is gone and left no result
)

// Job is the facts of a step's newest job.
type Job struct {
	ID         string
	Status     JobStatus
	Desired    string // of a sync or plan job: the desired digest that it is for
	WithPlan   bool   // of a sync: there is no job, the plan copies what is missing
	Cancelling bool   // it has been told to end
	Error      string // one sentence, for people
}

// stopped reports whether a job ended before it was done because it was told to. While nobody cancels the workflow, what is wanted
// was something else then.
func (j *Job) stopped() bool {
	return j.Status == JobCancelled || j.Cancelling && j.Status != JobSucceeded
}

// Plan is the facts of a plan.
type Plan struct {
	ID          string
	Status      PlanStatus
	Desired     string    // the desired digest that it leads to
	Destructive bool      // it deletes or replaces something
	Individual  bool      // a finding requires that a person approves it by itself
	Approval    string    // id of the question about it; empty when it was never asked
	content     string    // digest of what the approval binds to; set where a rule approves
	Authority   Authority // by what it was approved
	By, Because string    // who said yes or no, and why
}

// Want is what the install wants of a component now, and how far that is.
type Want struct {
	Digest  string // desired digest; empty while it is not known
	Reason  string // what moved, in words
	Absent  bool   // it is to be destroyed
	Waits   string // why Digest is not known or must not be planned yet; empty when it may
	Stuck   bool   // Waits will not go away without a person or a new revision
	Current bool   // applied = desired
	Refused string // why nobody is to be asked about Digest again; empty when it may be planned
	Retries int    // how often a failure is tried again by itself
}

// group is the steps of one component and what is wanted of it. A restore has no sync, for it needs no artifact; a workflow that
// only plans has neither approve nor apply.
type group struct {
	sync, plan, approve, apply *Step
	want                       Want
	g                          *Graph
}

// groups gives the groups that lead to an apply, in the order of their plan steps. A component's steps stand together.
func (g *Graph) groups() []group {
	all := make([]group, 0, len(g.Steps)/4)
	for i, s := range g.Steps {
		if in := g.groupAt(i); s.Kind == StepPlan && in.apply != nil {
			all = append(all, in)
		}
	}
	return all
}

// groupAt is the group whose plan step is the i-th.
func (g *Graph) groupAt(i int) group {
	in := group{plan: g.Steps[i], want: g.want(g.Steps[i].Component), g: g}
	beside := func(i int, kind StepKind) *Step {
		if i < 0 || i >= len(g.Steps) || g.Steps[i].Kind != kind || g.Steps[i].Component != in.plan.Component {
			return nil
		}
		return g.Steps[i]
	}
	in.sync, in.approve, in.apply = beside(i-1, StepSync), beside(i+1, StepApprove), beside(i+2, StepApply)
	return in
}

// steps are those that the group has, in their order.
func (in group) steps() []*Step {
	var all []*Step
	for _, s := range []*Step{in.sync, in.plan, in.approve, in.apply} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// want is what is wanted of a component. One that the install knows nothing of is never planned.
func (g *Graph) want(component string) Want {
	if w, ok := g.Wants[component]; ok {
		return w
	}
	return Want{Waits: component + " is no part of this install", Stuck: true}
}

func (g *Graph) step(id string) *Step {
	for _, s := range g.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// done says that a step which others need has ended well. An apply that had nothing to do has: its component was as it is wanted,
// or its plan had no changes.
func (g *Graph) done(s *Step) bool {
	if s.Status == StepSucceeded {
		return true
	}
	if s.Kind != StepApply || s.Status != StepSkipped {
		return false
	}
	for _, in := range g.groups() {
		if in.apply == s {
			plan := in.plan.Plan
			return in.plan.Status == StepSucceeded && in.approve.Status == StepSkipped && (plan == nil || plan.Status == PlanEmpty)
		}
	}
	return false
}

// open says whether the step has a job that has not ended.
func (s *Step) open() bool { return s.Job != nil && s.Job.Status == JobOpen }

// ended says whether the whole group has ended.
func (in group) ended() bool {
	return !slices.ContainsFunc(in.steps(), func(s *Step) bool { return !s.Status.Ended() })
}

// moved says why what the group works on is no longer what is wanted, or nothing.
func (in group) moved(desired string) string {
	switch w := in.want; {
	case w.Absent && in.plan.Destroy && w.Current:
		return "" // it is gone, as this group wanted it
	case w.Absent && !in.plan.Destroy:
		return in.plan.Component + " is no longer wanted"
	case !w.Absent && in.plan.Destroy:
		return in.plan.Component + " is wanted again"
	case w.Waits != "" && w.Stuck:
		return "it waits for what will not come by itself: " + w.Waits
	case w.Waits == "" && w.Digest != desired:
		return "superseded by a newer desired: " + w.Reason
	}
	return ""
}

// held says that the group may not go on just now, though it may later.
func (in group) held() bool { return in.want.Waits != "" && !in.want.Stuck }
