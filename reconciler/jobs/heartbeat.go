package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// maxHeartbeatAttempts is the maximum number of attempts in one heartbeat.
const maxHeartbeatAttempts = 2 * runners.MaxCapacity

// Heartbeat extends the leases of a runner's attempts in one statement and returns an order for
// each. An attempt that had lost contact is in contact again, unless another has taken its place.
func (s *Service) Heartbeat(ctx context.Context, caller runners.Caller, beat api.Heartbeat) (api.HeartbeatAnswer,
	error) {
	if len(beat.Attempts) > maxHeartbeatAttempts {
		return api.HeartbeatAnswer{}, refusal.Invalidf("a heartbeat can have at most %d attempts, not %d",
			maxHeartbeatAttempts, len(beat.Attempts))
	}
	extend := store.ExtendLeasesParams{
		OrgID: caller.Org, RunnerID: caller.Runner, LeaseSeconds: timing.Lease.Seconds(), Jobs: []string{},
		Numbers: []int32{},
	}
	for _, ref := range beat.Attempts {
		if !Addressable(caller, ref) {
			return api.HeartbeatAnswer{}, refusal.Invalidf("invalid attempt %d of job %q", ref.Attempt,
				runners.PrintableShort(ref.Job))
		}
		extend.Jobs, extend.Numbers = append(extend.Jobs, ref.Job), append(extend.Numbers, int32(ref.Attempt))
	}
	answer := api.HeartbeatAnswer{LeaseSeconds: int(timing.Lease.Seconds())}
	err := s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if err := runners.RecordSeen(ctx, tx, caller.Runner, beat.Version, nil); err != nil {
			return err
		}
		rows, err := tx.ExtendLeases(ctx, extend)
		if err != nil {
			return err
		}
		answer.Attempts = slices.Grow([]api.AttemptOrder{}, len(rows))
		for _, row := range rows {
			answer.Attempts = append(answer.Attempts, orderOf(row))
			if row.Extended && AttemptStatus(row.AttemptStatus) == AttemptExpired {
				if err := tx.SetJobWaits(ctx, "", tx.Org, row.JobID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return api.HeartbeatAnswer{}, fmt.Errorf("heartbeat of runner %s: %w", caller.Runner, err)
	}
	return answer, nil
}

// orderOf returns the order to a runner for one attempt: cancel it if that was requested, or, if it
// was superseded, finish and deliver it. An attempt that is unknown here or belongs to another
// runner counts as superseded, so that its runner drops it.
func orderOf(row store.ExtendLeasesRow) api.AttemptOrder {
	order := api.AttemptOrder{Job: row.JobID, Attempt: int(row.Number)}
	if row.Extended {
		order.Cancel = row.Cancel
		return order
	}
	switch AttemptStatus(row.AttemptStatus) {
	case AttemptOffered, AttemptSucceeded, AttemptFailed, AttemptCancelled, AttemptLost:
		// Not accepted yet, or delivered already: no order.
	default:
		order.Superseded = true
	}
	return order
}
