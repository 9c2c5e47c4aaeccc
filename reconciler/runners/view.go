package runners

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// IsOnline reports whether a runner was seen recently.
func IsOnline(runner store.Runner, now time.Time) bool {
	return runner.KeyHash != nil && runner.LastSeen != nil && now.Sub(*runner.LastSeen) < timing.Online
}

// UnavailableReason returns why a runner takes no job at all now, as text for people, or an empty text if it
// takes some.
func UnavailableReason(runner store.Runner, now time.Time) string {
	switch policy := ReportedPolicy(runner); {
	case runner.KeyHash == nil:
		return "runner " + runner.Name + " is not registered"
	case !IsOnline(runner, now):
		return "runner " + runner.Name + " is offline"
	case AllowsNone(policy) && policy.Reason != "":
		return fmt.Sprintf("runner %s takes no jobs now (%s)", runner.Name, policy.Reason)
	case AllowsNone(policy):
		return "runner " + runner.Name + " takes no jobs now"
	}
	return ""
}

// ByIdentity reports whether the machine of a runner registered by its cloud identity.
func ByIdentity(runner store.Runner) bool { return runner.RegisteredBy == byIdentity }

// View returns the API representation of a runner at the time now, without its attempts.
func View(runner store.Runner, now time.Time) api.Runner {
	view := api.Runner{
		ID: runner.ID, Name: runner.Name, Kind: api.RunnerKind(runner.Kind), Shared: runner.Shared,
		Registered: runner.KeyHash != nil,
		Online:     IsOnline(runner, now), Version: runner.Version, Capacity: int(runner.Capacity),
		LastSeen:     orZero(runner.LastSeen),
		RegisteredAt: orZero(runner.RegisteredAt), KeySince: orZero(runner.KeySince), KeyID: keyIDOf(runner),
		Policy: ReportedPolicy(runner), RegisteredBy: api.RunnerRegisteredBy(runner.RegisteredBy),
	}
	if subject := (api.CloudSubject{}); runner.RegisteredBy == byIdentity &&
		json.Unmarshal(runner.Identity, &subject) == nil {
		view.Identity = &subject
	}
	return view
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
