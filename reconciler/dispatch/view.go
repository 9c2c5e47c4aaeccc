package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// IsOnline reports whether a runner was seen recently.
func IsOnline(runner store.Runner, now time.Time) bool {
	return runner.KeyHash != nil && runner.LastSeen != nil && now.Sub(*runner.LastSeen) < Online
}

// Unable returns why a runner takes no job at all now, as text for people, or an empty text if it
// takes some.
func Unable(runner store.Runner, now time.Time) string {
	switch policy := KeptPolicy(runner); {
	case runner.KeyHash == nil:
		return "runner " + runner.Name + " is not registered"
	case !IsOnline(runner, now):
		return "runner " + runner.Name + " is offline"
	case takesNone(policy) && policy.Reason != "":
		return fmt.Sprintf("runner %s takes no jobs now (%s)", runner.Name, policy.Reason)
	case takesNone(policy):
		return "runner " + runner.Name + " takes no jobs now"
	}
	return ""
}

// ViewRunner returns the API representation of a runner at the time now, without its attempts.
func ViewRunner(runner store.Runner, now time.Time) api.Runner {
	return api.Runner{
		ID: runner.ID, Name: runner.Name, Kind: api.RunnerKind(runner.Kind), Shared: runner.Shared,
		Registered: runner.KeyHash != nil,
		Online:     IsOnline(runner, now), Version: runner.Version, Capacity: int(runner.Capacity),
		LastSeen:     orZero(runner.LastSeen),
		RegisteredAt: orZero(runner.RegisteredAt), KeySince: orZero(runner.KeySince), KeyID: keyIDOf(runner),
		Policy: KeptPolicy(runner),
	}
}

// InHand returns the attempts that a runner was offered or is at work on, as far as is known.
func InHand(ctx context.Context, tx *store.Tx, runner string) ([]api.RunnerAttempt, error) {
	rows, err := tx.AttemptsInHand(ctx, tx.Org, runner)
	if err != nil {
		return nil, fmt.Errorf("what runner %s has in hand: %w", runner, err)
	}
	attempts := make([]api.RunnerAttempt, 0, len(rows))
	for _, row := range rows {
		attempts = append(attempts, api.RunnerAttempt{
			Job: row.Job.ID, Attempt: int(row.Attempt.Number), Kind: row.Job.Kind,
			Status: row.Attempt.Status, Install: row.Install,
			OfferedAt: row.Attempt.OfferedAt, LeaseUntil: row.Attempt.LeaseUntil,
		})
	}
	return attempts, nil
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
