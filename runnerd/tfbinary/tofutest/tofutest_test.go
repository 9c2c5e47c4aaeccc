package tofutest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheVersion checks that make builds the version that tests look for.
func TestTheVersion(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil || !strings.Contains(string(makefile), "\nTOFU         := "+Version+"\n") {
		t.Errorf("the Makefile builds another version than %s: %v", Version, err)
	}
	said, err := exec.CommandContext(t.Context(), Path(t), "version").Output()
	if err != nil || !strings.Contains(string(said), "OpenTofu v"+Version+"\n") {
		t.Errorf("%v: %s", err, said)
	}
}
