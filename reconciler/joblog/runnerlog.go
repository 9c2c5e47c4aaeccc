package joblog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The limits of a runner's stored log: the newest lines stay until either is exceeded. Package
// retain removes old ones.
const (
	MaxRunnerLines = 5000
	MaxRunnerBytes = 4 << 20 // as JSON
)

// AppendRunnerLog stores numbered chunks of the calling runner's own log. A chunk that is already
// stored changes nothing, so a batch may be sent any number of times. Errors: refusal.ErrInvalid.
func (s *Service) AppendRunnerLog(ctx context.Context, caller runners.Caller, chunks []api.NewLogChunk) error {
	rows, err := s.encodeChunks(chunks)
	if err != nil {
		return err
	}
	keep := store.KeepRunnerLogParams{
		RunnerID: caller.Runner, Channel: store.ChannelLogs, Payload: caller.Org + "/" + caller.Runner,
	}
	for i, row := range rows {
		keep.Seqs, keep.Lines = append(keep.Seqs, row.seq), append(keep.Lines, row.compressed)
		keep.Manies, keep.Sizes = append(keep.Manies, int32(len(chunks[i].Lines))), append(keep.Sizes, int32(row.size))
	}
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		keep.OrgID = tx.Org
		kept, err := tx.KeepRunnerLog(ctx, keep)
		if err != nil || kept == 0 {
			return err
		}
		return tx.TrimRunnerLog(ctx, store.TrimRunnerLogParams{
			OrgID: tx.Org, RunnerID: caller.Runner, MostLines: MaxRunnerLines, MostBytes: MaxRunnerBytes,
		})
	})
	if err != nil {
		return fmt.Errorf("keep the log of runner %s: %w", caller.Runner, err)
	}
	return nil
}

// ReadRunnerLog returns the stored log of a runner, in the order of the chunks' numbers.
func (s *Service) ReadRunnerLog(ctx context.Context, org, runner string) ([]api.LogChunk, error) {
	chunks := []api.LogChunk{}
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		for at := runnerLogStart; ; {
			page, err := runnerChunksAfter(ctx, tx, runner, at)
			if err != nil {
				return err
			}
			for _, row := range page {
				chunk := api.LogChunk{Seq: row.Seq}
				lines, err := unpack(row.Lines)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(lines, &chunk.Lines); err != nil {
					return err
				}
				chunks, at = append(chunks, chunk), position{seq: row.Seq}
			}
			if len(page) < runnerLogPage {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("log of runner %s: %w", runner, err)
	}
	return chunks, nil
}

// StreamRunnerLog follows a runner's own log as server-sent events until the client disconnects.
// Each event is a `log` with a LogChunk and has the chunk's number as its id. lastEventID is the
// last event that a reconnecting client received; anything else starts from the beginning.
func (s *Service) StreamRunnerLog(ctx context.Context, w http.ResponseWriter, org, runner, lastEventID string) error {
	err := s.follow(ctx, w, org+"/"+runner,
		parseRunnerPosition(lastEventID), func(ctx context.Context, at position) (streamPage, error) {
			return s.readRunnerPage(ctx, org, runner, at)
		})
	if err != nil {
		return fmt.Errorf("follow the log of runner %s: %w", runner, err)
	}
	return nil
}

func (s *Service) readRunnerPage(ctx context.Context, org, runner string, at position) (streamPage, error) {
	page := streamPage{end: at}
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		rows, err := runnerChunksAfter(ctx, tx, runner, at)
		if err != nil {
			return err
		}
		var events bytes.Buffer
		for _, row := range rows {
			lines, err := unpack(row.Lines)
			if err != nil {
				return err
			}
			page.end = position{seq: row.Seq}
			fmt.Fprintf(&events, "id: %d\nevent: log\ndata: {\"attempt\":0,\"seq\":%d,\"lines\":%s}\n\n",
				row.Seq, row.Seq, lines)
		}
		page.more, page.events = len(rows) == runnerLogPage, events.Bytes()
		return nil
	})
	return page, err
}

// runnerLogPage is the number of chunks per query: most are a line or two.
const runnerLogPage = 256

// runnerLogStart is the position before the first chunk of a runner's log. Chunk numbers start at
// zero, and a runner's log has no attempts.
var runnerLogStart = position{seq: -1}

// parseRunnerPosition parses an event id of a runner's log. It returns the beginning for any other
// text.
func parseRunnerPosition(eventID string) position {
	seq, err := strconv.ParseInt(strings.TrimSpace(eventID), 10, 64)
	if err != nil || seq < 0 || seq == math.MaxInt64 {
		return runnerLogStart
	}
	return position{seq: seq}
}

func runnerChunksAfter(ctx context.Context, tx *store.Tx, runner string, at position) ([]store.RunnerLog, error) {
	return tx.RunnerLogAfter(ctx, store.RunnerLogAfterParams{
		OrgID: tx.Org, RunnerID: runner, Seq: at.seq, Most: runnerLogPage,
	})
}
