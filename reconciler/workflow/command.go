package workflow

import "slices"

// Command is one thing that Advance wants done. Graph.Apply does it to the graph, the engine does it to the world; each carries
// its reason as a sentence for people.
type Command interface{ command() }

// Begin starts the job of a pending step: a plan, the apply of an approved plan, or an action.
type Begin struct{ Step, Reason string }

// Stop tells the open job of a step to end. The step waits until it has.
type Stop struct{ Step, Reason string }

// Ask puts the group's plan before a person; the approve step waits for the answer.
type Ask struct{ Step, Reason string }

// AskScripts puts scripts before a person, as one question in the place of one that may wait already; the step waits for the answer.
type AskScripts struct {
	Step    string
	Digests []string
	Reason  string
}

// EndQuestion withdraws the question about scripts.
type EndQuestion struct{ Reason string }

// Allow approves the group's plan by the install's own rule.
type Allow struct{ Step, Reason string }

// ApproveByRule approves the group's plan by an approver's rule for the workflow, also when it waits for an answer.
type ApproveByRule struct{ Step, By, Reason string }

// Set moves a step that has no open job, or changes the reason of one that stays.
type Set struct {
	Step   string
	To     StepStatus
	Reason string
}

// Deny fails an approval, or an action that has not begun, because a person said no to its plan or script.
type Deny struct{ Step, By, Reason string }

// EndPlan moves a plan to a status in which it can never be applied (again), and withdraws a question that still waits.
type EndPlan struct {
	Step   string // the plan step
	To     PlanStatus
	Reason string
}

// Again sets a component's group back, to be planned anew. Fresh: for what is wanted by now, so that all of it is begun anew and its
// tries count anew. Otherwise an artifact that was copied already is not looked at again. Broken: the try that is over did not fail, it
// was interrupted, lost or stale.
type Again struct {
	Component string
	Fresh     bool
	Broken    bool
	Reason    string
}

// Refuse remembers against what is wanted now that nobody is to be asked about it again by itself.
type Refuse struct {
	Component, Desired string
	Kind               RefusalKind
	Actor, Reason      string
}

// Renew sets a step that ended back to its beginning, because a person asked for that.
type Renew struct{ Step, Reason string }

// Forgive forgets what was refused of a component. Own: only what this workflow refused, not what was said no to before.
type Forgive struct {
	Component string
	Own       bool
}

// Pass skips a step because a person said to go on without it.
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

// itsRule is who approved a plan that an install's rule let through.
const itsRule = "the install's rule"

// Apply does to the graph what a command says, so that Advance can be asked again without loading it. A begun step has an open
// job without an id until the world gives it one.
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
		// Of an own one the graph does not know whose it is; what is wanted is loaded again anyway.
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

// approved notes that a rule approved the plan.
func (p *Plan) approved(as Authority, by, because string) {
	p.Status, p.Authority, p.By, p.Because = PlanApproved, as, by, because
}

func (g *Graph) renew(s *Step, reason string) {
	if apply := g.group(s.Component).apply; apply != nil && s.Plan != nil && s.Plan.Status == PlanFailed {
		apply.Begun = true
	}
	s.Status, s.Reason, s.Passed, s.RejectedBy, s.Tries, s.Broken, s.Job, s.Plan = StepPending, reason, false, "", 0, 0, nil, nil
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

// counts returns the tries of the i-th step that Again sets back, and how many of them were broken off. The first is the one that is
// counted.
func (c Again) counts(i int, s *Step) (tries, broken int) {
	switch {
	case c.Fresh:
		return 0, 0
	case c.Broken && i == 0:
		return s.Tries, s.Broken + 1
	}
	return s.Tries, s.Broken
}

// setBack are the steps that Again sets back.
func (in group) setBack(c Again) []*Step {
	if !c.Fresh && in.sync != nil && in.sync.Status == StepSucceeded {
		return in.steps()[1:]
	}
	return in.steps()
}

// group is the group of a component; the zero one if the graph has none.
func (g *Graph) group(component string) group {
	i := slices.IndexFunc(g.Steps, func(s *Step) bool { return s.Kind == StepPlan && s.Component == component })
	if i < 0 {
		return group{}
	}
	return g.groupAt(i)
}
