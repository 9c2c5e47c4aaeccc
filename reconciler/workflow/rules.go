package workflow

// This file decides which rule approves a plan without an individual answer. It is pure.

// Authority is what approved a plan.
type Authority string

// The authorities. A plan that is not approved has none.
const (
	ByPerson       Authority = "person"   // an answer about just this plan
	ByInstallRule  Authority = "install"  // the install's approval settings
	ByWorkflowRule Authority = "workflow" // an approver's rule for the whole workflow
)

// WorkflowRule is an approver's rule for one workflow. It approves the workflow's plans until the
// workflow ends, except for those that need an individual answer.
type WorkflowRule struct {
	By   string // the approver
	Void string // why it approves nothing now, e.g. its approver's token was revoked; empty if it is in force
}

// allowsWorkflowRule reports whether workflows of the kind can have an approver's rule. The other
// kinds destroy, restore or run a script.
func (k Kind) allowsWorkflowRule() bool { return k == KindProvision || k == KindDeploy }

// approvalRules holds what approves plans of a workflow without an answer.
type approvalRules struct {
	kind     Kind
	install  Rule
	workflow *WorkflowRule // nil for none
}

func (g *Graph) approvalRules() approvalRules { return approvalRules{g.Kind, g.Rule, g.WorkflowRule} }

// installRuleApproves reports whether the install's rule approves a plan, with the reason.
func (r approvalRules) installRuleApproves(plan *Plan) (bool, string) {
	switch r.kind {
	case KindTeardown:
		return false, "destroying a component always requires approval"
	case KindRestore:
		return false, "restoring a state version always requires approval"
	}
	return r.install.approves(plan.Destructive, plan.individualReason())
}

// individualReason returns why the plan requires an individual approval, or "" if it does not. A rejected change is
// planned again when a person requests that, and this person may not be an approver.
func (p *Plan) individualReason() string {
	switch {
	case p.RejectedBy != "":
		return p.RejectedBy + " rejected an earlier plan of this change"
	case p.IndividualApproval:
		return "a finding of the plan requires a separate approval"
	}
	return ""
}

// workflowRuleApproves reports whether an approver's rule for the workflow approves a plan,
// with the reason. It approves nothing that destroys or replaces something, even if
// the install's rule would.
func (r approvalRules) workflowRuleApproves(plan *Plan, destroy bool) (bool, string) {
	switch {
	case r.workflow == nil:
		return false, "it was revoked"
	case r.workflow.Void != "":
		return false, r.workflow.Void
	case !r.kind.allowsWorkflowRule(), destroy, plan.Destructive:
		return false, "it does not cover plans that delete or replace something"
	case plan.individualReason() != "":
		return false, plan.individualReason()
	}
	return true, "by the rule for the whole workflow"
}

// lapsed returns why the rule that approved a plan would not approve it now. It
// returns "" if the rule still would, or if a person approved the plan.
func (r approvalRules) lapsed(plan *Plan, destroy bool) string {
	switch plan.Authority {
	case ByInstallRule:
		if lets, why := r.installRuleApproves(plan); !lets {
			return "the install's rule has changed: " + why
		}
	case ByWorkflowRule:
		if lets, why := r.workflowRuleApproves(plan, destroy); !lets {
			return "the rule of " + plan.DecidedBy + " for the workflow does not hold: " + why
		}
	}
	return ""
}

// approveByRule returns the command that approves the group's plan by a rule, or nil and the
// reason if the plan needs an answer.
func (gr stepGroup) approveByRule(plan *Plan) (c Command, why string) {
	lets, why := gr.g.approvalRules().installRuleApproves(plan)
	if lets {
		return ApproveByInstallRule{gr.approve.ID, why}, ""
	}
	if gr.g.WorkflowRule == nil {
		return nil, why
	}
	if c, why = gr.approveByWorkflowRule(plan); c != nil {
		return c, ""
	}
	return nil, "the rule of " + gr.g.WorkflowRule.By + " for the workflow does not approve it: " + why
}

// approveByWorkflowRule is approveByRule for the approver's rule alone. It does not cover a plan
// that is shown together with scripts that no approver has seen.
func (gr stepGroup) approveByWorkflowRule(plan *Plan) (c Command, why string) {
	lets, why := gr.g.approvalRules().workflowRuleApproves(plan, gr.plan.Destroy)
	switch {
	case !lets:
		return nil, why
	case len(gr.g.unseenScriptsWith(gr.plan.Component)) > 0:
		return nil, "its scripts were not approved for this install"
	}
	return ApproveByWorkflowRule{gr.approve.ID, gr.g.WorkflowRule.By, why}, ""
}
