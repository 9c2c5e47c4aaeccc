package process

import (
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
