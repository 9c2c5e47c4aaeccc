package job

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestTheCollectorRunsInAJob checks that the collector is off only until RunProcess starts,
// and that Terraform and scripts do not inherit the setting.
func TestTheCollectorRunsInAJob(t *testing.T) {
	name, value, _ := strings.Cut(GCOff, "=")
	t.Setenv(name, value)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if err := enableGC(); err != nil {
		t.Fatal(err)
	}
	if percent := debug.SetGCPercent(100); percent != 100 {
		t.Errorf("the collector is at %d", percent)
	}
	if left, set := os.LookupEnv(name); set {
		t.Errorf("what a job starts sees %s=%s", name, left)
	}
}
