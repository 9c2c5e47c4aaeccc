package runners

import (
	"context"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Service registers runners and checks their tokens. It is safe for concurrent use.
type Service struct {
	store      *store.Store
	registered func(context.Context, *store.Tx, store.Runner) error
}

// New returns the service.
func New(s *store.Store) *Service { return &Service{store: s} }

// OnRegistered sets a function to call in the transaction in which a runner registers and its
// public key becomes known. Call OnRegistered before the service is used.
func (s *Service) OnRegistered(call func(context.Context, *store.Tx, store.Runner) error) {
	s.registered = call
}
