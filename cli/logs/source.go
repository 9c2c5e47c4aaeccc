package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// source is one log on the control plane: of a job, or of a runner itself.
type source struct {
	job, runner string // one of them is set
	name        string // name for lines, if there may be several sources
}

// ask requests the log after the event id last: the lines so far, or the event stream
// if the request editor apiclient.AsStream is passed.
func (s source) ask(ctx context.Context, client *apiclient.Client, last string,
	more ...api.RequestEditorFn) (*http.Response, error) {
	if s.runner != "" {
		return client.GetRunnerLogs(ctx, s.runner, &api.GetRunnerLogsParams{LastEventID: last}, more...)
	}
	return client.GetLogs(ctx, s.job, &api.GetLogsParams{LastEventID: last}, more...)
}

// place returns the event id of a chunk.
func (s source) place(chunk api.LogChunk) string {
	if s.runner != "" {
		return fmt.Sprint(chunk.Seq)
	}
	return fmt.Sprintf("%d/%d", chunk.Attempt, chunk.Seq)
}

// storedLines returns the present lines of the sources sorted by time, and the last event id
// of each source.
func storedLines(ctx context.Context, client *apiclient.Client,
	sources []source) (lines []line, ends map[source]string, err error) {
	ends = map[source]string{}
	for _, s := range sources {
		l, err := apiclient.Decode[api.LogChunkList](s.ask(ctx, client, ""))
		if err != nil {
			return nil, nil, err
		}
		for _, chunk := range l.Items {
			lines = append(lines, linesOf(s, chunk)...)
			ends[s] = s.place(chunk)
		}
	}
	if len(sources) > 1 { // a single log keeps its order, even if its clock was set back
		slices.SortStableFunc(lines, func(a, b line) int { return a.T.Compare(b.T) })
	}
	return lines, ends, nil
}

// follow prints the lines of a source after an event id, until the log has ended or ctx ends.
func (s source) follow(ctx context.Context, client *apiclient.Client, from string, p *printer) error {
	return s.followChunks(ctx, client, from, func(chunk api.LogChunk) error {
		return p.print(p.filter.apply(linesOf(s, chunk))...)
	})
}

// followChunks passes on what a source has after an event id, until the log has ended or ctx ends.
func (s source) followChunks(ctx context.Context, client *apiclient.Client, from string,
	take func(api.LogChunk) error) error {
	return apiclient.Follow(ctx, func(last string) (*http.Response, error) {
		if last == "" {
			last = from
		}
		return s.ask(ctx, client, last, apiclient.AsStream)
	}, func(e apiclient.Event) (bool, error) {
		if e.Name != "log" {
			return e.Name == "end", nil
		}
		var chunk api.LogChunk
		if err := json.Unmarshal(e.Data, &chunk); err != nil {
			return true, fmt.Errorf("read the log of %s: %w", s.job+s.runner, err)
		}
		return false, take(chunk)
	})
}
