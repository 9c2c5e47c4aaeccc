package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// nobody is the ordinary user of tests that run as root.
const nobody = 65534

// users runs a test as root, as root whose jobs start programs as another user, and as an ordinary user, each with a
// separate runner directory. args are the further arguments of startProgramAs.
func users(t *testing.T, test func(t *testing.T, dir string, uid int, args ...string)) {
	t.Run("root", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("needs root: run the tests as root to try this half")
		}
		test(t, t.TempDir(), 0)
	})
	t.Run("root, with a job user", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("needs root: only root can start programs as another user")
		}
		test(t, dirOf(t, 0), 0, strconv.Itoa(nobody))
	})
	t.Run("not root", func(t *testing.T) {
		uid := os.Getuid()
		if uid == 0 {
			uid = nobody
		}
		test(t, dirOf(t, uid), uid)
	})
}

// dirOf creates a directory of a user. It is outside of the tests' directories,
// which only root can enter.
func dirOf(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "runner-*")
	if err == nil && uid != os.Getuid() {
		err = os.Chown(dir, uid, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// everybodys returns a copy of the test's program that every user may execute.
var everybodys = sync.OnceValues(func() (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "runnerd")
	return path, os.WriteFile(path, content, 0o755)
})

// startProgramAs starts runnerd as a separate program of a user.
func startProgramAs(t *testing.T, s *server, dir string, uid int, args ...string) *exec.Cmd {
	t.Helper()
	program, err := everybodys()
	if err != nil {
		t.Fatal(err)
	}
	var command *exec.Cmd
	err = execretry.Retry(t.Context(), func() error {
		command = exec.Command(program, append([]string{"run", s.http.URL, dir}, args...)...)
		command.Dir, command.Stderr = "/", os.Stderr
		if uid != os.Getuid() {
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		return command.Start()
	})
	if err != nil {
		t.Fatal(err)
	}
	stopAtTheEnd(t, command)
	return command
}

// TestNothingEscapes checks that a process that forked twice into its own session with an empty
// environment dies with its job: when the job ends regularly, when it is killed, alone or together with
// its runnerd, and when its runnerd or the next one cancels it.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kill   string
		status api.JobResultStatus
	}{
		"the job ends":                       {"", "succeeded"},
		"the job is killed alone":            {"job", "lost"},
		"the job is killed with its runnerd": {"both", "lost"},
		"the job is cancelled":               {"cancel", "cancelled"},
		"the next runnerd cancels the job":   {"adopt and cancel", "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users(t, func(t *testing.T, dir string, uid int, args ...string) {
				s := newServer(t)
				job := s.enqueue("job_1", "escape", nil)
				program := startProgramAs(t, s, dir, uid, args...)
				s.until("it has escaped", job.runs)
				switch test.kill {
				case "":
					touch(t, dir, "go")
				case "cancel":
					s.with(func() { job.cancel = true })
				case "adopt and cancel":
					isWrittenDown(t, dir)
					_ = program.Process.Kill()
					_ = program.Wait()
					before := 0
					s.with(func() { before = job.beats })
					startProgramAs(t, s, dir, uid, args...)
					s.until("the next runnerd has adopted it", func() bool { return job.beats > before })
					s.with(func() { job.cancel = true })
				case "both":
					isWrittenDown(t, dir)
					_ = program.Process.Kill()
					_ = program.Wait()
					fallthrough
				case "job":
					if err := syscall.Kill(pidOfJob(t, dir), syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
				if test.kill == "both" {
					startProgramAs(t, s, dir, uid, args...)
				}
				s.until("the result is there", job.ended)
				isGone(t, dir, "escaped.pid")
				if job.result.Status != test.status {
					t.Errorf("got %+v", job.result)
				}
			})
		})
	}
}

// TestAdoptionByEachUser checks that a runnerd that was killed is followed by one that adopts its
// job, whichever user runs them.
func TestAdoptionByEachUser(t *testing.T) {
	t.Parallel()
	users(t, func(t *testing.T, dir string, uid int, args ...string) {
		s := newServer(t)
		job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
		killed := startProgramAs(t, s, dir, uid, args...)
		s.until("it runs", job.runs)
		pid := pidOfJob(t, dir)
		_ = killed.Process.Kill()
		_ = killed.Wait()

		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("the job died with its runnerd: %v", err)
		}

		var before int
		s.with(func() { before = job.beats })
		startProgramAs(t, s, dir, uid, args...)
		s.until("the next runnerd keeps its lease", func() bool { return job.beats > before })
		touch(t, dir, "go")
		s.until("the result is there", job.ended)
		spoolIsEmpty(t, dir)

		s.mutex.Lock()
		defer s.mutex.Unlock()
		if got := job.messages(); job.result.Status != "succeeded" || !slices.Equal(got, []string{"waiting", "waited"}) {
			t.Errorf("result %+v, log %q", job.result, got)
		}
	})
}

// isWrittenDown waits until the spool has a record of the escaped process.
func isWrittenDown(t *testing.T, dir string) {
	t.Helper()
	pid := pidIn(t, dir, "escaped.pid")
	attempt := spool.Attempt{Dir: filepath.Join(dir, "spool", "job_1.1")}
	testtime.Until(t, "it is written down", func() bool {
		leader, found, err := attempt.Process()
		if err != nil || !found {
			t.Fatal(err)
		}
		members, err := attempt.Members()
		if err != nil {
			t.Fatal(err)
		}
		return leader.Cgroup != "" || slices.ContainsFunc(members, func(m spool.Member) bool { return m.PID == pid })
	})
}
