package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file stores the rules of approvers for whole workflows, and checks them where they are used.

// storedRule is an approver's rule for a workflow as it is stored.
type storedRule struct {
	By     string    `json:"by"`
	Token  string    `json:"token"` // id of the token; the permission ends with it
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	Void   string    `json:"void,omitempty"` // why it approves nothing since a change of the install
}

func decodeRule(w store.Workflow) (*storedRule, error) {
	if len(w.Rule) == 0 {
		return nil, nil
	}
	var kept storedRule
	if err := json.Unmarshal(w.Rule, &kept); err != nil {
		return nil, fmt.Errorf("decode the rule of workflow %s: %w", w.ID, err)
	}
	return &kept, nil
}

// ApproverRules returns the approvers' rules for workflows, by workflow id, each with the reason
// why it is void, if it is. An approver's permission is that of the token that created the rule.
func ApproverRules(ctx context.Context, tx *store.Tx, workflows ...store.Workflow) (map[string]api.WorkflowRule,
	error) {
	kept, ids := map[string]*storedRule{}, []string{}
	for _, w := range workflows {
		rule, err := decodeRule(w)
		if err != nil {
			return nil, err
		}
		if rule != nil {
			kept[w.ID], ids = rule, append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.RulesOfWorkflows(ctx, tx.Org, ids)
	if err != nil {
		return nil, fmt.Errorf("rules of %d workflows: %w", len(ids), err)
	}
	now := map[string]store.RulesOfWorkflowsRow{}
	for _, row := range rows {
		now[row.ID] = row
	}
	all := map[string]api.WorkflowRule{}
	for _, w := range workflows {
		if of := kept[w.ID]; of != nil {
			all[w.ID] = of.toAPI(w, now[w.ID])
		}
	}
	return all, nil
}

// toAPI returns the rule, with the reason why it is void, if it is.
func (k *storedRule) toAPI(w store.Workflow, now store.RulesOfWorkflowsRow) api.WorkflowRule {
	rule := api.WorkflowRule{By: k.By, At: k.At, Reason: k.Reason}
	switch {
	case w.Status != string(Running): // its rule ended with it
	case k.Void != "":
		rule.Void = k.Void
	case !now.MayApprove:
		rule.Void = k.By + " can no longer approve: the token was revoked or has expired"
	case checkOwnChange(store.Install{ApprovalsByOthers: now.ApprovalsByOthers, DesiredBy: now.DesiredBy}, w.RequestedBy,
		true, k.By) != nil:
		rule.Void = "the install does not allow people to approve what they requested themselves"
	}
	return rule
}

// workflowRule returns the approver's rule as the core needs it.
func (x *executor) workflowRule(ctx context.Context) (*WorkflowRule, error) {
	all, err := ApproverRules(ctx, x.tx, x.row)
	rule, has := all[x.row.ID]
	if !has || err != nil {
		return nil, err
	}
	return &WorkflowRule{By: rule.By, Void: rule.Void}, nil
}

// Approver is the person who gives a rule for a workflow.
type Approver struct {
	Name, Token string // as authenticated; Token is an id
	Reason      string // may be empty
}

// ApproveWorkflow records an approver's rule for a running provision or deploy. It
// approves the plans of the workflow until it ends, including those that already
// wait, but not those that need an individual answer. A second call by the same
// approver changes nothing; a workflow has one rule at a time. The caller checks the
// permission, and writes the audit event. Errors: store.ErrNotFound; a *refusal.Error.
func ApproveWorkflow(ctx context.Context, tx *store.Tx, workflowID string, by Approver) error {
	if len(by.Reason) > maxReasonBytes {
		return reasonTooLong()
	}
	row, install, err := lockRunning(ctx, tx, workflowID, "There is nothing left to approve.")
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s %d of %s", row.Kind, row.Number, install.Name)
	rules, err := ApproverRules(ctx, tx, row)
	if err != nil {
		return err
	}
	was, ruled := rules[row.ID]
	switch {
	case row.Cancelled:
		return conflict(CodeWorkflowEnded, "There is nothing left to approve.", "%s is being cancelled", what)
	case row.PlanOnly || !Kind(row.Kind).allowsWorkflowRule():
		return conflict(CodeNotCovered, "Approve each plan (nuon review).",
			"only a provision or a deploy can be approved as a whole, and this is %s", describeWorkflow(row))
	}
	if err := checkOwnChange(install, row.RequestedBy, true, by.Name); err != nil {
		return err
	}
	switch {
	case ruled && was.Void == "" && was.By == by.Name:
		return nil
	case ruled && was.Void == "":
		return conflict(CodeHasRule, "Nothing to do; nuon approve --workflow "+row.ID+" --revoke revokes it.",
			"%s approves %s already", was.By, what)
	}
	raw, err := encode(storedRule{By: by.Name, Token: by.Token, At: tx.Now().UTC().Truncate(time.Second),
		Reason: by.Reason})
	if err != nil {
		return err
	}
	return setWorkflowRule(ctx, tx, row, raw)
}

func describeWorkflow(w store.Workflow) string {
	if w.PlanOnly {
		return "a " + w.Kind + " that only plans"
	}
	return "a workflow of the kind " + w.Kind
}

// RevokeWorkflowRule deletes an approver's rule. Plans that it approved and that no
// runner has taken yet are planned and approved again. The caller writes the audit
// event. Errors: store.ErrNotFound; a *refusal.Error.
func RevokeWorkflowRule(ctx context.Context, tx *store.Tx, workflowID string) error {
	row, install, err := lockRunning(ctx, tx, workflowID, "Its rule, if it had one, ended with it.")
	if err != nil {
		return err
	}
	if len(row.Rule) == 0 {
		return conflict(CodeNoRule, "There is nothing to revoke.", "%s %d of %s was not approved as a whole", row.Kind,
			row.Number, install.Name)
	}
	return setWorkflowRule(ctx, tx, row, nil)
}

// VoidRules ends the approvers' rules for the running workflows of a locked install, because a person changed what the
// workflows plan: an approver has not seen that. changed names what was changed.
func VoidRules(ctx context.Context, tx *store.Tx, installID, actor, changed string) error {
	why := fmt.Sprintf("%s changed %s of the install afterwards", actor, changed)
	voided, err := tx.VoidWorkflowRules(ctx, why, tx.Org, installID)
	if err != nil {
		return fmt.Errorf("end the rules for the workflows of install %s: %w", installID, err)
	}
	for _, id := range voided {
		if err := tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: id}); err != nil {
			return err
		}
	}
	return nil
}

// lockRunning reads a running workflow under the lock of its install.
func lockRunning(ctx context.Context, tx *store.Tx, workflowID, ended string) (row store.Workflow,
	install store.Install, err error) {
	if row, err = tx.FindWorkflow(ctx, tx.Org, workflowID); err != nil {
		return row, install, fmt.Errorf("workflow %s: %w", workflowID, err)
	}
	if install, err = tx.LockInstall(ctx, tx.Org, row.InstallID); err != nil {
		return row, install, fmt.Errorf("workflow %s: %w", workflowID, err)
	}
	if row, err = tx.FindWorkflow(ctx, tx.Org, workflowID); err != nil {
		return row, install, fmt.Errorf("workflow %s: %w", workflowID, err)
	}
	if row.Status != string(Running) {
		return row, install, conflict(CodeWorkflowEnded, ended, "%s %d of %s has ended: %s", row.Kind, row.Number,
			install.Name, row.Status)
	}
	return row, install, nil
}

func setWorkflowRule(ctx context.Context, tx *store.Tx, row store.Workflow, rule json.RawMessage) error {
	if err := expectOneRow(tx.SetWorkflowRule(ctx, rule, tx.Org, row.ID)); err != nil {
		return fmt.Errorf("set the rule of workflow %s: %w", row.ID, err)
	}
	if err := tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+row.ID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: row.ID})
}

// approveByWorkflowRule approves a plan by an approver's rule for the workflow, in the name
// of the approver.
func (x *executor) approveByWorkflowRule(ctx context.Context, c ApproveByWorkflowRule) error {
	kept, err := decodeRule(x.row)
	if err != nil {
		return err
	}
	if kept == nil || kept.By != c.By {
		return errRowChanged
	}
	reason := c.Reason
	if kept.Reason != "" {
		reason += ": " + kept.Reason
	}
	rule := api.ApprovalRule{Workflow: x.row.ID, By: kept.By, At: kept.At}
	words := "approved by " + kept.By + ": " + reason
	if err := x.approvePlan(ctx, c.Step, ruleApproval{actor: kept.By, reason: reason, text: words,
		rule: rule}); err != nil {
		return err
	}
	plan := x.planOf(c.Step)
	detail := map[string]any{
		"kind": ApprovalOfPlan, "install": x.install.ID, "content_digest": plan.contentDigest, "reason": reason,
		"plan":     plan.ID,
		"workflow": x.row.ID, "rule": rule,
	}
	if err := x.tx.Audit(ctx, kept.By, "approval.approve", plan.Approval, detail); err != nil {
		return err
	}
	return x.setStepStatus(ctx, c.Step, StepSucceeded, words)
}
