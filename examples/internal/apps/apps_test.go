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

// TestApps installs, updates and removes an app of each cloud: a sandbox with a cluster that appears only during its
// apply, a module, and a chart that reads its outputs.
func TestApps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; make apps and make test LONG=1 run it")
	}
	t.Parallel()
	w := start(t, "aws", "gcp", "azure")
	for _, result := range w.installAll(context.WithoutCancel(t.Context()), w.apps) {
		if !slices.Equal(result.Done, Steps) {
			t.Errorf("%s: %s: %s", result.App, result.Failed, result.Reason)
		}
		if !slices.Contains(result.Notes, "module of database is a stand-in") {
			t.Errorf("%s: the notes are %q", result.App, result.Notes)
		}
	}
}

// TestTrouble installs an app although its sandbox fails until a push fixes it, an apply fails half way, an object
// vanishes and another drifts between plan and apply, and the cloud is slow and throttles requests.
func TestTrouble(t *testing.T) {
	t.Parallel()
	w := start(t, "trouble/own")
	app := w.apps[0]
	ctx := context.WithoutCancel(t.Context())
	n := &installation{World: w, App: app, name: app.Name, dir: filepath.Join(w.Dir, app.Name)}
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
	n.parameter(ctx, t, "database")

	_, err = w.fleet.Nuon(ctx, "installs", "update", n.name, "--approval", "prompt")
	must(err)
	changed, err := w.mirror.update(ctx, n.App, w.apps)
	must(err)
	if !changed {
		t.Fatal("the app has nothing to update")
	}
	must(n.sync(ctx))
	must(n.waits(ctx, "database"))
	must(n.cloud.Remove(ctx, "aws_ssm_parameter", n.parameter(ctx, t, "database").ID))
	must(n.approve(ctx))
	must(n.until(ctx, "current"))
	n.parameter(ctx, t, "database")

	must(n.cloud.SetFaults(ctx, cloud.Fault{Type: "*", Operation: "*", Times: -1, Throttled: 2, Delay: "20ms"}))
	store := n.parameter(ctx, t, "store")
	must(n.cloud.Drift(ctx, "aws_ssm_parameter", store.ID, "value", "by hand"))
	_, err = w.fleet.Nuon(ctx, "deploy", n.name, "store", "--redeploy")
	must(err)
	must(n.waits(ctx, "store"))
	must(n.cloud.Drift(ctx, "aws_ssm_parameter", store.ID, "value", "by another hand"))
	must(n.until(ctx, "current"))
	if after := n.parameter(ctx, t, "store"); after.Attributes["value"] != store.Attributes["value"] {
		t.Errorf("after the apply, store has the value %v, and had %v", after.Attributes["value"], store.Attributes["value"])
	}
	_, err = w.fleet.Nuon(ctx, "installs", "update", n.name, "--approval", "approve-all", "--allow-destroy")
	must(err)
	must(n.planAgain(ctx))
	must(n.deprovision(ctx))
}

// waits waits until only the plan of a component waits for an approval.
func (n *installation) waits(ctx context.Context, component string) error {
	return fleet.Until(ctx, testtime.Limit, "the plan of "+component+" waits", func() (bool, error) {
		var waiting []api.Approval
		err := n.fleet.JSON(ctx, &waiting, "approvals", "list", "--each", "--install", n.name)
		return len(waiting) == 1 && waiting[0].Component == component, err
	})
}

// parameter returns the object of one of the app's two modules, of which each has one.
func (n *installation) parameter(ctx context.Context, t *testing.T, component string) (found cloud.Object) {
	t.Helper()
	objects, err := n.cloud.Objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range objects {
		if o.Type != "aws_ssm_parameter" {
			continue
		}
		if ids = append(ids, o.ID); strings.Contains(o.ID, component) {
			found = o
		}
	}
	if len(ids) != 2 || found.ID == "" {
		t.Fatalf("the parameters are %v", ids)
	}
	return found
}
