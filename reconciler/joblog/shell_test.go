package joblog_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// shellRig is a running shell of the token tok_vera.
type shellRig struct {
	*testing.T
	*jobstest.World
	runner jobstest.Runner
	ref    api.AttemptRef
}

func newShellRig(t *testing.T) *shellRig {
	t.Helper()
	r := &shellRig{T: t, World: jobstest.New(t)}
	r.runner = r.World.Runner(t, runners.KindInstall)
	job := r.World.Job(t, r.runner, "health", "")
	r.Exec(t, "insert into shells (org_id, job_id, token_id) values ($1, $2, 'tok_vera')", r.Org.ID, job)
	r.ref, _ = r.World.Start(t, r.runner)
	return r
}

// typed sends a message of a token.
func (r *shellRig) typed(token string, message api.NewShellInput) error {
	return r.Store.InTx(r.Context(), r.Org.ID, func(ctx context.Context, tx *store.Tx) error {
		return joblog.SendShellInput(ctx, tx, r.ref.Job, token, message)
	})
}

func (r *shellRig) shown(number int64, text string) error {
	return r.Logs.SendShellOutput(r.Context(), r.runner.Caller, r.ref,
		api.NewShellOutput{Number: number, Data: []byte(text)})
}

func (r *shellRig) receive(after int64) api.ShellInputs {
	r.Helper()
	got, err := r.Logs.ReceiveShellInput(r.Context(), r.runner.Caller, r.ref, after)
	must(r.T, err)
	return got
}

// TestAShell checks that what is typed reaches the runner once and in order, what is shown reaches the person, and the
// transcript has both.
func TestAShell(t *testing.T) {
	r := newShellRig(t)
	must(t, r.typed("tok_vera", api.NewShellInput{Number: 1, Data: []byte("ls\n")}))
	must(t, r.typed("tok_vera", api.NewShellInput{Number: 1, Data: []byte("ls\n")}))
	must(t, r.typed("tok_vera", api.NewShellInput{}))
	must(t, r.typed("tok_vera", api.NewShellInput{Number: 2, Columns: 100, Rows: 30}))
	got := r.receive(0)
	if len(got.Items) != 2 || string(got.Items[0].Data) != "ls\n" || got.Items[1].Columns != 100 || got.Ended != "" {
		t.Fatalf("%+v", got)
	}
	must(t, r.shown(1, "a\x1b[31mb"))
	must(t, r.shown(1, "a\x1b[31mb"))
	must(t, r.shown(2, "c"))
	all, err := r.Logs.ReadShell(t.Context(), r.Org.ID, r.ref.Job)
	must(t, err)
	var text bytes.Buffer
	for _, chunk := range all {
		text.WriteString(string(chunk.Direction) + ":" + string(chunk.Data) + " ")
	}
	if text.String() != "input:ls\n input: output:a\x1b[31mb output:c " {
		t.Errorf("%q", text.String())
	}
	must(t, r.Jobs.Result(t.Context(), r.runner.Caller, r.ref, jobstest.Failed))
	stream := httptest.NewRecorder()
	must(t, r.Logs.StreamShell(t.Context(), stream, r.Org.ID, r.ref.Job, "3"))
	if body := stream.Body.String(); strings.Count(body, "event: output") != 1 || !strings.Contains(body, "id: 4\n") ||
		!strings.Contains(body, "event: end") {
		t.Error(body)
	}
	wantIs(t, r.typed("tok_vera", api.NewShellInput{Number: 3}), joblog.ErrShellOver)
}

// TestWhoMayTypeAndHowMuch checks that only the token that started a shell types, that no message is left out, and that
// both directions are bounded.
func TestWhoMayTypeAndHowMuch(t *testing.T) {
	r := newShellRig(t)
	if err := r.typed("tok_mallory", api.NewShellInput{Number: 1, Data: []byte("x")}); err == nil ||
		!strings.Contains(err.Error(), "another person") {
		t.Error(err)
	}
	wantIs(t, r.typed("tok_vera", api.NewShellInput{Number: 2, Data: []byte("x")}), refusal.ErrInvalid)
	wantIs(t, r.shown(2, "x"), refusal.ErrInvalid)
	wantIs(t, r.typed("tok_vera", api.NewShellInput{Number: 1, Data: make([]byte, joblog.MaxShellMessage+1)}),
		refusal.ErrInvalid)
	r.Exec(t, "update shells set input_bytes = $1, output_bytes = $2", joblog.MaxShellInput, joblog.MaxShellOutput)
	wantIs(t, r.typed("tok_vera", api.NewShellInput{Number: 1, Data: []byte("x")}), joblog.ErrShellOver)
	wantIs(t, r.shown(1, "x"), joblog.ErrShellOver)
	other := r.World.Runner(t, runners.KindInstall)
	_, err := r.Logs.ReceiveShellInput(t.Context(), other.Caller, r.ref, 0)
	wantIs(t, err, jobs.ErrNotFound)
	wantIs(t, r.Logs.SendShellOutput(t.Context(), other.Caller, r.ref, api.NewShellOutput{Number: 1}), jobs.ErrNotFound)
}

// TestAShellEnds checks that the runner learns that the person has left, after what was typed before, that nobody is
// there, and that the shell was cancelled.
func TestAShellEnds(t *testing.T) {
	t.Run("left", func(t *testing.T) {
		r := newShellRig(t)
		must(t, r.typed("tok_vera", api.NewShellInput{Number: 1, Data: []byte("x"), Leave: true}))
		if got := r.receive(0); got.Ended != "" || len(got.Items) != 1 {
			t.Errorf("%+v", got)
		}
		if got := r.receive(1); !strings.Contains(got.Ended, "left") || !got.Left {
			t.Errorf("%+v", got)
		}
		wantIs(t, r.typed("tok_vera", api.NewShellInput{Number: 2}), joblog.ErrShellOver)
	})
	t.Run("silent", func(t *testing.T) {
		r := newShellRig(t)
		r.Exec(t, "update shells set attended_at = now() - interval '2 minutes'")
		if got := r.receive(0); !strings.Contains(got.Ended, "nobody") || got.Left {
			t.Errorf("%+v", got)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		r := newShellRig(t)
		must(t, r.Store.InTx(t.Context(), r.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			return jobs.Cancel(ctx, tx, r.ref.Job, "enough")
		}))
		if got := r.receive(0); !strings.Contains(got.Ended, "cancelled") || got.Left {
			t.Errorf("%+v", got)
		}
	})
}
