package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// GetPlan implements GET /v1/plans/{plan}.
func (s *Server) GetPlan(ctx context.Context, r GetPlanRequestObject) (GetPlanResponseObject, error) {
	var out api.Plan
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ShowPlan(ctx, tx.Org, r.Plan)
		if err != nil {
			return named("plan", r.Plan, err)
		}
		out = api.Plan{
			ID: p.ID, Status: api.PlanStatus(p.Status), Install: p.Install, InstallID: p.InstallID, App: p.App,
			Component: p.Component,
			Workflow:  p.WorkflowID, Destroy: p.Destroy, Destructive: p.Destructive, Reason: p.Reason, Report: p.Report,
			CreatedAt: p.CreatedAt,
		}
		return nil
	})
	return GetPlan200JSONResponse(out), err
}
