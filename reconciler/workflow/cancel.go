package workflow

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Cancel requests the end of a running workflow: running jobs are cancelled,
// and remaining steps do not start. The desired state is recorded as
// cancelled, so it is not started again automatically. Cancelling twice is no
// error. Errors: store.ErrNotFound; a *refusal.Error when the workflow has ended.
func Cancel(ctx context.Context, tx *store.Tx, workflowID, actor, reason string) error {
	if len(reason) > maxReasonBytes {
		return reasonTooLong()
	}
	row, err := tx.FindWorkflow(ctx, tx.Org, workflowID)
	if err != nil {
		return fmt.Errorf("cancel workflow %s: %w", workflowID, err)
	}
	if _, err := tx.LockInstall(ctx, tx.Org, row.InstallID); err != nil {
		return fmt.Errorf("cancel workflow %s: %w", workflowID, err)
	}
	if row, err = tx.FindWorkflow(ctx, tx.Org, workflowID); err != nil {
		return fmt.Errorf("cancel workflow %s: %w", workflowID, err)
	}
	switch {
	case row.Status != string(Running):
		return conflict(CodeWorkflowEnded, "There is nothing left to cancel.", "workflow %d has ended: %s", row.Number,
			row.Status)
	case row.Cancelled:
		return nil
	}
	asked, err := encode(WorkflowParams{Cancel: &Cancellation{Actor: actor, Reason: reason}})
	if err != nil {
		return err
	}
	if err := expectOneRow(tx.CancelWorkflow(ctx, asked, tx.Org, workflowID)); err != nil {
		return fmt.Errorf("cancel workflow %s: %w", workflowID, err)
	}
	if err := tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+workflowID); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: workflowID})
}
