package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// What was started before a reboot, or has a number that was given out again, is not touched.
func TestMembersOfAnother(t *testing.T) {
	this := spool.ThisProcess()
	for name, other := range map[string]spool.Process{
		"this process":   this,
		"another boot":   {PID: 1 << 21, Start: 1, Boot: "another"},
		"no process":     {},
		"init":           {PID: 1, Boot: this.Boot},
		"given out anew": {PID: parentOf(t, this.PID), Start: 1, Boot: this.Boot},
	} {
		if members, err := (Job{Leader: other}).members(false); err != nil || len(members) != 0 {
			t.Errorf("%s: %v %v", name, members, err)
		}
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := spool.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat.Parent
}

// A session whose leader is gone is the job's while one of its processes says so. Without that it may be another's, who was given
// the leader's number since.
func TestASessionWithoutItsLeader(t *testing.T) {
	const mark = "NUON_ATTEMPT=/this/attempt"
	for name, test := range map[string]struct {
		env  string
		ours int
	}{"one has the mark": {mark, 2}, "of another attempt": {"NUON_ATTEMPT=/another", 0}, "none has one": {"NONE=", 0}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The leader leaves one process that has its environment, and one that has none, and ends.
			command := exec.Command("sh", "-c", `sleep 1000 & echo $! >with; env -i sleep 1000 & echo $! >without; exit 0`)
			command.Dir, command.Env, command.SysProcAttr = dir, []string{"PATH=" + os.Getenv("PATH"), test.env}, &syscall.SysProcAttr{Setsid: true}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			stat, err := spool.ReadStat(command.Process.Pid) // it is there until it is waited for
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"with", "without"} {
				pid := pidIn(t, filepath.Join(dir, file))
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			}
			job := Job{Leader: spool.Process{PID: stat.PID, Start: stat.Start, Boot: spool.Boot()}, Mark: mark}
			if killed, err := job.Kill(); killed != test.ours || err != nil {
				t.Errorf("killed %d, %v", killed, err)
			}
		})
	}
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
