package runner_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

func writeRules(t testing.TB, dir, text string) {
	t.Helper()
	beside := runner.PolicyFile(dir) + ".new"
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(beside, runner.PolicyFile(dir)); err != nil {
		t.Fatal(err)
	}
}

// TestTheRunnerFileIsHeldByTheRunner checks that the runner itself follows its file:
// the control plane of these tests offers every job.
func TestTheRunnerFileIsHeldByTheRunner(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	writeRules(t, dir, "jobs = [\"plan\"]\n")
	s.offerAfter = time.Second
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	work(t, s, dir)
	s.until("it was offered", func() bool { return job.offered })
	s.until("the rule was told", func() bool {
		return s.policy.Jobs != nil &&
			slices.Equal(*s.policy.Jobs, []string{"plan"})
	})
	s.until("it is offered again, as nobody accepts", func() bool { return job.offers > 1 })
	s.with(func() {
		if job.accepted {
			t.Error("a forbidden job was accepted")
		}
	})
	writeRules(t, dir, "jobs = [\"action\"]\n")
	s.until("the result is there", job.ended)
}

func TestAChangedFileIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	s.hold = time.Hour // only the runner ends a poll
	running := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	work(t, s, dir)
	s.until("a job runs", func() bool { return len(running.lines) > 0 })
	for _, step := range []struct {
		text string
		told func(api.RunnerPolicy) bool
	}{
		{"enabled = false\n", func(p api.RunnerPolicy) bool {
			return p.Off && strings.Contains(p.Reason,
				"enabled = false")
		}},
		// The rule is reported even without capacity for another job.
		{"[limits]\ncapacity = 1\n", func(p api.RunnerPolicy) bool { return !p.Off && p.Limits.Capacity == 1 }},
		{"enabled = perhaps\n", func(p api.RunnerPolicy) bool {
			return p.Off && strings.Contains(p.Reason, "runner.toml:1:11") && p.Limits.Capacity == 1
		}},
		{"[debug]\nlogs = true\n", func(p api.RunnerPolicy) bool { return !p.Off && p.Debug.Logs }},
	} {
		writeRules(t, dir, step.text)
		s.until("told: "+step.text, func() bool { return step.told(s.policy) })
	}
	if err := os.Remove(runner.PolicyFile(dir)); err != nil {
		t.Fatal(err)
	}
	s.until("a file that is gone means off",
		func() bool { return s.policy.Off && strings.Contains(s.policy.Reason, "does not exist") })
	touch(t, dir, "go")
	s.until("what runs goes on", running.ended)
	if running.result.Status != "succeeded" {
		t.Errorf("got %+v", running.result)
	}
}

func TestANamedFileHasToBeThere(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	work(t, s, dir, func(o *runner.Options) { o.Policy = dir + "/own.toml" })
	s.until("it is off", func() bool { return s.policy.Off })
	s.with(func() {
		if job.accepted {
			t.Error("it works without its file")
		}
	})
}

// TestReload checks that a signal makes the runner read the file without waiting.
func TestReload(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	reload := make(chan struct{})
	work(t, s, dir, func(o *runner.Options) { o.Reload, o.Timing.PolicyInterval = reload, time.Hour })
	s.until("it asks", func() bool { return len(s.calls) > 2 })
	writeRules(t, dir, "[debug]\nlogs = true\n")
	reload <- struct{}{}
	s.until("it is told", func() bool { return s.policy.Debug.Logs })
}

// TestAHeldJobFollowsTheFile checks that the owner can forbid a job until it has its spec, although the control plane
// delays its answers: the rule of the offer does not last.
func TestAHeldJobFollowsTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held, file string
		told       func(api.RunnerPolicy) bool
		// released is whether the control plane answers in the end.
		released   bool
		want, text string
	}{
		"the accept is held, and all is off": {held: "/accept", file: "enabled = false\n",
			told: func(p api.RunnerPolicy) bool { return p.Off }, released: true, want: "lost", text: "enabled = false"},
		"the accept is held, and another kind is allowed": {held: "/accept", file: "jobs = [\"plan\"]\n",
			told: func(p api.RunnerPolicy) bool { return p.Jobs != nil }, released: true,
			want: "lost", text: "does not allow jobs of kind action"},
		"the spec is held, and all is off": {held: "/spec", file: "enabled = false\n",
			told: func(p api.RunnerPolicy) bool { return p.Off }, want: "cancelled"},
		"the spec is held, and its role is not allowed": {held: "/spec", file: "[roles]\nallow = []\n",
			told: func(p api.RunnerPolicy) bool { return p.Roles.Allow != nil }, released: true,
			want: "failed", text: "does not assume the role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			writeRules(t, dir, "enabled = true\n")
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			s.with(func() {
				job.spec.Action.InstallID = "ins_1"
				job.spec.Role = api.OperationRole{Cloud: "aws", Name: "ins_1-maintenance", Kind: "maintenance"}
			})
			asked := false
			s.setTrouble(func(r *http.Request, _ bool) int {
				if strings.HasSuffix(r.URL.Path, test.held) {
					s.with(func() { asked = true })
					return http.StatusServiceUnavailable
				}
				return 0
			})
			work(t, s, dir)
			s.until("it was asked", func() bool { return asked })
			writeRules(t, dir, test.file)
			s.until("the rule was told", func() bool { return test.told(s.policy) })
			if test.held == "/spec" && test.released {
				testtime.Until(t, "the rule is recorded", func() bool { return test.told(recordOf(t, dir).Policy) })
			}
			if test.released {
				s.setTrouble(nil)
			}
			s.until("the result is there", job.ended)
			if got := job.result; string(got.Status) != test.want || !strings.Contains(got.Error, test.text) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// recordOf returns the record of the only attempt in the spool.
func recordOf(t testing.TB, dir string) spool.Record {
	t.Helper()
	found, err := (spool.Spool{Root: dir}).List()
	if err != nil || len(found) != 1 {
		t.Fatalf("%d attempts in the spool: %v", len(found), err)
	}
	record, err := found[0].Record()
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestASpecThatIsNotWhatWasOffered checks that a spec must match its offer: a control plane
// whose spec differs from its offer gets nothing done.
func TestASpecThatIsNotWhatWasOffered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, offered string
		change        func(*api.JobSpec)
		want          string
	}{
		"another kind": {"jobs = [\"plan\"]\n", "plan", func(*api.JobSpec) {},
			"offered as plan and its spec is of kind action"},
		"another component": {"components = [\"sandbox\"]\n", "plan", func(spec *api.JobSpec) {
			spec.Kind, spec.Plan.Deploy.ComponentKind = "plan", "terraform_module"
		}, "does not allow components of kind terraform_module"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			writeRules(t, dir, test.file)
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			s.with(func() {
				test.change(&job.spec)
				job.offeredKind, job.componentKind = test.offered, "sandbox"
			})
			work(t, s, dir)
			s.until("the result is there", job.ended)
			if job.result.Status != "failed" || !strings.Contains(job.result.Error, test.want) {
				t.Errorf("got %+v", job.result)
			}
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]map[string]string{"private memory": nil, "shared memory": {"shared": "yes"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			writeRules(t, dir, "[limits]\nmemory = \"64 MiB\"\n")
			job := s.enqueue("job_1", "eat", given)
			work(t, s, dir)
			s.until("the result is there", job.ended)
			if job.result.Status != "failed" || !strings.Contains(job.result.Error, "used more than its limit of 64 MiB") {
				t.Errorf("got %+v", job.result)
			}
			spoolIsEmpty(t, dir)
		})
	}
}

func TestTheOwnersTimeLimit(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]int{"smaller than the spec's": 600, "the spec has none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			writeRules(t, dir, "[limits]\ntimeout = \"1s\"\n")
			job := s.enqueue("job_1", "wait", map[string]string{"file": "never"})
			s.with(func() { job.spec.TimeoutSeconds = timeout })
			work(t, s, dir)
			s.until("the result is there", job.ended)
			if job.result.Status != "failed" || !strings.Contains(job.result.Error, "longer than its limit of 1s") {
				t.Errorf("got %+v", job.result)
			}
		})
	}
	t.Run("nobody says one", func(t *testing.T) {
		t.Parallel()
		s, dir := newServer(t), t.TempDir()
		job := s.enqueue("job_1", "wait", map[string]string{"file": "never"})
		s.with(func() { job.spec.TimeoutSeconds = 0 })
		work(t, s, dir, func(o *runner.Options) { o.Timing.JobLimit = time.Second })
		s.until("the result is there", job.ended)
		if job.result.Status != "failed" || !strings.Contains(job.result.Error, "longer than its limit of 1s") {
			t.Errorf("got %+v", job.result)
		}
	})
}
