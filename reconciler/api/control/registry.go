package control

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/garbage"
)

// CollectRegistry implements POST /v1/registry/gc.
func (s *Server) CollectRegistry(ctx context.Context, r CollectRegistryRequestObject) (
	CollectRegistryResponseObject, error) {
	age := garbage.DefaultAge
	if r.Body.OlderThanSeconds != nil {
		age = time.Duration(*r.Body.OlderThanSeconds) * time.Second
	}
	who := callerOf(ctx)
	made, err := s.services.Garbage.Collect(ctx, who.org.ID, who.actor, age, r.Body.DryRun)
	return CollectRegistry200JSONResponse(made), err
}
