package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// working is a runner that runs in this process.
type working struct {
	stop    context.CancelFunc
	abandon chan struct{}
	ended   chan error
}

func work(t testing.TB, s *server, dir string, change ...func(*runner.Options)) *working {
	ctx, stop := context.WithCancel(t.Context())
	w := &working{stop: stop, abandon: make(chan struct{}), ended: make(chan error, 1)}
	options := testOptions(s.http.URL, dir)
	options.StopNow = w.abandon
	options.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	for _, apply := range change {
		apply(&options)
	}
	go func() { w.ended <- runner.Run(ctx, options) }()
	t.Cleanup(func() { w.end(t) })
	return w
}

// end stops the runner; long jobs continue.
func (w *working) end(t testing.TB) {
	if w.ended == nil {
		return
	}
	w.stop()
	select {
	case err := <-w.ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the runner ended with %v", err)
		}
	case <-testtime.After():
		t.Error("the runner does not end")
	}
	w.ended = nil
}

func spoolIsEmpty(t testing.TB, dir string) {
	t.Helper()
	testtime.Until(t, "the spool is empty", func() bool {
		entries, err := os.ReadDir(filepath.Join(dir, "spool"))
		return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
	})
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (j *served) ended() bool { return j.result != nil }

func TestRegisterLeaseAcceptRunResult(t *testing.T) { onEachExecutor(t, registerLeaseAcceptRunResult) }

func registerLeaseAcceptRunResult(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1200"})
	w := work(t, s, dir, racedJobs)
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	w.end(t)

	if diff := cmp.Diff(api.JobResult{Status: "succeeded"}, *job.result); diff != "" {
		t.Error(diff)
	}
	if got := job.messages(); len(got) != 1200 || got[0] != "line 0" || got[1199] != "line 1199" {
		t.Errorf("%d lines came", len(got))
	}
	if len(job.lines) < 3 {
		t.Errorf("1200 lines came in %d chunks", len(job.lines))
	}
	key, err := seal.LoadIdentity(runner.KeyFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	if s.recipient != key.Recipient().String() {
		t.Error("registered with another key than the one on disk")
	}
	info, err := os.Stat(filepath.Join(dir, "runner.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("runner.json: %v %v", info.Mode(), err)
	}
	// A second start needs no token, and does not register again.
	second := s.enqueue("job_2", "log", map[string]string{"lines": "1"})
	work(t, s, dir, func(o *runner.Options) { o.Token = seal.Secret{} })
	s.until("the second result is there", second.ended)
}

func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, test := range map[string]struct{ token, want string }{
		"wrong token": {"wrong", "create a new one"},
		"no token":    {"", "NUON_REGISTRATION_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := testOptions(s.http.URL, t.TempDir())
			options.Token = seal.NewSecret([]byte(test.token))
			err := runner.Run(t.Context(), options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("used token", func(t *testing.T) {
		t.Parallel()
		work(t, s, t.TempDir())
		s.until("the token is used", func() bool { return s.token == "" })
		err := runner.Run(t.Context(), testOptions(s.http.URL, t.TempDir()))
		if err == nil || !strings.Contains(err.Error(), "token_used") {
			t.Errorf("got %v", err)
		}
	})
}

func TestALostInstallKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	w := work(t, s, dir)
	testtime.Until(t, "it is registered",
		func() bool { _, err := os.Stat(filepath.Join(dir, "runner.json")); return err == nil })
	w.end(t)
	if err := os.Remove(runner.KeyFile(dir)); err != nil {
		t.Fatal(err)
	}
	err := runner.Run(t.Context(), testOptions(s.http.URL, dir))
	if err == nil || !strings.Contains(err.Error(), "install key cannot be used") {
		t.Errorf("got %v", err)
	}
}

func TestTwoRunnersInOneDirectory(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	work(t, s, dir)
	s.until("the first has registered", func() bool { return s.token == "" })
	err := runner.Run(t.Context(), testOptions(s.http.URL, dir))
	if err == nil || !strings.Contains(err.Error(), "another runnerd is running in") {
		t.Errorf("got %v", err)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	var jobs []*served
	for i := range 5 {
		jobs = append(jobs, s.enqueue(fmt.Sprintf("job_%d", i), "wait and succeed", map[string]string{"file": "go"}))
	}
	work(t, s, dir)
	s.until("two have begun", func() bool { return len(jobs[0].lines) > 0 && len(jobs[1].lines) > 0 })
	s.until("some beats have passed", func() bool { return jobs[0].beats >= 3 })
	s.with(func() {
		running := 0
		for _, job := range jobs {
			if job.accepted {
				running++
			}
		}
		if running != 2 {
			t.Errorf("%d run at once, 2 may", running)
		}
	})
	touch(t, dir, "go")
	s.until("all are done", func() bool {
		return !slices.ContainsFunc(jobs, func(j *served) bool { return !j.ended() })
	})
}

// TestEverythingArrivesOnceThroughATroubledLine makes every second call fail before or after
// the server has executed it.
func TestEverythingArrivesOnceThroughATroubledLine(t *testing.T) {
	onEachExecutor(t, everythingArrivesOnceThroughATroubledLine)
}

func everythingArrivesOnceThroughATroubledLine(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	var n atomic.Int64
	s.setTrouble(func(r *http.Request, after bool) int {
		if after && strings.HasSuffix(r.URL.Path, "/lease") {
			return 0 // lost offers are repeated with another number
		}
		switch n.Add(1) % 7 {
		case 1:
			return http.StatusBadGateway
		case 3:
			return noAnswer
		case 5:
			if after {
				return http.StatusInternalServerError
			}
		}
		return 0
	})
	log := s.enqueue("job_log", "log", map[string]string{"lines": "3000"})
	states := s.enqueue("job_states", "states", nil)
	alreadyRegistered(t, s, dir) // it is not about registrations, see TestEveryWeather
	work(t, s, dir)
	s.until("both are done", func() bool { return log.ended() && states.ended() })
	s.setTrouble(nil)
	spoolIsEmpty(t, dir)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	got := log.messages()
	for i := range 3000 {
		if i >= len(got) || got[i] != fmt.Sprintf("line %d", i) {
			t.Fatalf("%d lines came; line %d is wrong", len(got), i)
		}
	}
	if log.result.Status != "succeeded" || states.result.Status != "succeeded" {
		t.Errorf("results: %+v %+v", log.result, states.result)
	}
	if len(states.states) != 3 || states.states[2].Serial != 3 || states.locked {
		t.Errorf("states: %d, locked: %v", len(states.states), states.locked)
	}
}

func TestStatesComeBeforeUnlockAndResult(t *testing.T) {
	onEachExecutor(t, statesComeBeforeUnlockAndResult)
}

func statesComeBeforeUnlockAndResult(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "states", nil)
	work(t, s, dir, racedJobs)
	s.until("the result is there", job.ended)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	important := slices.DeleteFunc(slices.Clone(job.order), func(what string) bool { return what == "log" })
	if diff := cmp.Diff([]string{"state", "state", "state", "unlock", "result"}, important); diff != "" {
		t.Error(diff)
	}
	key, err := seal.LoadIdentity(runner.KeyFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := key.Open(job.states[2].Sealed, seal.Context{Kind: seal.KindState})
	if err != nil || string(plain.Reveal()) != "state 3" {
		t.Errorf("the last state: %v", err)
	}
}

// TestOutageDuringAJob checks that a running job finishes while the control plane
// is unreachable, and that everything arrives later.
func TestOutageDuringAJob(t *testing.T) { onEachExecutor(t, outageDuringAJob) }

func outageDuringAJob(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "states", map[string]string{"file": "go"})
	work(t, s, dir)
	s.until("it holds the lock", func() bool { return job.locked && job.runs() })
	s.setTrouble(func(*http.Request, bool) int { return noAnswer })
	touch(t, dir, "go")
	results, err := filepath.Glob(filepath.Join(dir, "spool", "*", "result.json"))
	testtime.Until(t, "the job has ended", func() bool {
		results, err = filepath.Glob(filepath.Join(dir, "spool", "*", "result.json"))
		return err != nil || len(results) == 1
	})
	s.with(func() {
		if job.ended() || len(job.states) > 0 {
			t.Error("something came through")
		}
	})
	s.setTrouble(nil)
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if job.result.Status != "succeeded" || len(job.states) != 3 || job.locked {
		t.Errorf("result %+v, %d states, locked %v", job.result, len(job.states), job.locked)
	}
}

func TestCancel(t *testing.T) { onEachExecutor(t, cancelJobs) }

func cancelJobs(t *testing.T, newDir func(*testing.T) string) {
	for name, test := range map[string]struct{ do, status, text string }{
		"graceful":    {"wait", "cancelled", "wait for never"},
		"done before": {"finish in spite of the interrupt", "succeeded", ""},
		"hard":        {"deaf", "cancelled", "all its processes were killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), newDir(t)
			job := s.enqueue("job_1", test.do, map[string]string{"file": "never"})
			work(t, s, dir, racedJobs, func(o *runner.Options) {
				if test.do == "deaf" {
					hasty(o)
				}
			})
			s.until("it runs", job.runs)
			s.with(func() { job.cancel = true })
			s.until("the result is there", job.ended)
			if string(job.result.Status) != test.status || !strings.Contains(job.result.Error, test.text) {
				t.Errorf("got %+v", job.result)
			}
			if test.do == "deaf" && !runsPods(dir) { // the processes of a container end with it
				isGone(t, dir, "child.pid")
				isGone(t, dir, "orphan.pid")
			}
		})
	}
}

func TestTimeLimit(t *testing.T) { onEachExecutor(t, timeLimit) }

func timeLimit(t *testing.T, newDir func(*testing.T) string) {
	for do, text := range map[string]string{"wait": "was interrupted: wait for never",
		"deaf": "all its processes were killed"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			// The start of the job counts, and takes longer on a busy machine.
			for limit := 1; ; limit *= 2 {
				result := limited(t, newDir(t), do, limit)
				if !strings.Contains(result.Error, text) && limit < 300 {
					continue
				}
				if result.Status != "failed" || !strings.Contains(result.Error, text) ||
					!strings.Contains(result.Error, fmt.Sprintf("longer than its limit of %v", time.Duration(limit)*time.Second)) {
					t.Errorf("got %+v", result)
				}
				return
			}
		})
	}
}

// limited returns the result of a job that never ends, with a time limit in seconds.
func limited(t *testing.T, dir, do string, limit int) api.JobResult {
	t.Helper()
	s := newServer(t)
	job := s.enqueue("job_1", do, map[string]string{"file": "never"})
	s.with(func() { job.spec.TimeoutSeconds = limit })
	work(t, s, dir, racedJobs, func(o *runner.Options) {
		if do == "deaf" {
			hasty(o)
		}
	})
	s.until("the result is there", job.ended)
	return *job.result
}

// pidIn returns the process id that a job has written to a file.
func pidIn(t *testing.T, dir, file string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func isGone(t *testing.T, dir, file string) {
	t.Helper()
	pid := pidIn(t, dir, file)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("%s: process %d still runs: %s", file, pid, stat)
	}
}

func TestNothingOfAJobOutlivesIt(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "leave a process behind", nil)
	work(t, s, dir)
	s.until("the result is there", job.ended)
	isGone(t, dir, "left.pid")
}

// startProgram starts runnerd as a separate program that can be killed.
func startProgram(t *testing.T, s *server, dir string) *exec.Cmd {
	t.Helper()
	command := exec.Command(self(), "run", s.http.URL, dir)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stopAtTheEnd(t, command)
	return command
}

// stopAtTheEnd stops a runnerd as its owner would, so that it cleans up, unless
// the test has killed it.
func stopAtTheEnd(t *testing.T, command *exec.Cmd) {
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		//walltime: only ends a hang
		hung := time.AfterFunc(testtime.Limit, func() { _ = command.Process.Kill() })
		defer hung.Stop()
		_ = command.Wait()
	})
}

func TestKilledRunnerdIsFollowedByOneThatAdopts(t *testing.T) {
	onEachExecutor(t, killedRunnerdIsFollowedByOneThatAdopts)
}

func killedRunnerdIsFollowedByOneThatAdopts(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	first := startProgram(t, s, dir)
	s.until("it runs", job.runs)
	pid := pidOfJob(t, dir)
	_ = first.Process.Kill()
	_ = first.Wait()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the job died with its runnerd: %v", err)
	}
	var before int
	s.with(func() { before = job.beats })
	startProgram(t, s, dir)
	s.until("the next runnerd keeps its lease", func() bool { return job.beats > before })
	touch(t, dir, "go")
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if diff := cmp.Diff([]string{"waiting", "waited"}, job.messages()); diff != "" || job.result.Status != "succeeded" {
		t.Errorf("%+v\n%s", job.result, diff)
	}
}

func pidOfJob(t *testing.T, dir string) (pid int) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "spool", "job_1.1", "process.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(content), `{"pid":%d`, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestResultWaitsForTheNextRunnerd checks a job that ends while no runnerd runs, with a log
// that is partly shipped twice.
func TestResultWaitsForTheNextRunnerd(t *testing.T) { onEachExecutor(t, resultWaitsForTheNextRunnerd) }

func resultWaitsForTheNextRunnerd(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	first := startProgram(t, s, dir)
	s.until("it runs", job.runs)
	_ = first.Process.Kill()
	_ = first.Wait()
	touch(t, dir, "go")
	testtime.Until(t, "the job has ended", func() bool {
		_, err := os.Stat(filepath.Join(dir, "spool", "job_1.1", "result.json"))
		return err == nil
	})
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if got := job.messages(); !slices.Equal(got, []string{"waiting", "waited"}) {
		t.Errorf("log: %q", got)
	}
}

func TestAStoppedRunnerLeavesItsJobs(t *testing.T) { onEachExecutor(t, aStoppedRunnerLeavesItsJobs) }

func aStoppedRunnerLeavesItsJobs(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	w := work(t, s, dir)
	s.until("it runs", job.runs)
	w.end(t)
	if job.ended() {
		t.Fatalf("got %+v", job.result)
	}
	touch(t, dir, "go")
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "succeeded" {
		t.Errorf("got %+v", job.result)
	}
}

func TestAStoppedRunnerWaitsForWhatEndsSoon(t *testing.T) {
	onEachExecutor(t, aStoppedRunnerWaitsForWhatEndsSoon)
}

func aStoppedRunnerWaitsForWhatEndsSoon(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	w := work(t, s, dir, func(o *runner.Options) { o.Timing.StopWait = time.Hour })
	s.until("it runs", job.runs)
	w.stop()
	touch(t, dir, "go")
	w.end(t)
	s.with(func() {
		if !job.ended() {
			t.Error("it did not wait")
		}
	})
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "wait", map[string]string{"file": "go"})
	w := work(t, s, dir, func(o *runner.Options) { o.Timing.StopWait = time.Hour })
	s.until("it runs", job.runs)
	close(w.abandon)
	w.end(t)
	if err := syscall.Kill(-pidOfJob(t, dir), syscall.SIGKILL); err != nil {
		t.Errorf("the job did not go on: %v", err)
	}
}

func TestKilledJobIsLost(t *testing.T) { onEachExecutor(t, killedJobIsLost) }

func killedJobIsLost(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "deaf", nil)
	work(t, s, dir)
	s.until("it runs", job.runs)
	if err := syscall.Kill(pidOfJob(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("the result is there", job.ended)
	if job.result.Status != "lost" || !strings.Contains(job.result.Error, "nothing more runs here") {
		t.Errorf("got %+v", job.result)
	}
	if runsPods(dir) {
		return // the processes of a container end with it
	}
	// The result is true: the processes that it had started have ended, too.
	isGone(t, dir, "child.pid")
	isGone(t, dir, "orphan.pid")
}

// TestAfterAKilledJob checks that no file of a killed job is left, not even while its
// result is being delivered.
func TestAfterAKilledJob(t *testing.T) { onEachExecutor(t, afterAKilledJob) }

func afterAKilledJob(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "rendered secrets", nil)
	settled := make(chan api.JobSpec, 1)
	work(t, s, dir, func(o *runner.Options) {
		o.FinishKilled = func(root string, attempt spool.Attempt, spec api.JobSpec) ([]string, error) {
			if root != dir {
				t.Errorf("the runner's directory is said to be %s", root)
			}
			if _, err := os.Stat(attempt.WorkDir()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("its work directory is still there: %v", err)
			}
			settled <- spec
			return []string{"settled"}, nil
		}
	})
	s.until("it runs", job.runs)
	if err := syscall.Kill(pidOfJob(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("the result is there", job.ended)
	if spec := <-settled; spec.Job != "job_1" || job.result.Status != "lost" {
		t.Errorf("got %+v, %+v", spec, job.result)
	}
	if got := job.messages(); got[len(got)-1] != "settled" {
		t.Errorf("the log is %q", got)
	}
}

func TestASupersededAttemptDelivers(t *testing.T) { onEachExecutor(t, aSupersededAttemptDelivers) }

func aSupersededAttemptDelivers(t *testing.T, newDir func(*testing.T) string) {
	s, dir := newServer(t), newDir(t)
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	work(t, s, dir)
	s.until("it runs", job.runs)
	s.with(func() { job.superseded = true })
	beats := 0
	s.with(func() { beats = job.beats })
	s.until("it was told", func() bool { return job.beats > beats+1 })
	touch(t, dir, "go")
	s.until("the result is there", job.ended)
	if job.result.Status != "succeeded" {
		t.Errorf("got %+v", job.result)
	}
}

func TestSecretsStayInTheJob(t *testing.T) { onEachExecutor(t, secretsStayInTheJob) }

func secretsStayInTheJob(t *testing.T, newDir func(*testing.T) string) {
	for do, want := range map[string]string{
		"secrets": "cannot log in with (sensitive); change it",
		"panic":   "crashed",
		"crash":   "ended without a result",
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), newDir(t)
			job := s.enqueue("job_1", do, nil)
			work(t, s, dir, racedJobs)
			s.until("the result is there", job.ended)
			if !strings.Contains(job.result.Error, want) {
				t.Errorf("got %+v", job.result)
			}
			log := strings.Join(job.messages(), "\n")
			if strings.Contains(log+job.result.Error, "hunter2") {
				t.Errorf("the secret got out: %s\n%s", log, job.result.Error)
			}
			for _, line := range map[string][]string{
				"secrets": {"the password is (sensitive)", "a library prints (sensitive)"},
				"panic":   {"with (sensitive)", "program_test.go"},
				"crash":   {"its value is left out", "program_test.go"},
			}[do] {
				if !strings.Contains(log, line) {
					t.Errorf("the log lacks %q:\n%s", line, log)
				}
			}
		})
	}
}

// TestTheEnvironmentIsClean checks that a job sees the environment that its runner's owner
// intends: on an install runner the cloud identity and the named variables, and that the log
// has no credential of either.
func TestTheEnvironmentIsClean(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "planted-credential")
	t.Setenv("AWS_REGION", "eu-1")
	t.Setenv("VENDOR_API", "planted-named")
	t.Setenv("SOMETHING_ELSE", "not-for-jobs")
	t.Setenv("TF_CLI_ARGS_apply", "not-for-jobs")
	t.Setenv("NUON_REGISTRATION_TOKEN", "not-for-jobs")
	t.Setenv("NUON_REGISTRY_PASSWORD", "registry-password")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "key=collector-key")
	const masked = "(sensitive)"
	kubeConfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeConfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string][]string{
		"install": {"PATH=", "AWS_REGION=eu-1", "AWS_SECRET_ACCESS_KEY=" + masked, "VENDOR_API=" + masked,
			"NUON_KUBECONFIG=" + kubeConfig},
		"build": {"PATH=", "VENDOR_API=" + masked},
	} {
		t.Run(kind, func(t *testing.T) {
			s, dir := newServer(t), t.TempDir()
			s.kind = kind
			job := s.enqueue("job_1", "environment", nil)
			work(t, s, dir, func(o *runner.Options) {
				o.PassEnv, o.KubeConfig = append(o.PassEnv, "VENDOR_API"), kubeConfig
				o.RegistryPassword = seal.NewSecret([]byte("registry-password"))
			})
			s.until("the result is there", job.ended)
			shown, err := os.ReadFile(filepath.Join(dir, "environ"))
			if err != nil || len(shown) == 0 {
				t.Fatalf("%q %v", shown, err)
			}
			for _, secret := range []string{"attempt-token", "registry-password", "collector-key", "not-for-jobs"} {
				if bytes.Contains(shown, []byte(secret)) {
					t.Errorf("the kernel shows %s in the environment of the job process", secret)
				}
			}
			log := strings.Join(job.messages(), "\n")
			for _, bad := range []string{"not-for-jobs", "registry-password", "attempt-token", "NUON_JOB_TOKEN", "planted"} {
				if strings.Contains(log, bad) {
					t.Errorf("the environment has %q:\n%s", bad, log)
				}
			}
			for _, good := range want {
				if !strings.Contains(log, good) {
					t.Errorf("the environment lacks %s:\n%s", good, log)
				}
			}
			if kind == "build" && (strings.Contains(log, "AWS_") || strings.Contains(log, "KUBECONFIG")) {
				t.Errorf("a build sees a cloud identity, or a cluster:\n%s", log)
			}
		})
	}
}

func TestOffersThatAreNone(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	s.with(func() {
		bad := &served{spec: api.JobSpec{Job: "../../etc", Attempt: 1}}
		s.queue = append(s.queue, bad)
	})
	good := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	work(t, s, dir)
	s.until("the good one is done", good.ended)
	if _, err := os.Stat(filepath.Join(dir, "..", "etc")); err == nil {
		t.Error("the runner left its directory")
	}
}

func TestAnOfferThatIsGone(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	gone := s.enqueue("job_gone", "log", nil)
	s.setTrouble(func(r *http.Request, after bool) int {
		if !after && strings.HasSuffix(r.URL.Path, "job_gone/attempts/1/accept") {
			return http.StatusConflict
		}
		return 0
	})
	work(t, s, dir)
	s.until("it was offered", func() bool { return gone.offered })
	next := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	s.until("the next is done", next.ended)
	spoolIsEmpty(t, dir)
	if gone.results > 0 || gone.accepted {
		t.Errorf("got %+v", gone)
	}
}

// TestAnAcceptThatWasNotHeardIsGivenBack checks the case that the response to accept is lost,
// and the next one reports that the offer has expired.
func TestAnAcceptThatWasNotHeardIsGivenBack(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "log", nil)
	var tries atomic.Int64
	s.setTrouble(func(r *http.Request, after bool) int {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/accept"):
			return 0
		case after:
			return noAnswer
		case tries.Add(1) > 1:
			return http.StatusConflict
		}
		return 0
	})
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "lost" || !strings.Contains(job.result.Error, "nothing of this job ran") {
		t.Errorf("got %+v", job.result)
	}
	spoolIsEmpty(t, dir)
}

// TestARefusedStateIsKept checks that content that the server rejects permanently is stored,
// and that a rejected state is no success.
func TestARefusedStateIsKept(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "states", nil)
	s.setTrouble(func(r *http.Request, after bool) int {
		if !after && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state") {
			return http.StatusConflict
		}
		return 0
	})
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "failed" || !strings.Contains(job.result.Error, "rejected a Terraform state") {
		t.Errorf("got %+v", job.result)
	}
	spoolIsEmpty(t, dir)
	kept, err := filepath.Glob(filepath.Join(dir, "undelivered", "job_1.1-*", "state", "*.rejected"))
	if err != nil || len(kept) != 3 {
		t.Errorf("kept: %v %v", kept, err)
	}
}

// TestStatesWithoutRoomStayAndArriveLater checks that a control plane without room gets
// the states later, and then the unlock and the result. Meanwhile the log has the reason.
func TestStatesWithoutRoomStayAndArriveLater(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "states", nil)
	var refused atomic.Int64
	s.setTrouble(func(r *http.Request, after bool) int {
		if !after && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state") {
			refused.Add(1)
			return http.StatusInsufficientStorage
		}
		return 0
	})
	work(t, s, dir)
	s.until("the log says that there is no room", func() bool {
		return refused.Load() > 3 && strings.Contains(strings.Join(job.messages(), "\n"),
			"no room for the state that this job wrote")
	})
	s.with(func() {
		if len(job.states) > 0 || job.result != nil || !job.locked {
			t.Errorf("%d states, result %v, locked %v, while there is no room", len(job.states), job.result, job.locked)
		}
		s.trouble = nil
	})
	s.until("the result is there", job.ended)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	important := slices.DeleteFunc(slices.Clone(job.order), func(what string) bool { return what == "log" })
	if diff := cmp.Diff([]string{"state", "state", "state", "unlock", "result"}, important); diff != "" {
		t.Error(diff)
	}
	if job.result.Status != "succeeded" {
		t.Errorf("the job ended as %+v", job.result)
	}
}

func TestALockedStateNamesItsHolder(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	holder := s.enqueue("job_holder", "states", map[string]string{"file": "go"})
	work(t, s, dir)
	s.until("one holds the lock", func() bool { return holder.locked })
	other := s.enqueue("job_1", "states", nil)
	s.until("the other is done", other.ended)
	if other.result.Status != "failed" || !strings.Contains(other.result.Error, "locked by job_holder") {
		t.Errorf("got %+v", other.result)
	}
	touch(t, dir, "go")
	s.until("the holder is done", holder.ended)
}

// alreadyRegistered writes the files of a registration to dir, for a server that
// has offered a job to it.
func alreadyRegistered(t *testing.T, s *server, dir string) spool.Spool {
	t.Helper()
	s.with(func() { s.token = "" })
	if err := os.WriteFile(filepath.Join(dir, "runner.json"),
		[]byte(`{"runner_id":"run_1","runner_key":"key-of-the-runner"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.CreateIdentity(runner.KeyFile(dir)); err != nil {
		t.Fatal(err)
	}
	return spool.Spool{Root: dir}
}

// TestAdopt checks how a runnerd continues from the state that a killed
// runnerd leaves at each step.
func TestAdopt(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(24 * time.Hour)
	for name, test := range map[string]struct {
		record   spool.Record
		file     string // the current runner file
		prepare  func(spool.Attempt) error
		accepted bool
		status   api.JobResultStatus
		text     string
	}{
		"before it accepted": {
			record: spool.Record{AcceptBy: soon}, status: "succeeded",
		},
		"while it accepted, too late": {
			record: spool.Record{}, accepted: true, status: "lost", text: "nothing of this job ran",
		},
		"before it started the process": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, status: "succeeded",
		},
		"before it accepted, and its owner forbids it since": {
			record: spool.Record{AcceptBy: soon}, file: "enabled = false\n", status: "lost", text: "nothing of this job ran",
		},
		"before it started the process, and its owner forbids it since": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, file: "jobs = [\"plan\"]\n",
			status: "lost", text: "does not allow jobs of kind action",
		},
		"as it started the process, and its owner forbids it since": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, file: "enabled = false\n",
			status: "stale", text: "moved",
			prepare: func(a spool.Attempt) error {
				return errors.Join(a.MarkStarted(time.Now()), a.SaveResult(api.JobResult{Status: "stale", Error: "moved"}))
			},
		},
		"as it started the process": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, status: "lost", text: "nothing more runs here",
			prepare: func(a spool.Attempt) error { return a.MarkStarted(time.Now()) },
		},
		"after the process ended": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, status: "stale", text: "moved",
			prepare: func(a spool.Attempt) error {
				return errors.Join(a.MarkStarted(time.Now()), a.SaveResult(api.JobResult{Status: "stale", Error: "moved"}))
			},
		},
		"after the process was killed": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, status: "cancelled", text: "were killed",
			prepare: func(a spool.Attempt) error {
				return errors.Join(a.MarkStarted(time.Now()), a.SaveTermination(spool.Termination{Reason: spool.ReasonCancel,
					Killed: true}))
			},
		},
		"with a broken result": {
			record: spool.Record{Token: "attempt-token-job_1"}, accepted: true, status: "failed", text: "cannot be used",
			prepare: func(a spool.Attempt) error {
				return errors.Join(a.MarkStarted(time.Now()),
					os.WriteFile(filepath.Join(a.Dir, "result.json"), []byte("nonsense"), 0o600))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			s.with(func() { s.queue, job.offered, job.offeredAt, job.accepted = nil, true, soon, test.accepted })
			test.record.Job, test.record.Attempt, test.record.Kind = "job_1", 1, "action"
			attempt, err := alreadyRegistered(t, s, dir).Create(test.record)
			if err == nil && test.prepare != nil {
				err = test.prepare(attempt)
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.file != "" {
				writeRules(t, dir, test.file)
			}
			work(t, s, dir)
			s.until("the result is there", job.ended)
			if job.accepted != (test.accepted || test.status == "succeeded") {
				t.Error("it was accepted")
			}
			if job.result.Status != test.status || !strings.Contains(job.result.Error, test.text) {
				t.Errorf("got %+v", job.result)
			}
			spoolIsEmpty(t, dir)
		})
	}
}

// TestAPageOfAProxyDeliversNothing checks that nothing counts as delivered to a proxy
// that responds with success to everything while the control plane is unreachable.
func TestAPageOfAProxyDeliversNothing(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	var mutex sync.Mutex
	had := map[string]bool{}
	s.setTrouble(func(r *http.Request, after bool) int {
		mutex.Lock()
		defer mutex.Unlock()
		if call := r.Method + r.URL.Path; !after && !had[call] {
			had[call] = true
			return aPage
		}
		return 0
	})
	dirs := alreadyRegistered(t, s, dir)
	job := s.enqueue("job_1", "states", nil)
	work(t, s, dirs.Root)
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	if len(job.states) != 3 || job.locked || len(job.messages()) != 1 || job.result.Status != "succeeded" {
		t.Errorf("%d states, locked %v, log %q, %+v", len(job.states), job.locked, job.messages(), job.result)
	}
}

// TestAnUnusableResultIsReplaced checks that a job ends even if the server rejects its result.
func TestAnUnusableResultIsReplaced(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	var tries atomic.Int64
	s.setTrouble(func(r *http.Request, after bool) int {
		if !after && strings.HasSuffix(r.URL.Path, "/result") && tries.Add(1) == 1 {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "failed" || !strings.Contains(job.result.Error, "ended as succeeded") {
		t.Errorf("got %+v", job.result)
	}
	spoolIsEmpty(t, dir)
	if kept, err := filepath.Glob(filepath.Join(dir, "undelivered", "job_1.1-*", "result.json")); err != nil ||
		len(kept) != 1 {
		t.Errorf("kept: %v %v", kept, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	if _, err := runner.ReadStatus(runner.StatusOptions{Dir: filepath.Join(dir, "none")}); err == nil ||
		!strings.Contains(err.Error(), "--dir") {
		t.Errorf("got %v", err)
	}
	read := func() runner.Status {
		status, err := runner.ReadStatus(runner.StatusOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	if got := read(); got.Runner != "" || got.Running || len(got.Attempts) != 0 {
		t.Errorf("an empty directory: %+v", got)
	}
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	s.with(func() { job.spec.Action.InstallID = "ins_1" })
	w := work(t, s, dir)
	s.until("it runs", job.runs)
	got := read()
	if !got.Running || got.Runner != "run_1" || got.Kind != "install" || got.KeySince.IsZero() {
		t.Errorf("got %+v", got)
	}
	key, err := seal.LoadIdentity(runner.KeyFile(dir))
	if err != nil || got.KeyFingerprint != key.Recipient().Fingerprint() {
		t.Errorf("got the fingerprint %q, %v", got.KeyFingerprint, err)
	}
	if len(got.Attempts) != 1 || got.Attempts[0].Status != "running" || got.Attempts[0].Install != "ins_1" ||
		got.Attempts[0].Started.IsZero() {
		t.Errorf("got %+v", got.Attempts)
	}
	w.end(t)
	s.http.Close()
	touch(t, dir, "go")
	testtime.Until(t, "the job ends without its runnerd",
		func() bool { got = read(); return len(got.Attempts) == 1 && got.Attempts[0].Status == "ended" })
	if got.Running {
		t.Error("nobody works here")
	}
}
