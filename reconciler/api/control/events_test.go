package control_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// event is one server-sent event; its fields are empty when the stream has ended.
type event struct{ Name, ID, Data string }

// follow opens a workflow's events.
func (w *world) follow(ctx context.Context, lastEventID string) (<-chan event, http.Header) {
	w.Helper()
	return w.open(ctx, "/v1/workflows/"+w.one.ids["workflow"]+"/events", lastEventID)
}

// open opens a stream; the channel is closed when the stream has ended.
func (w *world) open(ctx context.Context, path, lastEventID string) (<-chan event, http.Header) {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	must(w, err)
	r.Header.Set("Authorization", "Bearer "+w.one.token["operator"])
	r.Header.Set("Accept", "text/event-stream")
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	got, err := http.DefaultClient.Do(r)
	must(w, err)
	if got.StatusCode != http.StatusOK {
		w.Fatalf("%s: status %d", path, got.StatusCode)
	}
	events := make(chan event, 100)
	go func() {
		defer close(events)
		defer got.Body.Close() //nolint:errcheck // the stream has ended
		var e event
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.Name = value
			case "id":
				e.ID = value
			case "data":
				e.Data = value
			case "":
				if e != (event{}) {
					events <- e
				}
				e = event{}
			}
		}
	}()
	return events, got.Header
}

// next returns the next state and its event's id; nil at the end of the stream.
func (w *world) next(events <-chan event) (*api.Workflow, string) {
	w.Helper()
	select {
	case e, more := <-events:
		if !more {
			return nil, ""
		}
		var state api.Workflow
		if err := json.Unmarshal([]byte(e.Data), &state); err != nil || e.Name != "workflow" ||
			e.ID != fmt.Sprint(state.Revision) {
			w.Errorf("event %+v: %v", e, err)
		}
		return &state, e.ID
	case <-testtime.After():
		w.Fatal("nothing came")
		return nil, ""
	}
}

// turn changes the workflow as the engine does: row and notification in one transaction.
func (w *world) turn(status string) {
	w.Helper()
	must(w, w.one.in(func(ctx context.Context, tx *store.Tx) error {
		w.exec("update workflows set status = $1, revision = revision + 1", status)
		return tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+w.one.ids["workflow"])
	}))
}

func TestWorkflowEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	events, header := w.follow(t.Context(), "")
	if kind := header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	first, id := w.next(events)
	if first == nil || id != "1" || first.Status != api.WorkflowStatusRunning || len(first.Steps) != 1 {
		t.Fatalf("the first event is %s %+v, want the whole state", id, first)
	}
	w.turn("running")
	if second, id := w.next(events); second == nil || id != "2" {
		t.Errorf("after a change: %s %+v", id, second)
	}
	known, _ := w.follow(t.Context(), "2") // has all events
	older, _ := w.follow(t.Context(), "1") // has missed one
	odd, _ := w.follow(t.Context(), "x")   // has an invalid id
	for name, late := range map[string]<-chan event{"that missed one": older, "with an odd id": odd} {
		if state, id := w.next(late); state == nil || id != "2" {
			t.Errorf("a follower %s is told %s %+v", name, id, state)
		}
	}
	w.turn("succeeded")
	for name, stream := range map[string]<-chan event{
		"first": events, "that knew": known, "that missed one": older, "with an odd id": odd,
	} {
		if last, id := w.next(stream); last == nil || id != "3" || last.Status != api.WorkflowStatusSucceeded {
			t.Errorf("the follower %s: %s %+v, want the last state", name, id, last)
		}
		if more, _ := w.next(stream); more != nil {
			t.Errorf("the follower %s is told more after the last state: %+v", name, more)
		}
	}
	ended, _ := w.follow(t.Context(), "")
	if state, id := w.next(ended); state == nil || id != "3" {
		t.Errorf("a follower that comes late: %s %+v", id, state)
	}
	if more, _ := w.next(ended); more != nil {
		t.Errorf("a stream of an ended workflow goes on: %+v", more)
	}
	knows, _ := w.follow(t.Context(), "3")
	if more, _ := w.next(knows); more != nil {
		t.Errorf("a follower that knows the end is told %+v", more)
	}
}

// TestFollowerThatGoesAway checks that a disconnected client leaves no goroutine behind.
func TestFollowerThatGoesAway(t *testing.T) {
	w := newWorld(t)
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 5 {
		events, _ := w.follow(ctx, "")
		w.next(events)
	}
	if n := following(); n != 5 {
		t.Fatalf("%d streams are followed, want 5: the count cannot be trusted", n)
	}
	leave()
	testtime.Until(t, "no stream is served after its follower has gone", func() bool { return following() == 0 })
}

// TestStreamEndsWithItsListener checks that streams do not delay a replica that stops.
func TestStreamEndsWithItsListener(t *testing.T) {
	w := newWorld(t)
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	server := httptest.NewServer(w.handler(ratelimit.Options{}))
	t.Cleanup(server.Close)
	w.url = server.URL
	var followed []<-chan event
	for range 2 {
		events, _ := w.follow(t.Context(), "")
		w.next(events)
		followed = append(followed, events)
	}
	if err := server.Config.Shutdown(testtime.Context(t)); err != nil {
		t.Errorf("shut down: %v", err)
	}
	for _, events := range followed {
		if more, _ := w.next(events); more != nil {
			t.Errorf("told %+v while shutting down", more)
		}
	}
}

// following counts the goroutines that serve a stream of workflow events.
func following() int {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	n := 0
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, "control.workflowStream.VisitStreamWorkflowResponse") {
			n++
		}
	}
	return n
}
