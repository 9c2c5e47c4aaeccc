package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CreateLogRequest implements POST /v1/installs/{install}/log-requests.
func (s *Server) CreateLogRequest(
	ctx context.Context, r CreateLogRequestRequestObject,
) (CreateLogRequestResponseObject, error) {
	var job api.Job
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		made, err := s.services.Inspections.RequestLogs(ctx, tx, install.ID, callerOf(ctx).actor, *r.Body)
		if err != nil {
			return err
		}
		job, err = findJob(ctx, tx, made)
		return err
	})
	return CreateLogRequest201JSONResponse(job), err
}

// CreateDebugCommand implements POST /v1/installs/{install}/debug-commands.
func (s *Server) CreateDebugCommand(
	ctx context.Context, r CreateDebugCommandRequestObject,
) (CreateDebugCommandResponseObject, error) {
	var job api.Job
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		made, err := s.services.Inspections.RequestCommand(ctx, tx, install.ID, callerOf(ctx).actor, *r.Body)
		if err != nil {
			return err
		}
		job, err = findJob(ctx, tx, made)
		return err
	})
	return CreateDebugCommand201JSONResponse(job), err
}

// CancelJob implements POST /v1/jobs/{job}/cancel.
func (s *Server) CancelJob(ctx context.Context, r CancelJobRequestObject) (CancelJobResponseObject, error) {
	var job api.Job
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := findJob(ctx, tx, r.Job)
		if err != nil {
			return err
		}
		if err := inspection.Cancel(ctx, tx, found.ID, callerOf(ctx).actor); err != nil {
			return err
		}
		job, err = findJob(ctx, tx, found.ID)
		return err
	})
	return CancelJob200JSONResponse(job), err
}
