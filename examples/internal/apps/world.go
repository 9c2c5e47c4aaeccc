package apps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// Options configures Run.
type Options struct {
	// Dir receives everything. The user that runs Postgres must have access to it.
	Dir string
	// Bin is the directory of nuon, reconciler and runnerd.
	Bin string
	// Parallel is how many apps are installed at the same time; zero means one for each core.
	Parallel int
	// Progress receives a line for each event. Nil drops them.
	Progress io.Writer
	// Ended, unless it is nil, is called when an app has ended, also from several goroutines at once.
	Ended func(Result)
}

// World is a control plane with a build runner, and a mirror of the repositories that apps name.
type World struct {
	Options
	fleet   *fleet.Fleet
	builds  *cloud.Cloud // for the builds of all apps
	mirror  *mirror
	apps    []*App
	cluster string // the program of clusters

	mu      sync.Mutex
	started time.Time
}

// Start prepares the apps and starts the control plane. The caller must call Stop, also after an error.
func Start(ctx context.Context, o Options, apps []*App) (w *World, err error) {
	if o.Parallel == 0 {
		o.Parallel = runtime.NumCPU()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	w = &World{Options: o, apps: apps, started: time.Now(),
		mirror: &mirror{dir: filepath.Join(o.Dir, "mirror"), repositories: map[string]*repository{}}}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return w, fmt.Errorf("find the root of this repository: %w", err)
	}
	sandboxes, err := readSandboxes(filepath.Join(strings.TrimSpace(string(root)), "examples", "sandboxes"))
	if err != nil {
		return w, err
	}
	for _, a := range apps {
		if err := a.prepare(filepath.Join(o.Dir, "apps", a.Name)); err != nil {
			return w, err
		}
		a.sandbox, a.sandboxErr = a.findSandbox(sandboxes)
	}
	if err := w.mirror.fill(ctx, apps); err != nil {
		return w, err
	}
	w.say("", "%d repositories are in the mirror", len(w.mirror.repositories))
	source, err := kubernetes.Source()
	if err != nil {
		return w, err
	}
	if w.cluster, err = kubernetes.Build(ctx, source, w.Progress); err != nil {
		return w, err
	}
	if w.builds, err = cloud.Start(ctx, cloud.Options{Dir: filepath.Join(o.Dir, "builds")}); err != nil {
		return w, err
	}
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		return w, err
	}
	env := append(w.builds.Env(), tfbinary.EnvExecutable+"="+terraform)
	w.fleet, err = fleet.Start(ctx, fleet.Options{Bin: o.Bin, Dir: filepath.Join(o.Dir, "fleet"), Env: env,
		Capacity: 4, Serve: []string{"--git-mirror", "https://github.com/=file://" + filepath.Join(w.mirror.dir, "bare")}})
	if err == nil {
		w.say("", "the control plane is up")
	}
	return w, err
}

// Stop ends everything that Start started.
func (w *World) Stop() (err error) {
	if w.fleet != nil {
		err = w.fleet.Stop()
	}
	if w.builds != nil {
		err = errors.Join(err, w.builds.Close())
	}
	return err
}

// say writes a line of progress.
func (w *World) say(app, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if app != "" {
		app += ": "
	}
	_, _ = fmt.Fprintf(w.Progress, "%6.0fs  %s%s\n", time.Since(w.started).Seconds(), app, fmt.Sprintf(format, args...))
}

// Run installs all apps and returns how far they came, in their order.
func (w *World) Run(ctx context.Context) []Result { return w.installAll(ctx, w.apps) }

func (w *World) installAll(ctx context.Context, apps []*App) []Result {
	results := make([]Result, len(apps))
	var group errgroup.Group
	group.SetLimit(w.Parallel)
	for i, a := range apps {
		group.Go(func() error {
			results[i] = w.install(ctx, a)
			if w.Ended != nil {
				w.Ended(results[i])
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return results
}

// install takes one app through all steps.
func (w *World) install(ctx context.Context, a *App) (result Result) {
	result.App = a.Name
	n := &installation{World: w, App: a, name: a.Name, dir: filepath.Join(w.Dir, "installs", a.Name)}
	defer func() {
		result.Notes = slices.Sorted(slices.Values(a.Notes))
		if err := n.close(); err != nil && result.Failed == "" {
			result.Failed, result.Reason = "end", err.Error()
		}
	}()
	for i, step := range []func(context.Context) error{
		n.validate, n.build, n.provision, n.planAgain, n.drift, n.update, n.deprovision,
	} {
		name := Steps[i]
		began := time.Now()
		if err := step(ctx); err != nil {
			result.Failed, result.Reason = name, err.Error()
			w.say(a.Name, "%s failed after %.0f s: %v", name, time.Since(began).Seconds(), err)
			return result
		}
		result.Done = append(result.Done, name)
		w.say(a.Name, "%s took %.0f s", name, time.Since(began).Seconds())
	}
	return result
}

// openCluster starts a cluster in a directory.
func (w *World) openCluster(ctx context.Context, dir string) (*kubernetes.Cluster, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return kubernetes.Start(ctx, kubernetes.Options{Program: w.cluster, Dir: dir})
}
