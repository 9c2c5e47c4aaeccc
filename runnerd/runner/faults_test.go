package runner_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// step is a point in an attempt's life at which something is killed.
type step struct {
	name string
	// held is a call that is delayed until the kill is done; empty for none.
	held string
	// file, when set, exists in the runner's or the attempt's directory at this step;
	// otherwise the step is when held has arrived.
	file string
	// pause is where the job waits for the kill.
	pause string
	// late means that the job may have left its result already.
	late bool
}

var steps = []step{
	{name: "offered", held: "/accept"},
	{name: "accepted", held: "/spec", file: "spool/job_1.1/started.json"},
	{name: "started", held: "/spec", file: "spool/job_1.1/process.json"},
	{name: "fetching the spec", held: "/spec"},
	{name: "running", file: "locked", pause: "running"},
	{name: "writing state", file: "wrote-1", pause: "writing"},
	{name: "concluding", held: "/result", file: "spool/job_1.1/result.json", late: true},
	{name: "delivering states", held: "/state", late: true},
	{name: "delivering lines", held: "/attempts/1/logs", late: true},
	{name: "delivering the result", held: "/result", late: true},
}

// TestEveryPlug kills each process at each step, and checks that there is one result, that each
// state and line arrives once, and that no process is left.
func TestEveryPlug(t *testing.T) {
	t.Parallel()
	for _, at := range steps {
		for _, plug := range []string{"runnerd", "runnerd and all its children", "the job process"} {
			if at.name == "offered" && plug == "the job process" {
				continue // there is no job process yet
			}
			t.Run(at.name+"/"+plug, func(t *testing.T) { pull(t, at, plug) })
		}
	}
}

func pull(t *testing.T, at step, plug string) { pullIn(t, at, plug, t.TempDir()) }

func pullIn(t *testing.T, at step, plug, dir string) {
	t.Parallel()
	s := newServer(t)
	came, pulled := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(pulled) })
	t.Cleanup(release)
	var once sync.Once
	s.setTrouble(func(r *http.Request, after bool) int {
		if !after && at.held != "" && strings.HasSuffix(r.URL.Path, at.held) {
			once.Do(func() { close(came) })
			<-pulled
		}
		return 0
	})
	job := s.enqueue("job_1", "plugged", map[string]string{"pause": at.pause})
	program := startProgram(t, s, dir)
	if at.file != "" {
		testtime.Until(t, at.file+" is there",
			func() bool { _, err := os.Stat(filepath.Join(dir, at.file)); return err == nil })
	} else {
		testtime.Receive(t, came, "the call of "+at.held)
	}
	kill(t, program.Process.Pid, dir, plug)
	release()
	touch(t, dir, "go on")
	if plug != "the job process" {
		_ = program.Wait()
		startProgram(t, s, dir)
	}
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	check(t, s, dir, job)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if plug == "runnerd" && job.result.Status != api.JobResultStatusSucceeded {
		t.Errorf("the job did not go on without its runnerd: %+v", job.result)
	}
	if plug != "runnerd" && !at.late && at.name != "offered" && job.result.Status != api.JobResultStatusLost {
		t.Errorf("the job was killed, and ended as %+v", job.result)
	}
}

// kill kills the processes that plug names.
func kill(t *testing.T, runnerd int, dir, plug string) {
	t.Helper()
	attempt := spool.Attempt{Dir: filepath.Join(dir, "spool", "job_1.1")}
	var leader spool.Process
	if plug == "the job process" {
		testtime.Until(t, "it is known which process the job is", func() (found bool) {
			var err error
			if leader, found, err = attempt.Process(); err != nil {
				t.Fatal(err)
			}
			return found
		})
	}
	if plug == "runnerd and all its children" {
		// runnerd is stopped, so that it cannot start a child unnoticed.
		if err := syscall.Kill(runnerd, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		testtime.Until(t, "runnerd stands still", func() bool {
			stat, err := spool.ReadStat(runnerd)
			return err == nil && stat.State == 'T'
		})
	}
	all, err := fault.Processes()
	if err != nil {
		t.Fatal(err)
	}
	victims := []fault.Process{all[runnerd]}
	switch plug {
	case "the job process":
		victims = nil // it may have ended
		if now, there := all[leader.PID]; there && now.Start == leader.Start {
			victims = []fault.Process{now}
		}
	case "runnerd and all its children":
		victims = append(victims, fault.Descendants(all, runnerd)...)
	}
	for _, victim := range victims {
		if _, err := fault.Kill(victim); err != nil {
			t.Fatal(err)
		}
	}
}

// check compares what arrived with what the job did.
func check(t *testing.T, s *server, dir string, job *served) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	did := func(file string) bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil }
	for i := range 3 {
		// A version that was being written when its writer died may or may not have arrived.
		if did(fmt.Sprintf("wrote-%d", i+1)) && len(job.states) <= i {
			t.Errorf("state %d was written, and %d arrived", i+1, len(job.states))
		}
	}
	for i, state := range job.states {
		if state.Serial != int64(i+1) {
			t.Errorf("state %d has serial %d", i, state.Serial)
		}
	}
	lines := []string{"locked"}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	got := job.messages()
	if did("locked") && len(got) < 101 || len(got) > 101 || !slices.Equal(got, lines[:len(got)]) {
		t.Errorf("these lines came: %q", got)
	}
	switch job.result.Status {
	case api.JobResultStatusSucceeded:
		if len(job.states) != 3 || job.locked || len(got) != 101 {
			t.Errorf("succeeded with %d states and %d lines; locked: %v", len(job.states), len(got), job.locked)
		}
	case api.JobResultStatusLost:
	default:
		t.Errorf("got %+v", job.result)
	}
	if did("left.pid") {
		isGone(t, dir, "left.pid")
	}
}

// TestEveryWeather checks that a network with every kind of fault loses nothing, and that
// nothing counts twice.
func TestEveryWeather(t *testing.T) {
	t.Parallel()
	for name, weather := range map[string]fault.Faults{
		"a black hole":    {Blackhole: true},
		"resets":          {Reset: 0.4},
		"cut answers":     {Cut: 0.4},
		"slow":            {MaxDelay: 300 * time.Millisecond},
		"twice and later": {Duplicate: 0.5, MaxDuplicateDelay: 200 * time.Millisecond, MaxDelay: 50 * time.Millisecond},
		"all of it": {Reset: 0.2, Cut: 0.2, MaxDelay: 30 * time.Millisecond, Duplicate: 0.3,
			MaxDuplicateDelay: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t), t.TempDir()
			s.again = true
			proxy, err := fault.NewProxy(7, s.http.URL)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = proxy.Close() })
			job := s.enqueue("job_1", "plugged", map[string]string{"pause": "running"})
			if !weather.Blackhole {
				proxy.SetFaults(weather)
			}
			work(t, s, dir, func(o *runner.Options) { o.URL = proxy.URL() })
			testtime.Until(t, "the job runs", func() bool { _, err := os.Stat(filepath.Join(dir, "locked")); return err == nil })
			proxy.SetFaults(weather)
			touch(t, dir, "go on")
			if weather.Blackhole {
				// The job ends while the control plane cannot be reached.
				testtime.Until(t, "the job has ended", func() bool {
					_, err := os.Stat(filepath.Join(dir, "spool", "job_1.1", "final.json"))
					return err == nil
				})
				proxy.SetFaults(fault.Faults{})
			}
			s.until("the result is there", job.ended)
			proxy.SetFaults(fault.Faults{})
			spoolIsEmpty(t, dir)
			check(t, s, dir, job)
			if job.result.Status != api.JobResultStatusSucceeded {
				t.Errorf("got %+v", job.result)
			}
		})
	}
}
