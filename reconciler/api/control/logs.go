package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// GetJob implements GET /v1/jobs/{job}.
func (s *Server) GetJob(ctx context.Context, r GetJobRequestObject) (GetJobResponseObject, error) {
	var job api.Job
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		job, err = findJob(ctx, tx, r.Job)
		return err
	})
	return GetJob200JSONResponse(job), err
}

// GetLogs implements GET /v1/jobs/{job}/logs, at once or as a stream.
func (s *Server) GetLogs(ctx context.Context, r GetLogsRequestObject) (GetLogsResponseObject, error) {
	var job api.Job
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		job, err = findJob(ctx, tx, r.Job)
		return err
	})
	if err != nil {
		return nil, err
	}
	org := callerOf(ctx).org.ID
	return s.answerLog(ctx,
		func(page func([]api.LogChunk) error) error { return s.services.Logs.Read(ctx, org, job.ID, page) },
		func(ctx context.Context, w http.ResponseWriter) error {
			return s.services.Logs.Stream(ctx, w, org, job.ID, r.Params.LastEventID)
		}), nil
}

// GetRunnerLogs implements GET /v1/runners/{runner}/logs, at once or as a stream.
func (s *Server) GetRunnerLogs(ctx context.Context, r GetRunnerLogsRequestObject) (GetRunnerLogsResponseObject, error) {
	var runner store.Runner
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		runner, err = findRunner(ctx, tx, r.Runner)
		return err
	})
	if err != nil {
		return nil, err
	}
	org := callerOf(ctx).org.ID
	return s.answerLog(ctx,
		func(page func([]api.LogChunk) error) error {
			chunks, err := s.services.Logs.ReadRunnerLog(ctx, org, runner.ID)
			if err != nil {
				return err
			}
			return page(chunks)
		},
		func(ctx context.Context, w http.ResponseWriter) error {
			return s.services.Logs.StreamRunnerLog(ctx, w, org, runner.ID, r.Params.LastEventID)
		}), nil
}

// logReader passes a log to page, some chunks at a time, and at least once.
type logReader func(page func([]api.LogChunk) error) error

// answerLog returns a log at once, or as a stream to a client that accepts one.
func (s *Server) answerLog(
	ctx context.Context, read logReader, follow func(context.Context, http.ResponseWriter) error,
) logAnswer {
	if strings.Contains(acceptOf(ctx), "text/event-stream") {
		return func(w http.ResponseWriter) error {
			return s.stream(ctx, w, follow)
		}
	}
	return func(w http.ResponseWriter) error { return writeLog(w, read) }
}

// writeLog writes a log as an api.LogChunkList, each page as it is read, so that no log is in memory as
// a whole. An error after the first page breaks the connection, because the response has started.
func writeLog(w http.ResponseWriter, read logReader) error {
	separator, started := "", false
	err := read(func(chunks []api.LogChunk) error {
		var body bytes.Buffer
		if !started {
			started = true
			w.Header().Set("Content-Type", "application/json")
			body.WriteString(`{"items":[`)
		}
		for _, chunk := range chunks {
			raw, err := json.Marshal(chunk)
			if err != nil {
				return err
			}
			body.WriteString(separator)
			body.Write(raw)
			separator = ","
		}
		_, err := w.Write(body.Bytes())
		return err
	})
	if err == nil {
		_, err = io.WriteString(w, "]}\n")
	}
	if err != nil && started {
		panic(http.ErrAbortHandler)
	}
	return err
}

// logAnswer is a log of a job or a runner as a response.
type logAnswer func(w http.ResponseWriter) error

// VisitGetLogsResponse writes it.
func (f logAnswer) VisitGetLogsResponse(w http.ResponseWriter) error { return f(w) }

// VisitGetRunnerLogsResponse writes it.
func (f logAnswer) VisitGetRunnerLogsResponse(w http.ResponseWriter) error { return f(w) }

func findJob(ctx context.Context, tx *store.Tx, key string) (api.Job, error) {
	rows, err := tx.ViewJobs(ctx, tx.Org, []string{key})
	if err != nil {
		return api.Job{}, err
	}
	if len(rows) == 0 {
		return api.Job{}, named("job", key, store.ErrNotFound)
	}
	if err := jobIsSeen(ctx, tx, rows[0].Job); err != nil {
		return api.Job{}, named("job", key, err)
	}
	return jobs.View(rows[0].Job, rows[0].Runner, tx.Now()), nil
}

// jobIsSeen returns ErrNotFound for a job of an app that the caller does not see. A job names its
// install or its build.
func jobIsSeen(ctx context.Context, tx *store.Tx, job store.Job) error {
	switch {
	case tx.App == "":
		return nil
	case job.InstallID != nil:
		_, err := tx.InstallForStatus(ctx, tx.Org, *job.InstallID)
		return err
	}
	_, err := tx.ViewBuild(ctx, tx.Org, job.OwnerID)
	return err
}

// waitsOf explains, by job, why jobs have not started or are silent. It skips nil.
func waitsOf(ctx context.Context, tx *store.Tx, ids []*string) (map[string]string, error) {
	rows, err := tx.ViewJobs(ctx, tx.Org, idsOf(ids, func(j *string) *string { return j }))
	waits := make(map[string]string, len(rows))
	for _, r := range rows {
		if why := jobs.Waits(r.Job, r.Runner, tx.Now()); why != "" {
			waits[r.Job.ID] = why
		}
	}
	return waits, err
}
