package spool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestNoLinkLeadsOutOfAnAttempt checks that runnerd reads, writes and removes nothing outside of the directory of an
// attempt, although the programs of the job leave links and pipes there.
func TestNoLinkLeadsOutOfAnAttempt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, err := spool.Spool{Root: root}.Create(spool.Record{Job: "job_1", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(root, "runner.json")
	const secret = `{"status":"succeeded","error":"the-runners-key"}`
	if err := os.WriteFile(private, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"result.json", "spec.json", "log.ndjson", "chunks.ndjson", "stderr", "state"} {
		file := filepath.Join(a.Dir, name)
		if err := errors.Join(os.RemoveAll(file), os.Symlink(private, file)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, resultErr := a.Result()
	_, _, specErr := a.Spec()
	_, chunksErr := a.Chunks()
	_, outputErr := spool.OpenOutput(a.StderrFile())
	for what, err := range map[string]error{"the result": resultErr, "the spec": specErr, "the log": chunksErr,
		"the output": outputErr, "the log, to append": a.AppendLines(api.Info, "line")} {
		if err == nil {
			t.Errorf("%s was read through a link", what)
		}
	}
	state := filepath.Join(a.Dir, "state")
	if err := errors.Join(os.Remove(state), os.Symlink(root, state)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, "runner.json")
	if files, err := a.States(); err == nil {
		t.Errorf("the states are %v", files)
	}
	if _, found, err := spool.LoadState(file); found || err == nil {
		t.Error("a state was read through a link")
	}
	if spool.RemoveState(file) == nil || spool.RejectState(file) == nil {
		t.Error("a state was removed through a link")
	}
	beside := filepath.Join(a.Dir, "final.json.new")
	if err := errors.Join(os.Symlink(private, beside), a.SaveFinal(api.JobResult{Status: "lost"})); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(private); err != nil || string(now) != secret {
		t.Errorf("the file of the runner is %s, %v", now, err)
	}

	// Without the checks this test never ends.
	pipe := filepath.Join(a.Dir, "result.json")
	if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600), os.RemoveAll(beside),
		syscall.Mkfifo(beside, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Result(); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe was read: %v", err)
	}
	if err := a.SaveFinal(api.JobResult{Status: "lost"}); err != nil {
		t.Error(err)
	}
}
