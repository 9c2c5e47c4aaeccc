package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The bounds of logs, in bytes.
const (
	LongestLine  = 16 << 10  // a longer message is cut, visibly
	LargestChunk = 256 << 10 // a larger chunk, as JSON, is refused
	LargestLog   = 32 << 20  // of one attempt, as JSON; the log then ends with a word that says so
)

// mostChunks bounds one batch.
const mostChunks = 1000

// AppendLogs keeps numbered chunks of an attempt's log. One that is kept already changes nothing, so a batch may be sent any
// number of times; also after the attempt has ended. What comes after LargestLog is dropped without an error, for the runner
// could do nothing about one. Errors: ErrNotFound, ErrNotRunning, ErrInvalid.
func (d *Dispatch) AppendLogs(ctx context.Context, caller Caller, ref api.AttemptRef, chunks []api.NewLogChunk) error {
	rows, err := encodeChunks(chunks)
	if err != nil {
		return err
	}
	if !addressable(caller, ref) {
		return ErrNotFound
	}
	err = d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		attempt, err := tx.LockLog(ctx, tx.Org, ref.Job, int32(ref.Attempt))
		if err != nil {
			return orNotFound(err)
		}
		if attempt.RunnerID != caller.Runner {
			return ErrNotFound
		}
		if status := AttemptStatus(attempt.Status); status == AttemptOffered || status == AttemptWithdrawn {
			return fmt.Errorf("%w: it was never accepted", ErrNotRunning)
		}
		return appendChunks(ctx, tx, attempt, rows)
	})
	if err != nil {
		return fmt.Errorf("keep the log of job %s: %w", ref.Job, err)
	}
	return nil
}

func appendChunks(ctx context.Context, tx *store.Tx, attempt store.Attempt, rows []logRow) error {
	seqs := make([]int64, 0, len(rows))
	for _, row := range rows {
		seqs = append(seqs, row.seq)
	}
	present, err := tx.LogSeqsPresent(ctx, store.LogSeqsPresentParams{OrgID: tx.Org, JobID: attempt.JobID, Attempt: attempt.Number, Seqs: seqs})
	if err != nil {
		return err
	}
	admitted, used := admit(rows, present, attempt.LogBytes)
	if len(admitted) == 0 {
		return nil
	}
	insert := store.InsertLogChunksParams{OrgID: tx.Org, JobID: attempt.JobID, Attempt: attempt.Number}
	for _, row := range admitted {
		insert.Seqs, insert.Lines = append(insert.Seqs, row.seq), append(insert.Lines, row.lines)
	}
	if err := tx.InsertLogChunks(ctx, insert); err != nil {
		return err
	}
	if err := tx.SetLogBytes(ctx, store.SetLogBytesParams{OrgID: tx.Org, JobID: attempt.JobID, Number: attempt.Number, LogBytes: used}); err != nil {
		return err
	}
	return tx.Notify(ctx, store.ChannelLogs, tx.Org+"/"+attempt.JobID)
}

// logRow is one chunk as it is kept: its lines as JSON.
type logRow struct {
	seq   int64
	lines string
	first api.LogLine // gives the last mark its time
}

// encodeChunks bounds what came and puts it into the form in which it is kept.
func encodeChunks(chunks []api.NewLogChunk) ([]logRow, error) {
	if len(chunks) > mostChunks {
		return nil, invalid("a batch has at most %d chunks, not %d", mostChunks, len(chunks))
	}
	rows := make([]logRow, 0, len(chunks))
	for _, chunk := range chunks {
		if chunk.Seq < 0 {
			return nil, invalid("a chunk's number is not negative")
		}
		lines := make([]api.LogLine, 0, len(chunk.Lines))
		for _, line := range chunk.Lines {
			lines = append(lines, storableLine(line))
		}
		raw, err := json.Marshal(lines)
		if err != nil {
			return nil, invalid("chunk %d: %v", chunk.Seq, err)
		}
		if len(raw) > LargestChunk {
			return nil, invalid("chunk %d has %d bytes, and %d are the most; cut the log into smaller ones", chunk.Seq, len(raw), LargestChunk)
		}
		row := logRow{seq: chunk.Seq, lines: string(raw)}
		if len(lines) > 0 {
			row.first = lines[0]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// storableLine is a line in bounds: a level that is known, a message that Postgres keeps, and no longer than LongestLine.
func storableLine(line api.LogLine) api.LogLine {
	switch line.L {
	case api.Debug, api.Info, api.Warn, api.Error:
	default:
		line.L = api.Info
	}
	line.M = withoutNUL(line.M)
	if over := len(line.M) - LongestLine; over > 0 {
		line.M = fmt.Sprintf("%s… (%d more bytes were cut)", strings.ToValidUTF8(line.M[:LongestLine], ""), over)
	}
	return line
}

// admit decides which chunks are kept: those that are not there, until the attempt's log is full; the one that would fill it is
// replaced by the word that it is. used is what the log has in bytes, before and after.
func admit(rows []logRow, present []int64, used int64) ([]logRow, int64) {
	known := make(map[int64]bool, len(present)+len(rows))
	for _, seq := range present {
		known[seq] = true
	}
	var admitted []logRow
	for _, row := range rows {
		if known[row.seq] || used >= LargestLog {
			continue
		}
		known[row.seq] = true
		if used+int64(len(row.lines)) >= LargestLog {
			row, used = lastRow(row), LargestLog
		} else {
			used += int64(len(row.lines))
		}
		admitted = append(admitted, row)
	}
	return admitted, used
}

// lastRow is what stands where a log is full.
func lastRow(row logRow) logRow {
	line := api.LogLine{T: row.first.T, L: api.Warn, M: fmt.Sprintf("the log of this attempt is longer than %d MiB; the rest of it is not kept", LargestLog>>20)}
	// A time, a word and a sentence marshal, or storing row would have been refused before.
	raw, _ := json.Marshal([]api.LogLine{line})
	return logRow{seq: row.seq, lines: string(raw)}
}

// logPage is how many chunks are read at once.
const logPage = 32

// Logs gives the whole log of a job so far, in the order of attempt and number. ErrNotFound when the org has no such job.
func (d *Dispatch) Logs(ctx context.Context, org, jobID string) ([]api.LogChunk, error) {
	chunks := []api.LogChunk{}
	err := d.store.Read(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := jobNow(ctx, tx, jobID); err != nil {
			return err
		}
		for at := (position{}); ; {
			page, err := chunksAfter(ctx, tx, jobID, at)
			if err != nil {
				return err
			}
			for _, row := range page {
				chunk := api.LogChunk{Attempt: int(row.Attempt), Seq: row.Seq}
				if err := json.Unmarshal(row.Lines, &chunk.Lines); err != nil {
					return err
				}
				chunks = append(chunks, chunk)
				at = position{attempt: row.Attempt, seq: row.Seq}
			}
			if len(page) < logPage {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("log of job %s: %w", jobID, err)
	}
	return chunks, nil
}

// position is the place of a chunk in a job's log. Attempts count from one, so the zero position is before all.
type position struct {
	attempt int32
	seq     int64
}

func chunksAfter(ctx context.Context, tx *store.Tx, jobID string, at position) ([]store.LogChunk, error) {
	return tx.LogChunksAfter(ctx, store.LogChunksAfterParams{OrgID: tx.Org, JobID: jobID, Attempt: at.attempt, Seq: at.seq, Most: logPage})
}
