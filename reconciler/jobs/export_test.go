package jobs

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Seen records a waiting runner's presence, as a keepalive of a held poll does.
func (s *Service) Seen(ctx context.Context, caller runners.Caller) error {
	return s.recordSeen(ctx, caller)
}

// Waiting returns how many polls of a runner are held, and whether they have queried and found
// nothing.
func (s *Service) Waiting(caller runners.Caller) (polls int, looked bool) {
	s.polls.mu.Lock()
	defer s.polls.mu.Unlock()
	r := s.polls.runners[caller.Org+"/"+caller.Runner]
	if r == nil {
		return 0, false
	}
	return r.polls, !r.emptySince.IsZero()
}

// DecideState decides the status of a delivered state. The model of this package's invariants calls
// it; the external tests set it, because package tfstate imports this one.
var DecideState func(
	author Attempt, delivered api.State, newest *store.State, lockHolder string,
) (status, reason string)

// The statuses of a state version that the model knows.
const (
	stateKept      = "kept"
	stateContested = "contested"
	stateDismissed = "dismissed"
)
