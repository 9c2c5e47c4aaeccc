package proc

import (
	"os"
	"os/exec"
	"testing"
)

// TestRead checks that the times of a process grow with its own work, and with that of the children
// that it waited for.
func TestRead(t *testing.T) {
	before, err := Read(os.Getpid())
	if err != nil || before.Parent != os.Getppid() {
		t.Fatalf("%+v %v", before, err)
	}
	now := before
	for n := 0; now.Own == before.Own; n++ { // ends once a tick was used
		if now, err = Read(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if now.Reaped != before.Reaped {
		t.Errorf("nothing was waited for: %+v, then %+v", before, now)
	}
	for now.Reaped == before.Reaped {
		if out, err := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do "+
			"i=$((i+1)); done").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if now, err = Read(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(1 << 30); !os.IsNotExist(err) {
		t.Errorf("a process that is not there: %v", err)
	}
}

// TestMemory checks that the memory of this process is plausible: a part of its peak.
func TestMemory(t *testing.T) {
	resident, peak, err := Memory(os.Getpid())
	if err != nil || resident < 1<<20 || peak < resident || peak > 1<<40 {
		t.Errorf("%d of at most %d bytes: %v", resident, peak, err)
	}
	if _, _, err := Memory(1 << 30); !os.IsNotExist(err) {
		t.Errorf("a process that does not exist: %v", err)
	}
}
