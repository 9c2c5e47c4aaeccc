package control

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListRunners implements GET /v1/runners.
func (s *Server) ListRunners(ctx context.Context, _ ListRunnersRequestObject) (ListRunnersResponseObject, error) {
	var list api.RunnerList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewRunners(ctx, tx.Org)
		list.Items = each(rows, viewRunner)
		return err
	})
	return ListRunners200JSONResponse(list), err
}

// CreateRunner implements POST /v1/runners.
func (s *Server) CreateRunner(ctx context.Context, r CreateRunnerRequestObject) (CreateRunnerResponseObject, error) {
	var made api.CreatedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, registration, err := s.rooms.AddRunner(ctx, tx, *r.Body)
		if err != nil {
			return err
		}
		made = api.CreatedRunner{Runner: viewRunner(row), RegistrationToken: registration}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.create", row.ID, map[string]any{"name": row.Name, "kind": row.Kind})
	})
	return CreateRunner201JSONResponse(made), err
}

func viewRunner(r store.Runner) api.Runner { return dispatch.ViewRunner(r, time.Now()) }
