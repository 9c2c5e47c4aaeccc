package control_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// streamed returns the paths of the document's streams, with the parameters in braces replaced.
func streamed(t *testing.T, names map[string]string) []string {
	t.Helper()
	var paths []string
	for _, o := range operations(t) {
		if o.Streams {
			path := o.Path
			for _, p := range o.inPath() {
				path = strings.ReplaceAll(path, "{"+p.Name+"}", names[p.Name])
			}
			paths = append(paths, path)
		}
	}
	if len(paths) < 3 {
		t.Fatalf("the document declares only the streams %v", paths)
	}
	return paths
}

// streams seeds something that runs for each stream of the document, and returns the paths of the streams with the
// workflow and the runner.
func (w *world) streams() (paths []string, workflow string, runner store.Runner) {
	w.Helper()
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	runner, _ = w.one.runner("busy", "install", false)
	w.one.add("jobs", "id", "job_busy", "runner_id", runner.ID, "kind", "plan", "status", string(jobs.JobQueued),
		"owner_kind", "step", "owner_id", "x", "spec", "{}", "reason", "x")
	w.one.add("shells", "job_id", "job_busy", "token_id", w.one.ids["token"])
	workflow = w.one.ids["workflow"]
	return streamed(w.T, map[string]string{"workflow": workflow, "job": "job_busy", "runner": "busy"}), workflow, runner
}

// TestEveryStream follows each route that the document declares as a stream until it has sent what
// happened after it was opened.
func TestEveryStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths, workflow, runner := w.streams()
	follow := map[string]func(context.Context, *store.Tx) error{
		"/v1/workflows/" + workflow + "/events": func(ctx context.Context, tx *store.Tx) error {
			w.exec("update workflows set revision = revision + 1 where id = $1", workflow)
			return tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+workflow)
		},
		"/v1/jobs/job_busy/logs": func(ctx context.Context, tx *store.Tx) error {
			w.one.add("log_chunks", "job_id", "job_busy", "attempt", 1, "seq", 1, "lines",
				packed(t, `[{"t":"2026-01-01T00:00:00Z","l":"info","m":"x"}]`))
			return tx.Notify(ctx, store.ChannelLogs, tx.Org+"/job_busy")
		},
		"/v1/jobs/job_busy/shell": func(ctx context.Context, tx *store.Tx) error {
			w.one.add("shell_chunks", "job_id", "job_busy", "seq", 1, "input", false, "number", 1, "data", []byte("x"),
				"columns", 0, "rows", 0, "at", "2026-01-01T00:00:00Z")
			return tx.Notify(ctx, store.ChannelLogs, tx.Org+"/job_busy")
		},
		"/v1/runners/busy/logs": func(ctx context.Context, tx *store.Tx) error {
			w.one.add("runner_logs", "runner_id", runner.ID, "seq", 0, "many", 1, "size", 1, "lines", packed(t, "[]"))
			return tx.Notify(ctx, store.ChannelLogs, tx.Org+"/"+runner.ID)
		},
	}
	for _, path := range paths {
		if follow[path] == nil {
			t.Errorf("this test does not follow %s", path)
			continue
		}
		events, header := w.open(t.Context(), path, "")
		if kind := header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("%s: content type %q", path, kind)
		}
		if strings.HasSuffix(path, "/events") {
			w.receive(path, events) // the state when it was opened
		}
		must(t, w.one.in(follow[path]))
		w.receive(path, events)
	}
}

func (w *world) receive(path string, events <-chan event) {
	w.Helper()
	select {
	case _, more := <-events:
		if !more {
			w.Errorf("%s ended", path)
		}
	case <-testtime.After():
		w.Fatalf("%s: no event came", path)
	}
}
