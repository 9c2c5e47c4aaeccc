package runners

import (
	"context"

	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Service registers runners and checks their tokens. It is safe for concurrent use.
type Service struct {
	store      *store.Store
	claims     *cloudclaim.Service // nil: no machine can register by its cloud identity
	registered func(context.Context, *store.Tx, store.Runner) error
}

// New returns the service.
func New(s *store.Store) *Service { return &Service{store: s} }

// UseClaims enables the registration of machines by their cloud identity. Call UseClaims before the
// service is used.
func (s *Service) UseClaims(claims *cloudclaim.Service) { s.claims = claims }

// OnRegistered sets a function to call in the transaction in which a runner registers and its
// public key becomes known. Call OnRegistered before the service is used.
func (s *Service) OnRegistered(call func(context.Context, *store.Tx, store.Runner) error) {
	s.registered = call
}
