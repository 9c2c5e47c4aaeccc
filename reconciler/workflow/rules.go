package workflow

// This file decides which rule approves a plan without an answer about just that plan. It is pure.

// Authority is by what a plan is approved.
type Authority string

// The authorities. A plan that nobody has approved has none.
const (
	ByPerson       Authority = "person"   // an answer about just this plan
	ByInstallRule  Authority = "install"  // the install's approval settings
	ByWorkflowRule Authority = "workflow" // an approver's rule for the whole workflow
)

// WorkflowRule is an approver's rule for one workflow: it approves what the workflow plans until the workflow ends, but for what only an
// answer about just that plan approves.
type WorkflowRule struct {
	By   string // the approver
	Void string // why it approves nothing now, such as that the approver's token was revoked; empty when it does
}

// covers reports whether workflows of the kind can have a rule of an approver. The others destroy, restore or run a script.
func (k Kind) covers() bool { return k == KindProvision || k == KindDeploy }

// rules are what approves plans of a workflow without an answer.
type rules struct {
	kind     Kind
	install  Rule
	workflow *WorkflowRule // nil for none
}

func (g *Graph) rules() rules { return rules{g.Kind, g.Rule, g.WorkflowRule} }

// byInstall reports whether the install's rule approves a plan, and why or why not.
func (r rules) byInstall(plan *Plan) (bool, string) {
	switch r.kind {
	case KindTeardown:
		return false, "to destroy a component always needs a person"
	case KindRestore:
		return false, "to put a state version back always needs a person"
	}
	return r.install.lets(plan.Destructive, plan.Individual)
}

// byWorkflow reports whether an approver's rule for the workflow approves a plan, and why or why not. It approves nothing that destroys
// or replaces something, whatever the install's rule is.
func (r rules) byWorkflow(plan *Plan, destroy bool) (bool, string) {
	switch {
	case r.workflow == nil:
		return false, "it was taken back"
	case r.workflow.Void != "":
		return false, r.workflow.Void
	case !r.kind.covers(), destroy, plan.Destructive:
		return false, "it covers nothing that deletes or replaces something"
	case plan.Individual:
		return false, "a finding of the plan requires that a person approves it by itself"
	}
	return true, "by the rule for the whole workflow"
}

// lapsed returns why a plan that a rule approved would not be approved by the same rule now; empty when it would, and for a plan that a
// person approved.
func (r rules) lapsed(plan *Plan, destroy bool) string {
	switch plan.Authority {
	case ByInstallRule:
		if lets, why := r.byInstall(plan); !lets {
			return "the install's rule has changed: " + why
		}
	case ByWorkflowRule:
		if lets, why := r.byWorkflow(plan, destroy); !lets {
			return "the rule of " + plan.By + " for the workflow does not hold: " + why
		}
	}
	return ""
}

// byRule returns the command that approves the group's plan by a rule; nil when the plan needs an answer, with the reason.
func (in group) byRule(plan *Plan) (c Command, why string) {
	lets, why := in.g.rules().byInstall(plan)
	if lets {
		return Allow{in.approve.ID, why}, ""
	}
	if in.g.WorkflowRule == nil {
		return nil, why
	}
	if c, why = in.byWorkflowRule(plan); c != nil {
		return c, ""
	}
	return nil, "the rule of " + in.g.WorkflowRule.By + " for the workflow does not approve it: " + why
}

// byWorkflowRule is byRule for the approver's rule alone. It does not cover a plan that is shown with scripts that no approver has seen.
func (in group) byWorkflowRule(plan *Plan) (c Command, why string) {
	lets, why := in.g.rules().byWorkflow(plan, in.plan.Destroy)
	switch {
	case !lets:
		return nil, why
	case len(in.g.unseenWith(in.plan.Component)) > 0:
		return nil, "it comes with scripts that no approver has seen for this install"
	}
	return ApproveByRule{in.approve.ID, in.g.WorkflowRule.By, why}, ""
}
