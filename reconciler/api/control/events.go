package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// keepAlive is the interval at which a quiet stream sends a comment. At workflowLook it also reads the
// workflow: changes send a notification, and the removal of a workflow does not.
const (
	keepAlive    = 15 * time.Second
	workflowLook = 2 * time.Minute
)

// followerTime is how long a client may take to read one event before it is disconnected.
const followerTime = 30 * time.Second

// StreamWorkflow implements GET /v1/workflows/{workflow}/events. Each event is the whole state, so
// a client that reconnects has missed nothing once it has received the next event.
func (s *Server) StreamWorkflow(
	ctx context.Context, r StreamWorkflowRequestObject,
) (StreamWorkflowResponseObject, error) {
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
	after    int64 // the revision that the client has
}

// VisitStreamWorkflowResponse writes the stream.
func (f workflowStream) VisitStreamWorkflowResponse(w http.ResponseWriter) error {
	return f.server.stream(f.ctx, w, f.write)
}

// write writes the states. It returns when the workflow has ended or the client has disconnected.
func (f workflowStream) write(ctx context.Context, w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // turns off the buffering of proxies that support it
	rung, stop := f.server.bell.Wait(store.ChannelWorkflows, callerOf(ctx).org.ID+"/"+f.workflow)
	defer stop()
	alive, look := time.NewTicker(keepAlive), time.NewTicker(workflowLook)
	defer alive.Stop()
	defer look.Stop()
	f.follow(ctx, w, wakeups{
		draining: f.server.draining(ctx), rung: rung, alive: alive.C, look: look.C,
	}, func(ctx context.Context) (now api.Workflow, err error) {
		err = f.server.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			now, err = viewWorkflow(ctx, tx, f.workflow)
			return err
		})
		return now, err
	})
	return nil
}

// wakeups is what a quiet stream waits for.
type wakeups struct {
	draining, rung <-chan struct{}
	alive, look    <-chan time.Time
}

// follow writes the states that read returns, until the stream ends.
func (f workflowStream) follow(
	ctx context.Context, w http.ResponseWriter, wake wakeups, read func(context.Context) (api.Workflow, error),
) {
	out := http.NewResponseController(w)
	for {
		now, err := read(ctx)
		if err != nil {
			return // the headers are sent: the client reconnects and gets the error then
		}
		_ = out.SetWriteDeadline(time.Now().Add(followerTime)) // only the writers of tests have no deadlines
		if now.Revision > f.after {
			f.after = now.Revision
			if err := writeEvent(w, "workflow", strconv.FormatInt(now.Revision, 10), now); err != nil {
				return // the client has disconnected
			}
		}
		if err := out.Flush(); err != nil || now.Status != api.WorkflowStatusRunning {
			return // the client has disconnected, or the workflow has ended
		}
		if !wake.await(ctx, w) {
			return
		}
	}
}

// await sends comments until the workflow may have changed. It returns false when the stream is to end.
func (wake wakeups) await(ctx context.Context, w http.ResponseWriter) bool {
	out := http.NewResponseController(w)
	for {
		select {
		case <-ctx.Done():
			return false // the client has disconnected, or its token has become invalid
		case <-wake.draining:
			return false // the client reconnects to another replica
		case <-wake.rung:
			return true
		case <-wake.look:
			return true
		case <-wake.alive:
			_ = out.SetWriteDeadline(time.Now().Add(followerTime))
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
				return false // the client has disconnected
			}
			if err := out.Flush(); err != nil {
				return false // the client has disconnected
			}
		}
	}
}

// draining returns a channel that is closed when the listener of a request starts to shut down. A
// shutdown waits for every request, so a stream would delay it until the workflow's end. One
// handler serves one listener.
func (s *Server) draining(ctx context.Context) <-chan struct{} {
	s.drain.Do(func() {
		s.drained = make(chan struct{})
		if listener, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok {
			listener.RegisterOnShutdown(func() { close(s.drained) })
		}
	})
	return s.drained
}

// writeEvent writes one server-sent event (HTML standard, section 9.2). Encoded JSON contains no
// line breaks.
func writeEvent(w http.ResponseWriter, event, id string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\nid: %s\ndata: %s\n\n", event, id, b)
	return err
}
