// Package fleettest runs a fleet for a test.
package fleettest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// World is a running fleet, and the test that it runs for.
type World struct {
	*testing.T
	// Ctx does not end with the test's context, because the fleet is stopped after that.
	Ctx   context.Context
	Fleet *fleet.Fleet
}

// Start starts a fleet with one runner, customer, in a new directory, and stops it after the test. The directory is
// kept if the test fails, because it has the logs.
func Start(t *testing.T, o fleet.Options) *World {
	t.Helper()
	w := &World{T: t, Ctx: context.WithoutCancel(t.Context())}
	var err error
	o.Bin, err = fleet.Programs(t.Context(), t.TempDir())
	w.Must(err)
	o.Dir, err = fleet.Place()
	w.Must(err)
	o.Installers = []string{"customer"}
	w.Fleet, err = fleet.Start(w.Ctx, o)
	t.Cleanup(func() {
		if err := w.Fleet.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs are in %s", o.Dir)
			return
		}
		_ = os.RemoveAll(o.Dir)
	})
	w.Must(err)
	return w
}

// Must ends the test if err is not nil.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Nuon runs nuon and returns what it prints.
func (w *World) Nuon(args ...string) string {
	w.Helper()
	out, err := w.Fleet.Nuon(w.Ctx, args...)
	w.Must(err)
	return string(out)
}

// Until waits until an install is at a release and current.
func (w *World) Until(install string, release int) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, install+" is current", func() (bool, error) {
		var i api.Install
		err := w.Fleet.JSON(w.Ctx, &i, "installs", "get", install)
		if i.Status == "stalled" {
			return false, fmt.Errorf("%s is stalled: %s", install, i.Reason)
		}
		return i.Status == "current" && i.Release == release, err
	}))
}
