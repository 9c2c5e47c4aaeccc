package fault

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func TestFindAndKill(t *testing.T) {
	dir := t.TempDir()
	// A shell with a child, both in the directory. The second command prevents the shell from exec.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 300; true")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var sleep Process
	testtime.Until(t, "both are there", func() bool {
		using, err := UsingDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(using, func(p Process) bool { return p.CommandLine() == "sleep 300" })
		if i >= 0 {
			sleep = using[i]
		}
		return i >= 0 && slices.ContainsFunc(using, func(p Process) bool { return p.PID == cmd.Process.Pid })
	})
	all, err := Processes()
	if err != nil {
		t.Fatal(err)
	}
	below := func(pid int) bool {
		return slices.ContainsFunc(Descendants(all, pid), func(p Process) bool { return p.PID == sleep.PID })
	}
	if !below(cmd.Process.Pid) || !below(os.Getpid()) || below(sleep.PID) {
		t.Errorf("what is below what: %v", Descendants(all, os.Getpid()))
	}

	another := sleep
	another.Start++ // a reused pid
	if hit, err := Kill(another); hit || err != nil {
		t.Errorf("another process with that number was hit: %v %v", hit, err)
	}
	if hit, err := Kill(sleep); !hit || err != nil {
		t.Errorf("it was not hit: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the shell did not go on after its child: %v", err)
	}
	if hit, err := Kill(sleep); hit || err != nil {
		t.Errorf("what has gone was hit again: %v %v", hit, err)
	}
}
