package action

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/transcript"
)

// debug runs a debug command on a runner whose owner allows sh with any script of one word, and sleep.
func (r *rig) debug(ctx context.Context, command ...string) (api.JobResult, error) {
	r.env.Spec.Kind = api.JobSpecKindDebugCommand
	r.env.Spec.Debug = api.DebugSpec{InstallID: "ins_1", RequestedBy: "vera",
		Request: api.NewDebugCommand{Command: command, Reason: "it is slow"}}
	r.env.Policy.Debug.Commands = []string{"sh -c *", "sleep *"}
	return Debug{}.Run(ctx, r.env)
}

// owned returns the owner's log, a line for each event, and the transcript.
func (r *rig) owned() (events, output string) {
	r.Helper()
	all, err := audit.Read(r.env.Root, time.Time{})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range all {
		events += e.What + "|" + e.Reason + "\n"
	}
	text, _ := os.ReadFile(filepath.Join(r.env.Root, transcript.Dir, "job_1-1.log")) // none for a refused command
	return events, string(text)
}

// TestDebug checks that the output is in the log and, with a digest, in the transcript, without secrets and without
// what terminals act on, and that the owner's log has who asked, for what and why, and the end.
func TestDebug(t *testing.T) {
	r := newRig(t)
	r.env.Redact.Add([]byte("planted-password-1"))
	t.Setenv("PLANTED", "must not be passed on")
	result, err := r.debug(t.Context(), "sh", "-c",
		`echo "a${PLANTED:-}b planted-password-1"; echo; printf '\033[2Jred\n' >&2; exit 3`)
	if err != nil || result.Status != api.JobResultStatusFailed || result.Debug.ExitCode != 3 || result.Debug.Lines != 3 ||
		!strings.Contains(result.Error, "sh ended with exit code 3") {
		t.Fatalf("%+v %v", result, err)
	}
	for _, line := range []string{`"l":"info","m":"ab (sensitive)"`, `"l":"info","m":""`, `"l":"warn","m":"red"`} {
		if !strings.Contains(r.log.String(), line) {
			t.Errorf("%s is not in the log:\n%s", line, r.log)
		}
	}
	events, transcript := r.owned()
	digest := sha256.Sum256([]byte(transcript))
	if want := "sha256:" + hex.EncodeToString(digest[:]); result.Debug.Transcript != want ||
		!strings.Contains(transcript, "ab (sensitive)\n") {
		t.Errorf("the digest %s is not that of %q", result.Debug.Transcript, transcript)
	}
	if !strings.HasPrefix(events, `debug command started|["sh" "-c"`) ||
		!strings.Contains(events, "vera, as the control plane names them: it is slow\n") ||
		!strings.Contains(events, "debug command ended|failed, exit code 3: 3 lines") {
		t.Error(events)
	}
}

// TestDebugRefused checks that a command that the owner does not allow is not run, is refused with words, and is in the
// owner's log.
func TestDebugRefused(t *testing.T) {
	r := newRig(t)
	canary := filepath.Join(t.TempDir(), "canary")
	_, err := r.debug(t.Context(), "touch", canary)
	if err == nil || !strings.Contains(err.Error(), `does not allow the command "touch `) ||
		!strings.Contains(err.Error(), "it allows sh -c *, sleep *") {
		t.Error(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("it ran")
	}
	if events, _ := r.owned(); !strings.HasPrefix(events, "debug command refused|") {
		t.Error(events)
	}
}

// TestDebugEnds checks that a command ends with its time, with a cancel, and when it prints without end; what it
// printed until then is in the transcript.
func TestDebugEnds(t *testing.T) {
	t.Run("its output", func(t *testing.T) {
		r := newRig(t)
		result, err := r.debug(t.Context(), "sh", "-c", "while :; do echo y; done")
		if err != nil || result.Status != api.JobResultStatusFailed || result.Debug.Lines != maxDebugLines ||
			!strings.Contains(result.Error, "10000 lines") {
			t.Errorf("%+v %v", result, err)
		}
		if _, transcript := r.owned(); strings.Count(transcript, "\n") != maxDebugLines {
			t.Errorf("the transcript has %d lines", strings.Count(transcript, "\n"))
		}
		if strings.Contains(r.log.String(), "dropped") {
			t.Error("the log dropped lines of the transcript")
		}
	})
	t.Run("its time", func(t *testing.T) {
		r := newRig(t)
		r.env.Policy.Debug.TimeoutSeconds = 1
		if result, err := r.debug(t.Context(), "sleep", "1000"); err != nil || !strings.Contains(result.Error, "time") {
			t.Errorf("%+v %v", result, err)
		}
	})
	t.Run("a cancel", func(t *testing.T) {
		r := newRig(t)
		ctx, stop := context.WithCancel(t.Context())
		begun := filepath.Join(t.TempDir(), "begun")
		ended := make(chan api.JobResult, 1)
		go func() {
			result, _ := r.debug(ctx, "sh", "-c", "touch "+begun+"; sleep 1000")
			ended <- result
		}()
		testtime.Until(t, "it runs", func() bool { _, err := os.Stat(begun); return err == nil })
		stop()
		if got := testtime.Receive(t, ended, "it ends"); got.Status != api.JobResultStatusCancelled {
			t.Errorf("%+v", got)
		}
	})
}
