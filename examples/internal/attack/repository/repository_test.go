package repository

import (
	"context"
	"os"
	"testing"

	"github.com/nuon-toolkit/nuon/examples/internal/attack"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// TestHostileRepository makes a sample of the attacks of a hostile git server on a real control
// plane.
func TestHostileRepository(t *testing.T) {
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	ctx := context.WithoutCancel(t.Context()) // the programs are stopped after the test's own context has ended
	f, err := Start(ctx, server, bin, dir)
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	attacks := Attacks(server, f)
	if err := attack.Campaign(ctx, attacks, 20261122, len(attacks)+3, func(line string) { t.Log(line) }); err != nil {
		t.Error(err)
	}
}
