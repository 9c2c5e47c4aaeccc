package joblog

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The limits of an interactive shell: bytes of one message and of all messages, in each direction.
const (
	MaxShellMessage = 64 << 10
	MaxShellInput   = 1 << 20
	MaxShellOutput  = 16 << 20
)

const (
	// maxInputsAtOnce bounds the messages of one response to the runner.
	maxInputsAtOnce = 64
	// shellRecheck is the interval in which a waiting request of the runner checks whether the shell was cancelled.
	shellRecheck = 2 * time.Second
	// shellSilence is how long a shell continues without a sign of life of the person's program.
	shellSilence = time.Minute
)

var (
	// ErrShellOver: the shell takes no more messages.
	ErrShellOver = refusal.New(refusal.Conflict, "shell_over", "the shell is over", "Start another one.")
	// ErrNoShell: the job is no interactive shell.
	ErrNoShell = refusal.New(refusal.NotFound, "no_shell", "the job is no interactive shell",
		"Use the ID that nuon debug -it has printed.")
)

// OpenShell adds the record of an interactive shell, for its job and the token that may type.
func OpenShell(ctx context.Context, tx *store.Tx, jobID, tokenID string) error {
	return tx.InsertShell(ctx, tx.Org, jobID, tokenID)
}

// SendShellInput stores a message of the person who started a shell. A message that is stored already, or with the
// number 0, only shows that the person is there. Errors: ErrNotFound, ErrShellOver, refusal.ErrInvalid.
func SendShellInput(ctx context.Context, tx *store.Tx, jobID, tokenID string, message api.NewShellInput) error {
	shell, err := tx.LockShell(ctx, tx.Org, jobID)
	if err != nil {
		return store.NotFoundAs(err, jobs.ErrNotFound)
	}
	if shell.TokenID != tokenID {
		return refusal.New(refusal.Forbidden, "not_your_shell", "another person started this shell",
			"Only its starter can type into it; read it with nuon logs shell.")
	}
	job, err := jobs.ReadJob(ctx, tx, jobID)
	if err != nil {
		return err
	}
	switch {
	case jobs.JobStatus(job.Status).Ended() || shell.Abandoned:
		return ErrShellOver
	case message.Number > shell.Inputs+1:
		return refusal.Invalidf("message %d came before message %d", message.Number, shell.Inputs+1)
	case len(message.Data) > MaxShellMessage:
		return refusal.Invalidf("a message has at most %d bytes", MaxShellMessage)
	case message.Number == shell.Inputs+1 && shell.InputBytes+int64(len(message.Data)) > MaxShellInput:
		return ErrShellOver.With("it has received %d KiB, which is the most that one may", MaxShellInput>>10)
	case message.Number == shell.Inputs+1:
		err = addShellChunk(ctx, tx, shell, store.AddShellChunkParams{Input: true, Data: message.Data,
			Columns: int32(message.Columns), Rows: int32(message.Rows)})
	}
	if err != nil {
		return err
	}
	_, err = tx.AttendShell(ctx, store.AttendShellParams{OrgID: tx.Org, JobID: jobID, Leave: message.Leave,
		Channel: store.ChannelLogs, Payload: tx.Org + "/" + jobID})
	return err
}

// addShellChunk stores what passed in one direction of a locked shell.
func addShellChunk(ctx context.Context, tx *store.Tx, shell store.Shell, chunk store.AddShellChunkParams) error {
	if chunk.Data == nil {
		chunk.Data = []byte{}
	}
	if chunk.Input {
		shell.Inputs, shell.InputBytes = shell.Inputs+1, shell.InputBytes+int64(len(chunk.Data))
		chunk.Number = shell.Inputs
	} else {
		shell.Outputs, shell.OutputBytes = shell.Outputs+1, shell.OutputBytes+int64(len(chunk.Data))
		chunk.Number = shell.Outputs
	}
	chunk.OrgID, chunk.JobID, chunk.Seq = shell.OrgID, shell.JobID, shell.Chunks+1
	chunk.Inputs, chunk.InputBytes = shell.Inputs, shell.InputBytes
	chunk.Outputs, chunk.OutputBytes = shell.Outputs, shell.OutputBytes
	chunk.Channel, chunk.Payload = store.ChannelLogs, shell.OrgID+"/"+shell.JobID
	_, err := tx.AddShellChunk(ctx, chunk)
	return err
}

// SendShellOutput stores output of a shell. Output that is stored already has no effect. Errors: ErrNotFound,
// ErrNotRunning, ErrShellOver, refusal.ErrInvalid.
func (s *Service) SendShellOutput(ctx context.Context, caller runners.Caller, ref api.AttemptRef,
	message api.NewShellOutput) error {
	err := s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := jobs.ReadRunningAttempt(ctx, tx, caller, ref); err != nil {
			return err
		}
		shell, err := tx.LockShell(ctx, tx.Org, ref.Job)
		switch {
		case err != nil:
			return store.NotFoundAs(err, jobs.ErrNotFound)
		case message.Number > shell.Outputs+1:
			return refusal.Invalidf("message %d came before message %d", message.Number, shell.Outputs+1)
		case message.Number <= shell.Outputs:
			return nil
		case len(message.Data) > MaxShellMessage:
			return refusal.Invalidf("a message has at most %d bytes", MaxShellMessage)
		case shell.OutputBytes+int64(len(message.Data)) > MaxShellOutput:
			return ErrShellOver.With("it has sent %d MiB, which is the most that one may", MaxShellOutput>>20)
		}
		return addShellChunk(ctx, tx, shell, store.AddShellChunkParams{Data: message.Data})
	})
	if err != nil {
		return fmt.Errorf("keep the output of shell %s: %w", ref.Job, err)
	}
	return nil
}

// ReceiveShellInput waits for messages after a number, for at most the time that the API states for it. The response
// says so if the shell is to end: its person has left or is silent, or the job was cancelled.
func (s *Service) ReceiveShellInput(ctx context.Context, caller runners.Caller, ref api.AttemptRef,
	after int64) (api.ShellInputs, error) {
	operation, _ := api.FindOperation("receiveShellInput")
	over := time.NewTimer(operation.Hold)
	defer over.Stop()
	recheck := time.NewTicker(shellRecheck)
	defer recheck.Stop()
	rung, stop := s.notifier.Wait(store.ChannelLogs, caller.Org+"/"+ref.Job)
	defer stop()
	for {
		found, err := s.shellInputs(ctx, caller, ref, after)
		if err != nil {
			return found, fmt.Errorf("input of shell %s: %w", ref.Job, err)
		}
		if len(found.Items) > 0 || found.Ended != "" {
			return found, nil
		}
		select {
		case <-rung:
		case <-recheck.C:
		case <-over.C:
			return found, nil
		case <-s.draining:
			return found, nil
		case <-ctx.Done():
			return found, ctx.Err()
		}
	}
}

// shellInputs reads the messages after a number.
func (s *Service) shellInputs(ctx context.Context, caller runners.Caller, ref api.AttemptRef,
	after int64) (found api.ShellInputs, err error) {
	found.Items = []api.NewShellInput{}
	err = s.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := jobs.ReadRunningAttempt(ctx, tx, caller, ref); err != nil {
			return err
		}
		shell, err := tx.ReadShell(ctx, shellSilence.Seconds(), tx.Org, ref.Job)
		if err != nil {
			return store.NotFoundAs(err, jobs.ErrNotFound)
		}
		rows, err := tx.ShellInputsAfter(ctx, store.ShellInputsAfterParams{OrgID: tx.Org, JobID: ref.Job, Number: after,
			Most: maxInputsAtOnce})
		if err != nil {
			return err
		}
		for _, row := range rows {
			found.Items = append(found.Items, api.NewShellInput{Number: row.Number, Data: row.Data, Columns: int(row.Columns),
				Rows: int(row.Rows)})
		}
		switch {
		case shell.Cancel:
			found.Ended = "it was cancelled"
		case shell.Abandoned && len(rows) == 0: // what was typed before comes first
			found.Ended, found.Left = "the person has left", true
		case shell.Silent:
			found.Ended = fmt.Sprintf("nobody was connected to it for %v", shellSilence)
		}
		return nil
	})
	return found, err
}

// ReadShell returns the transcript of a shell so far. Errors: ErrNoShell.
func (s *Service) ReadShell(ctx context.Context, org, jobID string) ([]api.ShellChunk, error) {
	all := []api.ShellChunk{}
	err := s.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if err := shellExists(ctx, tx, jobID); err != nil {
			return err
		}
		for last := int64(0); ; {
			rows, err := tx.ShellChunksAfter(ctx, store.ShellChunksAfterParams{OrgID: tx.Org, JobID: jobID, Seq: last,
				Most: chunksPerPage})
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, row := range rows {
				all = append(all, viewShellChunk(row))
				last = row.Seq
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read shell %s: %w", jobID, err)
	}
	return all, nil
}

// shellExists returns ErrNoShell for a job that is no shell.
func shellExists(ctx context.Context, tx *store.Tx, jobID string) error {
	_, err := tx.ReadShell(ctx, shellSilence.Seconds(), tx.Org, jobID)
	return store.NotFoundAs(err, ErrNoShell)
}

func viewShellChunk(row store.ShellChunk) api.ShellChunk {
	made := api.ShellChunk{Number: row.Seq, At: row.At, Direction: api.ShellChunkDirectionOutput, Data: row.Data,
		Columns: int(row.Columns), Rows: int(row.Rows)}
	if row.Input {
		made.Direction = api.ShellChunkDirectionInput
	}
	return made
}
