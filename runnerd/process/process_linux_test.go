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

// TestMembersOfAnother checks that processes from before a reboot, and processes with a
// reused id, are not touched.
func TestMembersOfAnother(t *testing.T) {
	this := spool.ThisProcess()
	for name, other := range map[string]spool.Process{
		"this process":   this,
		"another boot":   {PID: 1 << 21, Start: 1, Boot: "another"},
		"no process":     {},
		"init":           {PID: 1, Boot: this.Boot},
		"given out anew": {PID: parentOf(t, this.PID), Start: 1, Boot: this.Boot},
	} {
		if members, err := (Job{Leader: other}).members(); err != nil || len(members) != 0 {
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

// TestASessionWithoutItsLeader checks that a session whose leader has ended belongs to the job
// while one of its recorded processes lives. Otherwise the session may belong to another
// process that got the leader's id.
func TestASessionWithoutItsLeader(t *testing.T) {
	for name, test := range map[string]struct {
		written bool
		later   uint64
		ours    int
	}{"one was written down": {true, 0, 2}, "its number was given out again": {true, 1, 0}, "none was": {false, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The leader starts two processes and ends.
			command := exec.Command("sh", "-c", `sleep 1000 & echo $! >first; sleep 1000 & echo $! >second; exit 0`)
			command.Dir, command.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			leader := statOf(t, command.Process.Pid) // it exists until it is waited for
			if err := command.Wait(); err != nil {
				t.Fatal(err)
			}
			var members []spool.Member
			for _, file := range []string{"first", "second"} {
				pid := pidIn(t, filepath.Join(dir, file))
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
				if file == "first" && test.written {
					members = []spool.Member{{PID: pid, Start: statOf(t, pid).Start + test.later}}
				}
			}
			job := Job{Leader: spool.Process{PID: leader.PID, Start: leader.Start, Boot: spool.Boot()}, Members: members}
			if killed, err := job.Kill(); killed != test.ours || err != nil {
				t.Errorf("killed %d, %v", killed, err)
			}
		})
	}
}

func statOf(t *testing.T, pid int) spool.Stat {
	t.Helper()
	stat, err := spool.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat
}

func TestCgroupDir(t *testing.T) {
	const hybrid = "9:name=systemd:/\n4:memory:/x\n0::/\n"
	mount := func(root, at, kind string) string {
		return "24 1 0:22 / / rw - ext4 /dev/a rw\n30 24 0:26 " + root + " " + at + " rw,nosuid shared:4 - " + kind +
			" cgroup2 rw\n"
	}
	for name, test := range map[string]struct{ membership, mounts, want, wrong string }{
		"systemd": {"0::/system.slice/runner.service\n", mount("/", "/sys/fs/cgroup", "cgroup2"),
			"/sys/fs/cgroup/system.slice/runner.service", ""},
		"hybrid": {hybrid, mount("/", "/sys/fs/cgroup/unified", "cgroup2"), "/sys/fs/cgroup/unified", ""},
		"a part is mounted": {"0::/kube/pod/box\n", mount("/kube/pod", "/sys/fs/cgroup", "cgroup2"),
			"/sys/fs/cgroup/box", ""},
		"another part is":    {"0::/kube/pod\n", mount("/docker", "/sys/fs/cgroup", "cgroup2"), "", "mounted"},
		"outside of its own": {"0::/../other\n", mount("/", "/sys/fs/cgroup", "cgroup2"), "", "in no control group"},
		"version 1 alone":    {"4:memory:/x\n", mount("/", "/sys/fs/cgroup", "cgroup"), "", "in no control group"},
		"none is mounted":    {"0::/\n", mount("/", "/sys/fs/cgroup", "tmpfs"), "", "mounted"},
	} {
		got, err := cgroupDir(test.membership, test.mounts)
		if got != test.want || (err == nil) != (test.wrong == "") ||
			err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %q %v", name, got, err)
		}
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
