package apps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/examples/internal/proc"
)

// Sample is the memory of the control plane while it has a number of installs.
type Sample struct {
	Installs int
	After    time.Duration
	// Resident is the memory of the reconciler at that moment, and Peak the most it ever had, in bytes.
	Resident, Peak int64
}

const (
	// samples is how often Scale measures the memory.
	samples = 4
	// perRunner is how many installs one runner of Scale has.
	perRunner = 20
)

// Scale installs the first app many times, in one cloud, and measures the memory of the control plane after each
// quarter of them. It stops at the first install that fails.
func (w *World) Scale(ctx context.Context, installs int) (measured []Sample, err error) {
	app := &installation{World: w, App: w.apps[0], dir: filepath.Join(w.Dir, "installs")}
	if err := os.MkdirAll(app.dir, 0o755); err != nil {
		return nil, err
	}
	if err := app.build(ctx); err != nil {
		return nil, err
	}
	app.cloud, err = cloud.Start(ctx, cloud.Options{Dir: filepath.Join(app.dir, "cloud")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, app.close()) }()
	runner := func(number int) string { return fmt.Sprintf("runner-%d", number/perRunner) }
	for number := 0; number < installs; number += perRunner {
		if _, err := w.fleet.AddInstaller(ctx, runner(number), nil, app.cloud.Env()); err != nil {
			return nil, err
		}
	}
	var next atomic.Int64
	for quarter := range samples {
		last := installs * (quarter + 1) / samples
		group, ctx := errgroup.WithContext(ctx)
		for range w.Parallel {
			group.Go(func() error {
				for number := int(next.Add(1)) - 1; number < last; number = int(next.Add(1)) - 1 {
					n := *app
					n.name = fmt.Sprintf("install-%d", number+1)
					n.dir = filepath.Join(app.dir, n.name)
					if err := n.addOne(ctx, runner(number)); err != nil {
						return fmt.Errorf("%s: %w", n.name, err)
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return measured, err
		}
		next.Store(int64(last))
		sample, err := w.sample(last)
		if err != nil {
			return measured, err
		}
		w.say("", "%d installs, the control plane has %d MiB", last, sample.Resident>>20)
		measured = append(measured, sample)
	}
	return measured, nil
}

// addOne creates an install at a runner, and waits until it is current.
func (n *installation) addOne(ctx context.Context, runner string) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	install, err := n.create(ctx, runner)
	if err != nil {
		return err
	}
	if err := n.setStackOutputs(ctx, install); err != nil {
		return err
	}
	return n.until(ctx, "current")
}

// sample measures the memory of the reconciler.
func (w *World) sample(installs int) (s Sample, err error) {
	s = Sample{Installs: installs, After: time.Since(w.started).Round(time.Second)}
	s.Resident, s.Peak, err = proc.Memory(w.fleet.Replicas[0].PID())
	return s, err
}

// errGrows means that the control plane needs more memory for more installs.
var errGrows = errors.New("the memory of the control plane grows")

// CheckFlat fails if the last sample has more than a quarter more memory than the first one.
func CheckFlat(measured []Sample) error {
	if len(measured) == 0 {
		return nil
	}
	first, last := measured[0], measured[len(measured)-1]
	if last.Resident > first.Resident+first.Resident/4 {
		return fmt.Errorf("%w: %d MiB at %d installs, %d MiB at %d", errGrows, first.Resident>>20, first.Installs,
			last.Resident>>20, last.Installs)
	}
	return nil
}
