package joblog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// StreamShell follows the output of an interactive shell as server-sent events until its job has ended: `output`
// events, each with a ShellChunk and its number as id, and finally one `end` event with the Job. It treats lastEventID
// and errors as Stream does.
func (s *Service) StreamShell(ctx context.Context, w http.ResponseWriter, org, jobID, lastEventID string) error {
	number, err := strconv.ParseInt(strings.TrimSpace(lastEventID), 10, 64)
	if err != nil || number < 0 {
		number = 0
	}
	read := func(ctx context.Context, at position) (streamPage, error) {
		return s.readShellPage(ctx, org, jobID, at)
	}
	err = s.follow(ctx, w, org+"/"+jobID, position{seq: number}, read)
	if err != nil {
		return fmt.Errorf("follow shell %s: %w", jobID, err)
	}
	return nil
}

// readShellPage reads the next page of a shell's output, in one snapshot with the job.
func (s *Service) readShellPage(ctx context.Context, org, jobID string, at position) (streamPage, error) {
	page := streamPage{end: at}
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		job, err := jobs.ReadJob(ctx, tx, jobID)
		if err != nil {
			return err
		}
		if err := shellExists(ctx, tx, jobID); err != nil {
			return err
		}
		rows, err := tx.ShellChunksAfter(ctx, store.ShellChunksAfterParams{OrgID: tx.Org, JobID: jobID, Seq: at.seq,
			OutputsOnly: true, Most: chunksPerPage})
		if err != nil {
			return err
		}
		var events bytes.Buffer
		for _, row := range rows {
			raw, err := json.Marshal(viewShellChunk(row))
			if err != nil {
				return err
			}
			page.end.seq = row.Seq
			fmt.Fprintf(&events, "id: %d\nevent: output\ndata: %s\n\n", row.Seq, raw)
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
