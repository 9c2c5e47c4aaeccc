package workflow

import "slices"

// Command is one action that Advance requests. Graph.Apply applies it to the graph, the
// engine to the database and the job queue. Each carries its reason as a sentence for people.
type Command interface{ command() }

// Begin starts the job of a pending step: a plan, the apply of an approved plan, or an action.
type Begin struct{ Step, Reason string }

// Stop cancels the open job of a step. The step waits until the job has ended.
type Stop struct{ Step, Reason string }

// Ask requests approval of the group's plan; the approve step waits for the answer.
type Ask struct{ Step, Reason string }

// AskScripts requests approval of scripts in one question, which replaces one that
// may already wait. The step waits for the answer.
type AskScripts struct {
	Step    string
	Digests []string
	Reason  string
}

// EndQuestion withdraws the question about scripts.
type EndQuestion struct{ Reason string }

// Allow approves the group's plan by the install's rule.
type Allow struct{ Step, Reason string }

// ApproveByRule approves the group's plan by an approver's rule for the workflow,
// also while the plan waits for an answer.
type ApproveByRule struct{ Step, By, Reason string }

// Set changes the status of a step that has no open job, or only its reason.
type Set struct {
	Step   string
	To     StepStatus
	Reason string
}

// Deny fails an approval, or an action that has not started, because a person rejected its plan or
// script.
type Deny struct{ Step, By, Reason string }

// EndPlan moves a plan to a status in which it can never be applied (again), and
// withdraws a pending question about it.
type EndPlan struct {
	Step   string // the plan step
	To     PlanStatus
	Reason string
}

// Again resets a component's group so that it is planned again. Fresh: for the
// current desired state, so the whole group restarts and its tries are counted
// from zero; otherwise an artifact that was already copied is not copied again.
// Broken: the previous try did not fail but was interrupted, lost or stale.
type Again struct {
	Component string
	Fresh     bool
	Broken    bool
	Reason    string
}

// Refuse records that the component's current desired state is not to be started
// again automatically.
type Refuse struct {
	Component, Desired string
	Kind               RefusalKind
	Actor, Reason      string
}

// Renew resets a step that has ended to pending, because a person requested it.
type Renew struct{ Step, Reason string }

// Forgive deletes a component's refusals. Own: only those that this workflow recorded, not earlier
// rejections.
type Forgive struct {
	Component string
	Own       bool
}

// Pass skips a step because a person chose to continue without it.
type Pass struct{ Step, Reason string }

// Finish ends the workflow.
type Finish struct {
	Status  Status
	Outcome string
}

func (Begin) command()         {}
func (Stop) command()          {}
func (Ask) command()           {}
func (Allow) command()         {}
func (ApproveByRule) command() {}
func (AskScripts) command()    {}
func (EndQuestion) command()   {}
func (Set) command()           {}
func (Deny) command()          {}
func (EndPlan) command()       {}
func (Again) command()         {}
func (Refuse) command()        {}
func (Renew) command()         {}
func (Forgive) command()       {}
func (Pass) command()          {}
func (Finish) command()        {}

// itsRule is the approver of a plan that the install's rule approved.
const itsRule = "the install's rule"

// Apply applies a command to the graph, so that Advance can be called again without reloading
// it. A step that starts gets an open job without an id until the engine enqueues it.
func (g *Graph) Apply(c Command) {
	switch c := c.(type) {
	case Begin:
		g.begin(g.step(c.Step), c.Reason)
	case Stop:
		g.step(c.Step).Job.Cancelling = true
	case Ask:
		g.set(c.Step, StepWaiting, c.Reason)
	case AskScripts:
		g.Question = &Question{Digests: c.Digests}
		g.set(c.Step, StepWaiting, c.Reason)
	case EndQuestion:
		g.Question = nil
	case Allow:
		in := g.group(g.step(c.Step).Component)
		in.plan.Plan.approved(ByInstallRule, itsRule, c.Reason)
		g.set(c.Step, StepSucceeded, c.Reason)
	case ApproveByRule:
		plan := g.group(g.step(c.Step).Component).plan.Plan
		plan.approved(ByWorkflowRule, c.By, c.Reason)
		g.set(c.Step, StepSucceeded, said("approved", plan))
	case Set:
		g.set(c.Step, c.To, c.Reason)
	case Deny:
		g.set(c.Step, StepFailed, c.Reason)
		g.step(c.Step).RejectedBy = c.By
	case EndPlan:
		g.step(c.Step).Plan.Status = c.To
	case Again:
		g.again(c)
	case Refuse:
		w := g.Wants[c.Component]
		w.Refused = c.Reason
		g.Wants[c.Component] = w
	case Renew:
		g.renew(g.step(c.Step), c.Reason)
	case Forgive:
		// The graph does not record which workflow a refusal comes from. The desired
		// state is loaded again anyway.
		if w := g.Wants[c.Component]; !c.Own {
			w.Refused = ""
			g.Wants[c.Component] = w
		}
	case Pass:
		g.set(c.Step, StepSkipped, c.Reason)
		g.step(c.Step).Passed = true
	case Finish:
		g.Status = c.Status
	}
}

// approved records that a rule approved the plan.
func (p *Plan) approved(as Authority, by, because string) {
	p.Status, p.Authority, p.By, p.Because = PlanApproved, as, by, because
}

func (g *Graph) renew(s *Step, reason string) {
	if apply := g.group(s.Component).apply; apply != nil && s.Plan != nil && s.Plan.Status == PlanFailed {
		apply.Begun = true
	}
	s.Status, s.Reason, s.Passed, s.RejectedBy, s.Tries, s.Broken, s.Job, s.Plan =
		StepPending, reason, false, "", 0, 0, nil, nil
}

func (g *Graph) set(id string, to StepStatus, reason string) {
	s := g.step(id)
	s.Status, s.Reason = to, reason
}

func (g *Graph) begin(s *Step, reason string) {
	s.Status, s.Reason = StepRunning, reason
	s.Job = &Job{Status: JobOpen}
	if s.Kind == StepSync || s.Kind == StepPlan {
		s.Tries++
		s.Job.Desired = g.want(s.Component).Digest
	}
}

func (g *Graph) again(c Again) {
	in := g.group(c.Component)
	if in.apply != nil {
		in.apply.Begun = in.apply.Begun || in.plan.Plan != nil && in.plan.Plan.Status == PlanFailed
	}
	for i, s := range in.setBack(c) {
		s.Tries, s.Broken = c.counts(i, s)
		s.Status, s.Reason, s.RejectedBy, s.Job, s.Plan = StepPending, c.Reason, "", nil, nil
	}
}

// counts returns the tries of the i-th step that Again resets, and how many
// of them were interrupted. Only the first step counts an interruption.
func (c Again) counts(i int, s *Step) (tries, broken int) {
	switch {
	case c.Fresh:
		return 0, 0
	case c.Broken && i == 0:
		return s.Tries, s.Broken + 1
	}
	return s.Tries, s.Broken
}

// setBack returns the steps that Again resets.
func (in group) setBack(c Again) []*Step {
	if !c.Fresh && in.sync != nil && in.sync.Status == StepSucceeded {
		return in.steps()[1:]
	}
	return in.steps()
}

// group returns the group of a component, or the zero group if the graph has none.
func (g *Graph) group(component string) group {
	i := slices.IndexFunc(g.Steps, func(s *Step) bool { return s.Kind == StepPlan && s.Component == component })
	if i < 0 {
		return group{}
	}
	return g.groupAt(i)
}
