package joblog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// Stream follows a job's log as server-sent events until the job has ended: `log` events, each
// with a LogChunk and the id attempt/seq, and finally one `end` event with the Job. lastEventID is
// the last event that a reconnecting client received; anything else starts from the beginning.
// Stream returns an error (ErrNotFound) only before it writes the first byte; a stream that
// breaks later just ends, and its client reconnects.
func (s *Service) Stream(ctx context.Context, w http.ResponseWriter, org, jobID, lastEventID string) error {
	err := s.follow(ctx, w, org+"/"+jobID,
		parsePosition(lastEventID), func(ctx context.Context, at position) (streamPage, error) {
			return s.readPage(ctx, org, jobID, at)
		})
	if err != nil {
		return fmt.Errorf("follow the log of job %s: %w", jobID, err)
	}
	return nil
}

// follow streams the pages that next reads, starting at a position, and reads again after each
// notification from the log's writer. It returns only the error of the first read.
func (s *Service) follow(
	ctx context.Context, w http.ResponseWriter, log string, at position,
	next func(context.Context, position) (streamPage, error),
) error {
	// Registered before the first read, so that every later write causes a notification.
	rung, stop := s.notifier.Wait(store.ChannelLogs, log)
	defer stop()
	page, err := next(ctx, at)
	if err != nil {
		return err
	}
	stream := newEventStream(w)
	beat := time.NewTicker(timing.StreamKeepalive)
	defer beat.Stop()
	for {
		if err := stream.send(page.events); err != nil {
			return nil // the client has disconnected, so no error can reach it
		}
		if page.ended {
			return nil
		}
		if !page.more {
			select {
			case <-rung:
			case <-beat.C:
				page.events = []byte(": beat\n\n")
				continue
			case <-s.draining:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
		if page, err = next(ctx, page.end); err != nil {
			return nil // headers are sent: ending the stream makes its client reconnect
		}
	}
}

// streamPage is one read of a followed log.
type streamPage struct {
	events []byte
	end    position
	more   bool // more can be read right now
	ended  bool // the events include the end
}

// readPage reads the next page of a log, in one snapshot with the job, so that all chunks written
// before the end precede the end event.
func (s *Service) readPage(ctx context.Context, org, jobID string, at position) (streamPage, error) {
	page := streamPage{end: at}
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		job, err := jobs.ReadJob(ctx, tx, jobID)
		if err != nil {
			return err
		}
		rows, err := chunksAfter(ctx, tx, jobID, at)
		if err != nil {
			return err
		}
		var events bytes.Buffer
		for _, row := range rows {
			lines, err := unpack(row.Lines)
			if err != nil {
				return err
			}
			page.end = position{attempt: row.Attempt, seq: row.Seq}
			fmt.Fprintf(&events, "id: %s\nevent: log\ndata: {\"attempt\":%d,\"seq\":%d,\"lines\":%s}\n\n",
				eventID(row.Attempt, row.Seq), row.Attempt, row.Seq, lines)
		}
		page.more = len(rows) == chunksPerPage
		page.ended = !page.more && jobs.JobStatus(job.Status).Ended()
		if page.ended {
			if err := endEvent(&events, job); err != nil {
				return err
			}
		}
		page.events = events.Bytes()
		return nil
	})
	return page, err
}

func endEvent(events *bytes.Buffer, job api.Job) error {
	raw, err := json.Marshal(job)
	if err != nil {
		return err
	}
	fmt.Fprintf(events, "event: end\ndata: %s\n\n", raw)
	return nil
}

// eventID returns the id of a chunk's event, for reconnecting clients.
func eventID(attempt int32, seq int64) string { return fmt.Sprintf("%d/%d", attempt, seq) }

// parsePosition parses an event id. It returns the zero position for any other text.
func parsePosition(eventID string) position {
	attempt, seq, _ := strings.Cut(strings.TrimSpace(eventID), "/")
	a, errA := strconv.ParseInt(attempt, 10, 32)
	s, errS := strconv.ParseInt(seq, 10, 64)
	if errA != nil || errS != nil {
		return position{}
	}
	return position{attempt: int32(a), seq: s}
}

// eventStream writes server-sent events and disconnects a client that does not read.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newEventStream(w http.ResponseWriter) eventStream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // turns off the buffering of proxies that support it
	return eventStream{w: w, control: http.NewResponseController(w)}
}

// send writes and flushes. Empty events still send the headers.
func (s eventStream) send(events []byte) error {
	// Not every writer has deadlines or can flush; the exceptions are buffers of tests and
	// middleware.
	_ = s.control.SetWriteDeadline(time.Now().Add(timing.StreamWrite))
	if _, err := s.w.Write(events); err != nil {
		return err
	}
	return s.control.Flush()
}
