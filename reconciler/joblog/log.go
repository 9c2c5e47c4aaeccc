package joblog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The limits of logs, in bytes.
const (
	MaxMessageBytes = 16 << 10  // a longer message is cut, visibly
	MaxChunkBytes   = 256 << 10 // a larger chunk, as JSON, is refused
	MaxLogBytes     = 32 << 20  // of one attempt, as JSON; the log then ends with a line about that
)

// maxBatchChunks is the maximum number of chunks in one batch.
const maxBatchChunks = 1000

// Append stores numbered chunks of an attempt's log. A chunk that is already stored changes
// nothing, so a batch may be sent any number of times, also after the attempt has ended. Chunks
// beyond MaxLogBytes are dropped without an error, because the runner could not act on one. Errors:
// ErrNotFound, ErrNotRunning, refusal.ErrInvalid.
func (s *Service) Append(ctx context.Context, caller runners.Caller, ref api.AttemptRef,
	chunks []api.NewLogChunk) error {
	rows, err := s.encodeChunks(chunks)
	if err != nil {
		return err
	}
	if !jobs.Addressable(caller, ref) {
		return jobs.ErrNotFound
	}
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		attempt, err := tx.LockLog(ctx, tx.Org, ref.Job, int32(ref.Attempt))
		if err != nil {
			return store.NotFoundAs(err, jobs.ErrNotFound)
		}
		if attempt.RunnerID != caller.Runner {
			return jobs.ErrNotFound
		}
		if status := jobs.AttemptStatus(attempt.Status); status == jobs.AttemptOffered || status == jobs.AttemptWithdrawn {
			return jobs.ErrNotRunning.With("it was never accepted")
		}
		return s.appendChunks(ctx, tx, attempt, rows)
	})
	if err != nil {
		return fmt.Errorf("keep the log of job %s: %w", ref.Job, err)
	}
	return nil
}

func (s *Service) appendChunks(ctx context.Context, tx *store.Tx, attempt store.Attempt, rows []logRow) error {
	seqs := make([]int64, 0, len(rows))
	for _, row := range rows {
		seqs = append(seqs, row.seq)
	}
	storedSeqs, err := tx.LogSeqsPresent(ctx, store.LogSeqsPresentParams{
		OrgID: tx.Org, JobID: attempt.JobID, Attempt: attempt.Number, Seqs: seqs,
	})
	if err != nil {
		return err
	}
	newRows, logBytes := selectNewChunks(rows, storedSeqs, attempt.LogBytes)
	if len(newRows) == 0 {
		return nil
	}
	insert := store.InsertLogChunksParams{
		OrgID: tx.Org, JobID: attempt.JobID, Attempt: attempt.Number, LogBytes: logBytes, Channel: store.ChannelLogs,
		Payload: tx.Org + "/" + attempt.JobID,
	}
	for _, row := range newRows {
		if row.last {
			if row, err = s.truncationRow(row); err != nil {
				return err
			}
		}
		insert.Seqs, insert.Lines = append(insert.Seqs, row.seq), append(insert.Lines, row.compressed)
	}
	if n, err := tx.InsertLogChunks(ctx, insert); err != nil || n == 1 {
		return err
	}
	return jobs.ErrNotFound
}

// logRow is one chunk as it is stored.
type logRow struct {
	seq        int64
	compressed []byte
	size       int64     // size of its lines as JSON plus chunkCost, as counted for MaxLogBytes
	firstTime  time.Time // time of its first line, also used for the last line of a full log
	last       bool      // the log is full with it
}

// encodeChunks checks the limits of received chunks and encodes them for storage.
func (s *Service) encodeChunks(chunks []api.NewLogChunk) ([]logRow, error) {
	if len(chunks) > maxBatchChunks {
		return nil, refusal.Invalidf("a batch has at most %d chunks, not %d", maxBatchChunks, len(chunks))
	}
	rows := make([]logRow, 0, len(chunks))
	for _, chunk := range chunks {
		if chunk.Seq < 0 {
			return nil, refusal.Invalidf("a chunk number must not be negative")
		}
		lines := make([]api.LogLine, 0, len(chunk.Lines))
		for _, line := range chunk.Lines {
			lines = append(lines, sanitizeLine(line))
		}
		row, err := s.packer.row(chunk.Seq, lines)
		if err != nil {
			return nil, refusal.Invalidf("chunk %d: %v", chunk.Seq, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// sanitizeLine brings a line within the limits: a known level, a message without NUL, and a length
// of at most MaxMessageBytes.
func sanitizeLine(line api.LogLine) api.LogLine {
	switch line.L {
	case api.Debug, api.Info, api.Warn, api.Error:
	default:
		line.L = api.Info
	}
	line.M = store.CleanText(line.M)
	if excess := len(line.M) - MaxMessageBytes; excess > 0 {
		line.M = fmt.Sprintf("%s… (%d more bytes were cut)", strings.ToValidUTF8(line.M[:MaxMessageBytes], ""), excess)
	}
	return line
}

// selectNewChunks selects the chunks to store: those that are not present, until the attempt's log is full.
// The chunk that would fill the log is the last one, and a notice replaces it. used is the size of
// the log in bytes, before and after.
func selectNewChunks(rows []logRow, storedSeqs []int64, logBytes int64) ([]logRow, int64) {
	seen := make(map[int64]bool, len(storedSeqs)+len(rows))
	for _, seq := range storedSeqs {
		seen[seq] = true
	}
	var newRows []logRow
	for _, row := range rows {
		if seen[row.seq] || logBytes >= MaxLogBytes {
			continue
		}
		seen[row.seq] = true
		row.last = logBytes+row.size >= MaxLogBytes
		logBytes = min(logBytes+row.size, MaxLogBytes)
		newRows = append(newRows, row)
	}
	return newRows, logBytes
}

// truncationRow returns the row that replaces the last chunk of a full log.
func (s *Service) truncationRow(row logRow) (logRow, error) {
	full := fmt.Sprintf("the log of this attempt is longer than %d MiB; the rest of it is not stored", MaxLogBytes>>20)
	return s.packer.row(row.seq, []api.LogLine{{T: row.firstTime, L: api.Warn, M: full}})
}

// chunksPerPage is the number of chunks per query.
const chunksPerPage = 32

// Read passes the log of a job so far to page, in the order of attempt and chunk number, and as few chunks
// at a time as one query returns: a log may be larger than the memory for it. Each page is read in a
// separate transaction. Read returns ErrNotFound if the org has no such job, and the first error of page.
func (s *Service) Read(ctx context.Context, org, jobID string, page func([]api.LogChunk) error) error {
	for at, more := (position{}), true; more; {
		chunks := []api.LogChunk{}
		err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
			if _, err := jobs.ReadJob(ctx, tx, jobID); err != nil {
				return err
			}
			rows, err := chunksAfter(ctx, tx, jobID, at)
			for _, row := range rows {
				chunk := api.LogChunk{Attempt: int(row.Attempt), Seq: row.Seq}
				lines, err := unpack(row.Lines)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(lines, &chunk.Lines); err != nil {
					return err
				}
				chunks = append(chunks, chunk)
				at = position{attempt: row.Attempt, seq: row.Seq}
			}
			more = len(rows) == chunksPerPage
			return err
		})
		if err == nil {
			err = page(chunks)
		}
		if err != nil {
			return fmt.Errorf("log of job %s: %w", jobID, err)
		}
	}
	return nil
}

// position is the place of a chunk in a job's log. Attempts count from one, so the zero position is
// before all chunks.
type position struct {
	attempt int32
	seq     int64
}

func chunksAfter(ctx context.Context, tx *store.Tx, jobID string, after position) ([]store.LogChunk, error) {
	return tx.LogChunksAfter(ctx, store.LogChunksAfterParams{
		OrgID: tx.Org, JobID: jobID, Attempt: after.attempt, Seq: after.seq, Most: chunksPerPage,
	})
}
