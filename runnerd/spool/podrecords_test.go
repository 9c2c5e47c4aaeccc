package spool_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		a.SaveHandover([]byte("{}"))} {
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
		for _, name := range []string{"pod.json", "confirmed.json", "attempt.json", "handover.json.withdrawn"} {
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
		if never, err := a.WithdrawHandover(); never || err != nil || a.IsConfirmedEnded() {
			t.Errorf("after %q it never started: %v, %v", text, never, err)
		}
		if record, err := a.Record(); err != nil || !record.Accepted() || string(record.Executor) != `{"claim":"runner"}` {
			t.Errorf("after %q the record is %+v, %v", text, record, err)
		}
		if all, err := s.List(); len(all) != 1 || err != nil {
			t.Errorf("after %q the spool has %v, %v", text, all, err)
		}
	}
	if err := a.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Root, "pods")); err != nil || len(left) > 0 {
		t.Errorf("what is left is %v, %v", left, err)
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
