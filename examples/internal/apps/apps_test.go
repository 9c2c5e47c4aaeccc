package apps

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// start starts a world with apps of testdata.
func start(t *testing.T, names ...string) *World {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	var all []*App
	for _, name := range names {
		source, err := filepath.Abs(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &App{Name: path.Base(name), Source: source})
	}
	w, err := Start(ctx, Options{Bin: bin, Dir: dir, Progress: t.Output()}, all)
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestApps installs, updates and removes an app of each cloud: a cluster of a sandbox, a module and a
// chart that reads its outputs.
func TestApps(t *testing.T) {
	for _, result := range start(t, "aws", "gcp", "azure").Run(context.WithoutCancel(t.Context())) {
		if !slices.Equal(result.Done, Steps) {
			t.Errorf("%s: %s: %s", result.App, result.Failed, result.Reason)
		}
		if !slices.Contains(result.Notes, "module of database is a stand-in") {
			t.Errorf("%s: the notes are %q", result.App, result.Notes)
		}
	}
}

// TestTrouble installs an app although its sandbox fails until a push fixes it, an apply fails half
// way, and an object vanishes between plan and apply.
func TestTrouble(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	w := start(t, "trouble/own")
	n := &installation{World: w, App: w.apps[0], dir: filepath.Join(w.Dir, "own")}
	defer func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(n.build(ctx))
	if err := n.provision(ctx); err == nil || !strings.Contains(err.Error(), "sandbox: behind, stalled: terraform plan") {
		t.Fatalf("a sandbox with a network that is none: %v", err)
	}

	must(n.cloud.SetFaults(ctx, cloud.Fault{Type: "aws_ssm_parameter", Operation: "after create", Times: 1,
		Error: "simulated: the connection was lost"}))
	file := filepath.Join(n.repository.Tree, "sandbox.toml")
	content, err := os.ReadFile(file)
	must(err)
	must(os.WriteFile(file, []byte(strings.Replace(string(content), "10.0.0.0", "10.0.0.0/16", 1)), 0o644))
	must(n.repository.Push(ctx, "Fix the network"))
	must(n.sync(ctx))
	must(n.until(ctx, "current"))
	if objects := n.parameters(ctx, t); len(objects) != 2 {
		t.Errorf("after an apply that failed half way there are %v", objects)
	}

	_, err = w.fleet.Nuon(ctx, "installs", "update", n.Name, "--approval", "prompt")
	must(err)
	changed, err := w.mirror.update(ctx, n.App, w.apps)
	must(err)
	if !changed {
		t.Fatal("the app has nothing to update")
	}
	must(n.sync(ctx))
	must(fleet.Until(ctx, testtime.Limit, "the plan of database waits", func() (bool, error) {
		var waiting []api.Approval
		err := w.fleet.JSON(ctx, &waiting, "approvals", "list", "--each", "--install", n.Name)
		return len(waiting) == 1, err
	}))
	vanished := n.parameters(ctx, t)
	vanished = slices.DeleteFunc(vanished, func(id string) bool { return !strings.Contains(id, "database") })
	if len(vanished) != 1 {
		t.Fatalf("objects of database: %v", vanished)
	}
	must(n.cloud.Remove(ctx, "aws_ssm_parameter", vanished[0]))
	must(n.until(ctx, "current"))
	if objects := n.parameters(ctx, t); len(objects) != 2 {
		t.Errorf("after %v vanished there are %v", vanished, objects)
	}
	_, err = w.fleet.Nuon(ctx, "installs", "update", n.Name, "--approval", "approve-all", "--allow-destroy")
	must(err)
	must(n.planAgain(ctx))
	must(n.deprovision(ctx))
}

// parameters returns the objects of the app's modules.
func (n *installation) parameters(ctx context.Context, t *testing.T) (ids []string) {
	t.Helper()
	objects, err := n.cloud.Objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.Type == "aws_ssm_parameter" {
			ids = append(ids, o.ID)
		}
	}
	return ids
}
