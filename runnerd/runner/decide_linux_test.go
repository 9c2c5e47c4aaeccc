package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func TestNext(t *testing.T) {
	for _, test := range []struct {
		seen observed
		want step
	}{
		{observed{}, accept},
		{observed{Accepted: true}, start},
		{observed{Accepted: true, Started: true}, conclude},
		{observed{Accepted: true, Started: true, Alive: true}, watch},
		{observed{Accepted: true, Started: true, Final: true}, deliver},
		{observed{Final: true}, deliver},
		{observed{Accepted: true, Started: true, Final: true, Alive: true}, watch},
	} {
		if got := test.seen.next(); got != test.want {
			t.Errorf("%+v: got %s, want %s", test.seen, got, test.want)
		}
	}
}

func TestFinal(t *testing.T) {
	cancel, timeout := spool.Termination{Reason: spool.ReasonCancel}, spool.Termination{Reason: spool.ReasonTimeout}
	killed := spool.Termination{Reason: spool.ReasonTimeout, Killed: true}
	result := func(status api.JobResultStatus) api.JobResult { return api.JobResult{Status: status, Error: "because"} }
	for name, test := range map[string]struct {
		seen   outcome
		status api.JobResultStatus
		text   string
	}{
		"as the job says": {outcome{result: result("stale"), found: true}, "stale", "because"},
		"cancelled, but done": {outcome{result: result("succeeded"), found: true, ending: cancel, ended: true}, "succeeded",
			"because"},
		"cancelled": {outcome{result: result("cancelled"), found: true, ending: cancel, ended: true}, "cancelled", "because"},
		"cancelled, no result": {outcome{ending: cancel, ended: true}, "cancelled",
			"ended without a result when it was interrupted"},
		"out of time": {outcome{result: result("cancelled"), found: true, ending: timeout, ended: true,
			limit: time.Minute}, "failed", "limit of 1m0s and was interrupted: because"},
		"out of time, but done": {outcome{result: result("succeeded"), found: true, ending: timeout, ended: true},
			"succeeded", "because"},
		"out of time, and killed": {outcome{ending: killed, ended: true, limit: time.Minute}, "failed",
			"all its processes were killed"},
		"gone": {outcome{}, "lost", "nothing more runs here"},
		"too large": {outcome{ending: spool.Termination{Reason: spool.ReasonMemory, Killed: true},
			ended: true, memory: 512 << 20}, "failed", "more than its limit of 512 MiB"},
		"interrupted by somebody else": {outcome{result: result("cancelled"), found: true}, "cancelled", "because"},
		"killed, but it left a failure": {outcome{result: result("failed"), found: true, ending: killed, ended: true},
			"failed", "because"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.seen.final()
			if got.Status != test.status || !strings.Contains(got.Error, test.text) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWithoutPanicValue(t *testing.T) {
	text := "before\npanic: secret\nof two lines\n\ngoroutine 7 [running]:\nmain.f(0x1)\n\t/src/f.go:3 +0x1d\n"
	want := []string{"before", "panic: (its value is left out, because it may hold a secret)",
		"goroutine 7 [running]:", "main.f(0x1)", "\t/src/f.go:3 +0x1d"}
	if diff := cmp.Diff(want, withoutPanicValue(text)); diff != "" {
		t.Error(diff)
	}
	index := "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
	if got := withoutPanicValue(index); len(got) != 2 || !strings.Contains(got[0], "index out of range") {
		t.Errorf("got %q", got)
	}
}

// TestTheLimitHasASteadyClock checks the time limit when the machine's clock is
// set while a job runs.
func TestTheLimitHasASteadyClock(t *testing.T) {
	for name, test := range map[string]struct {
		started time.Duration // how long ago
		over    bool
	}{
		"just now":   {0, false},
		"long ago":   {time.Hour, true},
		"in an hour": {-time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{dir: spool.Attempt{Dir: t.TempDir()}, runner: &runner{Options: Options{Timing: timing.Default()}}}
			a.record.Store(&spool.Record{})
			if err := a.dir.MarkStarted(time.Now().Add(-test.started)); err != nil {
				t.Fatal(err)
			}
			if err := a.dir.SaveSpec(api.JobSpec{TimeoutSeconds: 60}); err != nil {
				t.Fatal(err)
			}
			if over, err := a.timeExceeded(); over != test.over || err != nil {
				t.Errorf("over: %v %v", over, err)
			}
			if a.startedAt.After(time.Now()) {
				t.Errorf("it began at %v, in the future", a.startedAt)
			}
			// A clock that is set forward makes the time on disk look old.
			if err := a.dir.MarkStarted(time.Now().Add(-2 * time.Hour)); err != nil {
				t.Fatal(err)
			}
			if over, err := a.timeExceeded(); over != test.over || err != nil {
				t.Errorf("after the clock was set: %v %v", over, err)
			}
		})
	}
}

// TestAJobIsEndedWithoutADisk checks that a job that has filled the disk can still be ended.
func TestAJobIsEndedWithoutADisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not there")
	a := &attempt{dir: spool.Attempt{Dir: dir}, log: slog.New(slog.DiscardHandler), cancel: make(chan struct{})}
	a.record.Store(&spool.Record{})
	a.executor = &jobProcess{attempt: a}
	close(a.cancel)
	for range 2 {
		if ending, ends, err := a.terminationReason(); !ends || err != nil || ending.Reason != spool.ReasonCancel {
			t.Fatalf("got %+v, %v, %v", ending, ends, err)
		}
	}
	ending, _, _ := a.terminationReason()
	if err := a.kill(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // the disk has room again
		t.Fatal(err)
	}
	if again, ends, err := a.terminationReason(); !ends || err != nil || !again.Killed ||
		!again.Since.Equal(ending.Since) {
		t.Errorf("got %+v, %v, %v", again, ends, err)
	}
	if kept, found, err := a.dir.Termination(); !found || err != nil || !kept.Killed {
		t.Errorf("on disk is %+v, %v, %v", kept, found, err)
	}
}
