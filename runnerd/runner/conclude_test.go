package runner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// endedExecutor is the executor of a job that has ended.
type endedExecutor struct{ executor }

func (endedExecutor) finish(context.Context) error { return nil }

// TestAJobThatLeavesGarbageEnds checks that the attempt of a pod is concluded although programs of the job left
// something else in the place of a file of its directory, and that runnerd reads no file outside of that.
func TestAJobThatLeavesGarbageEnds(t *testing.T) {
	t.Parallel()
	garbage := map[string]func(file, private string) error{
		"text":      func(file, _ string) error { return os.WriteFile(file, []byte("x"), 0o600) },
		"link":      func(file, private string) error { return os.Symlink(private, file) },
		"pipe":      func(file, _ string) error { return syscall.Mkfifo(file, 0o600) },
		"directory": func(file, _ string) error { return os.MkdirAll(filepath.Join(file, "below"), 0o700) },
	}
	for _, name := range []string{"started.json", "termination.json", "final.json", "final.json.new", "spec.json",
		"result.json", "attempt.json", "handover.json", "log.ndjson", "stdout", "stderr", "state", "work"} {
		for kind, plant := range garbage {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				a := endedPod(t)
				private := filepath.Join(filepath.Dir(filepath.Dir(a.dir.Dir)), "runner.json")
				file := filepath.Join(a.dir.Dir, name)
				err := errors.Join(os.WriteFile(private, []byte("the-runners-key"), 0o600), os.RemoveAll(file),
					plant(file, private))
				if err != nil {
					t.Fatal(err)
				}
				if seen, err := observe(a.dir, true); err != nil || seen.next() != conclude {
					t.Fatalf("before: %+v, %v", seen, err)
				}
				if err := a.conclude(t.Context()); err != nil {
					t.Fatal(err)
				}
				if seen, err := observe(a.dir, true); err != nil || seen.next() != deliver {
					t.Errorf("after: %+v, %v", seen, err)
				}
				final, _, err := a.dir.Final()
				log, logErr := readEnd(filepath.Join(a.dir.Dir, "log.ndjson"), 1<<20)
				if text := log + final.Error; err != nil || logErr != nil || strings.Contains(text, "the-runners-key") {
					t.Errorf("it delivers %s, %v, %v", text, err, logErr)
				}
				if now, err := os.ReadFile(private); err != nil || string(now) != "the-runners-key" {
					t.Errorf("the file of the runner is %s, %v", now, err)
				}
			})
		}
	}
}

// endedPod returns an attempt whose pod has ended.
func endedPod(t *testing.T) *attempt {
	t.Helper()
	record := spool.Record{Job: "job_1", Attempt: 1, Executor: json.RawMessage(`{"claim":"runner"}`), Token: "token"}
	dir, err := spool.Spool{Root: t.TempDir()}.Create(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{dir.SavePod(spool.Pod{Ended: &spool.PodEnd{Proof: spool.ProofKubelet}}),
		dir.MarkStarted(time.Now()), dir.AppendLines(api.Info, "line")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := &attempt{runner: &runner{}, dir: dir, log: slog.New(slog.DiscardHandler), executor: endedExecutor{}}
	a.record.Store(&record)
	return a
}
