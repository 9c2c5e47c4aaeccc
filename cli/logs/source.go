package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// source is one log that the control plane keeps: a job's, or a runner's own.
type source struct {
	job, runner string // one of them
	of          string // what it is of, where there may be several
}

// ask asks for the log so far, or with follow for the stream from a place on.
func (s source) ask(ctx context.Context, client *remote.Client, last string, more ...api.RequestEditorFn) (*http.Response, error) {
	if s.runner != "" {
		return client.GetRunnerLogs(ctx, s.runner, &api.GetRunnerLogsParams{LastEventID: last}, more...)
	}
	return client.GetLogs(ctx, s.job, &api.GetLogsParams{LastEventID: last}, more...)
}

// place is the event id of a chunk.
func (s source) place(chunk api.LogChunk) string {
	if s.runner != "" {
		return fmt.Sprint(chunk.Seq)
	}
	return fmt.Sprintf("%d/%d", chunk.Attempt, chunk.Seq)
}

// past gives the lines that the sources have by now, in the order of time, and how far each has been read.
func past(ctx context.Context, client *remote.Client, sources []source) (lines []line, ends map[source]string, err error) {
	ends = map[source]string{}
	for _, s := range sources {
		l, err := remote.Get[api.LogChunkList](s.ask(ctx, client, ""))
		if err != nil {
			return nil, nil, err
		}
		for _, chunk := range l.Items {
			lines = append(lines, linesOf(s, chunk)...)
			ends[s] = s.place(chunk)
		}
	}
	if len(sources) > 1 { // of one, the order in which they were said holds, whatever its clock did
		slices.SortStableFunc(lines, func(a, b line) int { return a.T.Compare(b.T) })
	}
	return lines, ends, nil
}

// stream asks for events instead of an answer.
func stream(_ context.Context, r *http.Request) error {
	r.Header.Set("Accept", "text/event-stream")
	return nil
}

// follow prints what a source says from a place on, until it has ended or ctx ends.
func (s source) follow(ctx context.Context, client *remote.Client, from string, p *printer) error {
	return remote.Follow(ctx, func(last string) (*http.Response, error) {
		if last == "" {
			last = from
		}
		return s.ask(ctx, client, last, stream)
	}, func(e remote.Event) (bool, error) {
		if e.Name != "log" {
			return e.Name == "end", nil
		}
		var chunk api.LogChunk
		if err := json.Unmarshal(e.Data, &chunk); err != nil {
			return true, fmt.Errorf("read the log of %s: %w", s.job+s.runner, err)
		}
		return false, p.print(p.wanted.of(linesOf(s, chunk))...)
	})
}
