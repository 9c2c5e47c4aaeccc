package world_test

import (
	"context"
	"os"
	"testing"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/operator"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/runner"
	"github.com/nuon-toolkit/nuon/examples/internal/attack/world"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// TestHostileParties makes a sample of the attacks of a hostile runner and of a hostile operator on
// a real control plane.
func TestHostileParties(t *testing.T) {
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context()) // the programs are stopped after the test's own context has ended
	w, err := world.Start(ctx, bin, dir)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, party := range []struct {
		name    string
		attacks func(context.Context, *world.World) ([]attack.Attack, error)
	}{{"runner", runner.Attacks}, {"operator", operator.Attacks}} {
		t.Run(party.name, func(t *testing.T) {
			attacks, err := party.attacks(ctx, w)
			if err != nil {
				t.Fatal(err)
			}
			if err := attack.Campaign(ctx, attacks, 20261122, 2*len(attacks), func(line string) { t.Log(line) }); err != nil {
				t.Error(err)
			}
		})
	}
}
