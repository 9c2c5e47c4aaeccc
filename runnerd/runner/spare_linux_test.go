package runner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// findSpare returns the id of the spare process of the runner in dir, or 0.
func findSpare(dir string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, file := range all {
		args, _ := os.ReadFile(file) // empty for a process that has just ended
		if bytes.HasSuffix(args, []byte("\x00job\x00--dir\x00"+filepath.Join(dir, "spool")+"\x00--spare\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// awaitSpare waits until the runner in dir has a spare process that has hidden its memory and waits.
func awaitSpare(t *testing.T, dir string) (pid int) {
	t.Helper()
	testtime.Until(t, "a spare process waits", func() bool {
		pid = findSpare(dir)
		return pid != 0
	})
	return pid
}

func awaitNoSpare(t *testing.T, dir string) {
	t.Helper()
	testtime.Until(t, "the spare process has ended", func() bool { return findSpare(dir) == 0 })
}

// leaderOf returns the id of the job process of the first attempt of job_1.
func leaderOf(t *testing.T, dir string) int {
	t.Helper()
	process, found, err := spool.Attempt{Dir: filepath.Join(dir, "spool", "job_1.1")}.Process()
	if err != nil || !found {
		t.Fatalf("the job has no process: %v", err)
	}
	return process.PID
}

// TestASpareProcess: a process waits before there is a job, holds nothing of this runner or of a job, and runs the
// next one. When that has ended, another one waits, until the runner ends.
func TestASpareProcess(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	w := work(t, s, dir)
	waiting := awaitSpare(t, dir)
	proc := "/proc/" + strconv.Itoa(waiting)
	files, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if path, _ := os.Readlink(filepath.Join(proc, "fd", file.Name())); strings.HasPrefix(path, dir) {
			t.Errorf("it has %s open", path)
		}
	}
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	s.until("it runs", job.runs)
	if got := leaderOf(t, dir); got != waiting {
		t.Errorf("the job runs in process %d, and %d waited", got, waiting)
	}
	if stat, err := spool.ReadStat(waiting); err != nil || stat.Session != waiting {
		t.Errorf("it is in session %d, %v", stat.Session, err)
	}
	shown, err := os.ReadFile(proc + "/environ")
	if err != nil || bytes.Contains(shown, []byte("attempt-token")) || bytes.Contains(shown, []byte("job_1")) {
		t.Errorf("its environment shows its attempt: %q %v", shown, err)
	}
	if where, err := os.Readlink(proc + "/cwd"); err != nil || where != filepath.Join(dir, "spool", "job_1.1") {
		t.Errorf("it works in %s, %v", where, err)
	}
	touch(t, dir, "go")
	s.until("the result is there", job.ended)
	if next := awaitSpare(t, dir); next == waiting {
		t.Error("the process waits again")
	}
	w.end(t)
	if left := findSpare(dir); left != 0 {
		t.Errorf("process %d waits although the runner has ended", left)
	}
}

// TestASpareProcessThatIsKilled: the next job runs nevertheless, in a process that is started for it.
func TestASpareProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	work(t, s, dir)
	if err := syscall.Kill(awaitSpare(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitNoSpare(t, dir)
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	s.until("the result is there", job.ended)
	if job.result.Status != "succeeded" {
		t.Errorf("%+v", *job.result)
	}
	awaitSpare(t, dir)
}

// TestASpareProcessEndsWithItsRunnerd: also when that is killed, and although it holds no lock of the runner.
func TestASpareProcessEndsWithItsRunnerd(t *testing.T) {
	t.Parallel()
	users(t, func(t *testing.T, dir string, uid int, args ...string) {
		s := newServer(t)
		program := startProgramAs(t, s, dir, uid, args...)
		waiting := awaitSpare(t, dir)
		if uid != 0 { // the kernel gives the directory of a process that hides its memory to root
			testtime.Until(t, "it has hidden its memory", func() bool {
				info, err := os.Stat("/proc/" + strconv.Itoa(waiting) + "/environ")
				return err == nil && info.Sys().(*syscall.Stat_t).Uid == 0 //nolint:forcetypeassert // on Linux
			})
		}
		if err := program.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		awaitNoSpare(t, dir)
	})
}

// TestNoSpareProcess: the owner of a runner can do without.
func TestNoSpareProcess(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	work(t, s, dir, withoutSpare)
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	if pid := findSpare(dir); pid != 0 {
		t.Errorf("process %d waits", pid)
	}
}
