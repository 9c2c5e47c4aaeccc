package controlplane

import (
	"errors"
	"testing"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// sample is the number of attempts in a test run.
const sample = 40

// TestHostileControlPlane makes a sample of the attacks of a hostile control plane on a real runner.
func TestHostileControlPlane(t *testing.T) {
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	machine, err := NewMachine(t.Context(), bin, t.TempDir(), RunnerFile)
	defer func() {
		if err := machine.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	worked := 0
	machine.Trace = func(result *api.JobResult) {
		if result != nil {
			worked++
		}
	}
	err = attack.Campaign(t.Context(), Attacks(machine), 20261122, sample, func(line string) { t.Log(line) })
	if err = errors.Join(err, machine.Last(t.Context())); err != nil {
		t.Errorf("%v\nthe runner printed:\n%s", err, machine.Output())
	}
	// A runner that accepts no job proves nothing.
	if worked < sample/2 {
		t.Errorf("the runner took %d of %d jobs", worked, sample)
	}
}
