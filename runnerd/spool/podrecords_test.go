package spool_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestAPodCannotEndItsOwnAttempt checks that programs of a pod, which can change and remove each file in the directory
// of their attempt, cannot make runnerd take the job for ended, start it again, or forget it.
func TestAPodCannotEndItsOwnAttempt(t *testing.T) {
	t.Parallel()
	s := spool.Spool{Root: t.TempDir()}
	a, err := s.Create(spool.Record{Job: "job_1", Attempt: 1, Executor: json.RawMessage(`{"claim":"runner"}`),
		Token: "the-token"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(a.Dir, "attempt.json")); err != nil ||
		strings.Contains(string(text), "the-token") {
		t.Errorf("the pod has the token: %s, %v", text, err)
	}
	for _, err := range []error{a.SavePod(spool.Pod{Job: "nuon-job-1"}), a.MarkStarted(time.Now()),
		a.SavePodSpec(api.JobSpec{Job: "job_1"}), a.SaveHandover([]byte(`{"token":"the-token"}`))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := spool.TakeHandover(a.HandoverFile()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"job":"nuon-job-1","ended":{"proof":"kubelet"}}`, "x", ""} {
		for _, name := range []string{"pod.json", "confirmed.json", "attempt.json", "handover.json", "spec.json",
			"handover.json.withdrawn", "started.json", "termination.json", "final.json"} {
			file := filepath.Join(a.Dir, name)
			if text == "" {
				err = os.RemoveAll(file)
			} else {
				err = os.WriteFile(file, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if text == "" {
			for _, entry := range entries {
				if err := os.RemoveAll(filepath.Join(a.Dir, entry.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		if alive, err := a.Alive(); !alive || err != nil {
			t.Errorf("after %q it is dead: %v", text, err)
		}
		if never, err := a.WithdrawHandover(); never || err != nil || a.HasHandover() || a.IsConfirmedEnded() {
			t.Errorf("after %q it never started: %v, %v", text, never, err)
		}
		if _, started, err := a.Started(); !started || err != nil {
			t.Errorf("after %q it was not started: %v", text, err)
		}
		_, ends, endErr := a.Termination()
		if _, final, err := a.Final(); ends || final || endErr != nil || err != nil {
			t.Errorf("after %q it is being ended or concluded: %v, %v", text, endErr, err)
		}
		if spec, found, err := a.TrustedSpec(); !found || spec.Job != "job_1" || err != nil {
			t.Errorf("after %q the spec is of %q, %v", text, spec.Job, err)
		}
		if record, err := a.Record(); err != nil || !record.Accepted() || string(record.Executor) != `{"claim":"runner"}` {
			t.Errorf("after %q the record is %+v, %v", text, record, err)
		}
		if all, err := s.List(); len(all) != 1 || err != nil {
			t.Errorf("after %q the spool has %v, %v", text, all, err)
		}
	}
	if err := errors.Join(a.SaveTermination(spool.Termination{Reason: spool.ReasonCancel}),
		a.SaveFinal(api.JobResult{Status: "lost"}), a.Remove()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Root, "pods")); err != nil || len(left) > 0 {
		t.Errorf("what is left is %v, %v", left, err)
	}
}

// TestReclaim checks that a directory in which programs of a job left something in the place of each file can be used
// after their end, and that nothing outside of it changes.
func TestReclaim(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, err := spool.Spool{Root: root}.Create(spool.Record{Job: "job_1", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(root, "runner.json")
	err = errors.Join(os.Mkdir(a.WorkDir(), 0o700), a.SaveResult(api.JobResult{Status: "succeeded"}),
		os.WriteFile(outside, []byte("{}"), 0o400),
		os.Symlink(outside, filepath.Join(a.Dir, "log.ndjson")), syscall.Mkfifo(a.StdoutFile(), 0o600),
		os.MkdirAll(filepath.Join(a.StderrFile(), "below"), 0o700),
		os.Symlink(outside, filepath.Join(a.StateDir(), "000001.json")), a.AddState(api.State{Serial: 2}, 2),
		os.Chmod(filepath.Join(a.Dir, "result.json"), 0), os.Chmod(a.StateDir(), 0), os.Chmod(a.Dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := a.Reclaim(); err != nil || len(removed) != 4 {
		t.Errorf("it removed %q, %v", removed, err)
	}
	if result, found, err := a.Result(); result.Status != "succeeded" || !found || err != nil {
		t.Errorf("the result is %+v, %v", result, err)
	}
	if info, err := os.Stat(filepath.Join(a.Dir, "result.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the result is %v, %v", info, err)
	}
	if files, err := a.States(); len(files) != 1 || err != nil {
		t.Errorf("the states are %q, %v", files, err)
	}
	if err := a.AppendLines(api.Info, "line"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.WorkDir()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode() != 0o400 {
		t.Errorf("the file outside is %v, %v", info, err)
	}
	err = errors.Join(os.RemoveAll(a.StateDir()), os.Symlink(root, a.StateDir()))
	if removed, reclaimErr := a.Reclaim(); err != nil || reclaimErr != nil || len(removed) != 1 {
		t.Errorf("it removed %q, %v, %v", removed, err, reclaimErr)
	}
	if err := a.AppendState(api.State{Serial: 3}); err != nil {
		t.Error(err)
	}
}

// TestAStateThatIsNone checks that text that programs of a job write in the place of a state does not keep the states
// after it from being delivered.
func TestAStateThatIsNone(t *testing.T) {
	t.Parallel()
	a, err := spool.Spool{Root: t.TempDir()}.Create(spool.Record{Job: "job_1", Attempt: 1})
	if err := errors.Join(err, a.AddState(api.State{Serial: 2}, 2),
		os.WriteFile(filepath.Join(a.StateDir(), "000001.json"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	delivered := 0
	if err := a.EachState(func(_ string, state api.State) error {
		delivered++
		if state.Serial != 2 {
			t.Errorf("got %+v", state)
		}
		return nil
	}); err != nil || delivered != 1 {
		t.Errorf("%d were delivered: %v", delivered, err)
	}
	if rejected, err := a.RejectedStates(); len(rejected) != 1 || err != nil {
		t.Errorf("the rejected states are %q, %v", rejected, err)
	}
}

// TestAnIndexThatAJobWrote checks that what programs of a job write to the index of the log neither stops runnerd nor
// hides the log.
func TestAnIndexThatAJobWrote(t *testing.T) {
	t.Parallel()
	a, err := spool.Spool{Root: t.TempDir()}.Create(spool.Record{Job: "job_1", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	index := `{"sent":9000000000000000000}` + "\n" + `{"end":4611686018427387904}` + "\n" + `{"end":-5,"sent":-5}` + "\n"
	if err := errors.Join(a.AppendLines(api.Info, "line"),
		os.WriteFile(filepath.Join(a.Dir, "chunks.ndjson"), []byte(index), 0o600)); err != nil {
		t.Fatal(err)
	}
	chunks, err := a.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = chunks.Close() }()
	all, err := chunks.Next(16, true)
	if err != nil || len(all) != 1 || len(all[0].Lines) != 1 || all[0].Lines[0].M != "line" {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestWithdrawnHandover checks that what runnerd took back stays taken back: the record of it may fail, or runnerd may
// be killed, after that.
func TestWithdrawnHandover(t *testing.T) {
	t.Parallel()
	a, err := spool.Spool{Root: t.TempDir()}.Create(spool.Record{Job: "job_1", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.SavePod(spool.Pod{Job: "nuon-job-1"}); err != nil {
		t.Fatal(err)
	}
	if err := a.SaveHandover([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if never, err := a.WithdrawHandover(); !never || err != nil {
			t.Errorf("it may have started: %v, %v", never, err)
		}
	}
	if _, err := spool.TakeHandover(a.HandoverFile()); err == nil {
		t.Error("the job process takes what was taken back")
	}
}
