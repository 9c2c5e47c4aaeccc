package installstack_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// TestUnit checks that the unit of each cloud starts the runner for that cloud, and keeps programs of jobs from its
// metadata services.
func TestUnit(t *testing.T) {
	for cloud, want := range map[string]string{"aws": "169.254.169.254;", "gcp": "169.254.169.254;",
		"azure": "169.254.169.254 168.63.129.16;"} {
		unit := installstack.Unit(cloud)
		if !strings.Contains(unit, "--cloud "+cloud+" ") || strings.Count(unit, "for a in "+want+" do ip rule ") != 2 ||
			strings.Contains(unit, "CLOUD") || strings.Contains(unit, "METADATA") {
			t.Errorf("%s: %s", cloud, unit)
		}
		for _, line := range []string{"NoNewPrivileges=yes", "ProtectSystem=full", "ProtectHome=yes", "UMask=0077",
			"InaccessiblePaths=-/run/dbus -/run/systemd/private"} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s: the unit has no %s", cloud, line)
			}
		}
		if !strings.Contains(unit, " --job-user nuon-job ") || strings.Contains(unit, "docker") {
			t.Errorf("%s: %s", cloud, unit)
		}
	}
}
