package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/edge"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// keepAlive is how often a quiet stream says that it is still there.
const keepAlive = 15 * time.Second

// followerTime is how long a follower may take to read one event before it is let go.
const followerTime = 30 * time.Second

// StreamWorkflow implements GET /v1/workflows/{workflow}/events. Each event is the whole state, so a follower that was away has
// missed nothing when it has seen the next one.
func (s *Server) StreamWorkflow(ctx context.Context, r StreamWorkflowRequestObject) (StreamWorkflowResponseObject, error) {
	var first api.Workflow
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		first, err = viewWorkflow(ctx, tx, r.Workflow)
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt(r.Params.LastEventID, 10, 64)
	if err != nil {
		after = -1
	}
	return workflowStream{ctx: ctx, server: s, workflow: first.ID, after: after}, nil
}

// workflowStream writes a workflow's states until the last one.
type workflowStream struct {
	ctx      context.Context
	server   *Server
	workflow string
	after    int64 // the revision that the follower has
}

// VisitStreamWorkflowResponse writes the stream; it returns when the workflow has ended or the follower has gone.
func (f workflowStream) VisitStreamWorkflowResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that buffer know this word
	edge.Unhurried(w)
	ctx, done := f.server.lasting(f.ctx)
	defer done()
	out := http.NewResponseController(w)
	org := callerOf(ctx).org.ID
	draining := f.server.draining(ctx)
	rung, stop := f.server.bell.Wait(store.ChannelWorkflows, org+"/"+f.workflow)
	defer stop()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		_ = out.SetWriteDeadline(time.Now().Add(followerTime)) // a writer without deadlines is one of a test
		var now api.Workflow
		err := f.server.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			now, err = viewWorkflow(ctx, tx, f.workflow)
			return err
		})
		if err != nil {
			return nil // the stream has begun: the follower reconnects and is told then
		}
		if now.Revision > f.after {
			f.after = now.Revision
			if err := writeEvent(w, "workflow", strconv.FormatInt(now.Revision, 10), now); err != nil {
				return nil // the follower has gone
			}
		}
		if err := out.Flush(); err != nil || now.Status != api.WorkflowStatusRunning {
			return nil // the follower has gone, or there is no more to tell
		}
		select {
		case <-ctx.Done():
			return nil // it has gone, or its token is good for nothing now
		case <-draining:
			return nil // the follower comes back, to another replica
		case <-rung:
		case <-alive.C:
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
				return nil // the follower has gone
			}
		}
	}
}

// draining gives a channel that is closed when the listener that serves a request begins to shut down: it waits for every
// request, and a stream would hold it up until the workflow's end. One handler serves one listener.
func (s *Server) draining(ctx context.Context) <-chan struct{} {
	s.drain.Do(func() {
		s.drained = make(chan struct{})
		if listener, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok {
			listener.RegisterOnShutdown(func() { close(s.drained) })
		}
	})
	return s.drained
}

// writeEvent writes one server-sent event (HTML standard, section 9.2); JSON has no line breaks of its own.
func writeEvent(w http.ResponseWriter, event, id string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\nid: %s\ndata: %s\n\n", event, id, b)
	return err
}
