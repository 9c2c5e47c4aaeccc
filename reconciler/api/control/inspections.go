package control

import (
	"context"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
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

// CreateShell implements POST /v1/installs/{install}/shells.
func (s *Server) CreateShell(ctx context.Context, r CreateShellRequestObject) (CreateShellResponseObject, error) {
	var job api.Job
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		made, err := s.services.Inspections.RequestShell(ctx, tx, install.ID,
			inspection.Person{Actor: callerOf(ctx).actor, Token: callerOf(ctx).token}, *r.Body)
		if err != nil {
			return err
		}
		job, err = findJob(ctx, tx, made)
		return err
	})
	return CreateShell201JSONResponse(job), err
}

// SendShellInput implements POST /v1/jobs/{job}/shell/input.
func (s *Server) SendShellInput(
	ctx context.Context, r SendShellInputRequestObject,
) (SendShellInputResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		job, err := findJob(ctx, tx, r.Job)
		if err != nil {
			return err
		}
		return joblog.SendShellInput(ctx, tx, job.ID, callerOf(ctx).token, *r.Body)
	})
	return SendShellInput204Response{}, err
}

// shellAnswer is the transcript of a shell as a response, at once or as a stream.
type shellAnswer func(w http.ResponseWriter) error

// VisitGetShellResponse writes it.
func (f shellAnswer) VisitGetShellResponse(w http.ResponseWriter) error { return f(w) }

// GetShell implements GET /v1/jobs/{job}/shell, at once or as a stream.
func (s *Server) GetShell(ctx context.Context, r GetShellRequestObject) (GetShellResponseObject, error) {
	var job api.Job
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		job, err = findJob(ctx, tx, r.Job)
		return err
	})
	if err != nil {
		return nil, err
	}
	org := callerOf(ctx).org.ID
	if strings.Contains(acceptOf(ctx), "text/event-stream") {
		return shellAnswer(func(w http.ResponseWriter) error {
			return s.stream(ctx, w, func(ctx context.Context, w http.ResponseWriter) error {
				return s.services.Logs.StreamShell(ctx, w, org, job.ID, r.Params.LastEventID)
			})
		}), nil
	}
	chunks, err := s.services.Logs.ReadShell(ctx, org, job.ID)
	return GetShell200JSONResponse(api.ShellTranscript{Items: chunks}), err
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
