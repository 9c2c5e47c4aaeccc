// Package modules tests the way of Terraform modules from a registry to an install, with the real
// programs.
package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// world is a fleet with a module registry that its build runner reaches.
type world struct {
	*fleettest.World
	registry *registrytest.Server
	vendor   *fleet.Repository
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{registry: registrytest.New(t)}
	w.World = fleettest.Start(t, fleet.Options{Env: []string{
		"SSL_CERT_FILE=" + w.registry.CertificateFile(), "NUON_MODULES_PRIVATE=127.0.0.1"}})
	return w
}

// publish publishes a version of a module with an output. Versions differ in what they write.
func (w *world) publish(version, word string) {
	w.registry.PublishModule("acme/text/null", version, "main.tf", fmt.Sprintf("variable \"name\" {}\n"+
		"resource \"terraform_data\" \"text\" {\n  input = \"%s ${var.name}\"\n}\noutput \"text\" {\n  value = "+
		"terraform_data.text.output\n}\n", word))
}

// app is an app whose sandbox and component call a registry module.
func (w *world) app() fstest.MapFS {
	module := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(fmt.Sprintf(
			"module \"text\" {\n  source  = %q\n  version = \"~> 1.0\"\n  name    = %q\n}\n"+
				"output \"text\" {\n  value = module.text.text\n}\n", w.registry.Host+"/acme/text/null", name))}
	}
	config := "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/%s\"\n"
	return fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml":  {Data: []byte(fmt.Sprintf(config, "base"))},
		"components/web.toml": {Data: []byte(
			"type = \"terraform_module\"\nname = \"web\"\n" + fmt.Sprintf(config, "web"))},
		"modules/base/main.tf":    module("base"),
		"modules/web/main.tf":     module("web"),
		"modules/web/versions.tf": {Data: []byte("# the first\n")},
	}
}

// versions returns the versions of the registry module in the newest build of a component.
func (w *world) versions(component string) string {
	w.Helper()
	var builds []api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &builds, "builds", "list", "--app", "shop", "--component", component))
	var newest api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &newest, "builds", "get", builds[0].ID))
	return fmt.Sprintf("build %d %s: %s %s", newest.Number, newest.Status, newest.Modules.Modules[0].Key,
		newest.Modules.Modules[0].Version)
}

// registryToken opens the registry.
const registryToken = "registry-token-123456"

// TestRefreshedModulesReachInstalls: a push is built with modules of a private registry, and deployed while
// the registry is down. A newer version changes nothing until it is requested; then it is a separate
// release, which installs that follow get and pinned ones do not.
func TestRefreshedModulesReachInstalls(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", "first")
	w.registry.Require("/v1/modules/", registryToken)
	token := filepath.Join(t.TempDir(), "token")
	w.Must(os.WriteFile(token, []byte(registryToken+"\n"), 0o600))
	w.Nuon("credentials", "create", "registry", "--from", "@"+token, "--module", w.registry.URL)
	var err error
	w.vendor, err = w.Fleet.NewRepository(w.Ctx, "shop", w.app())
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", w.vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")

	w.registry.Requests()
	w.registry.SetDown(true)
	for _, name := range []string{"east", "west"} {
		w.Nuon("installs", "create", name, "--app", "shop", "--runner", "customer", "--approval", "approve-all")
		w.Until(name, 1)
	}
	if asked := w.registry.Requests(); len(asked) > 0 {
		t.Errorf("plan and apply asked the registry for %v", asked)
	}
	w.registry.SetDown(false)
	w.Nuon("installs", "pin", "west", "1")

	var chain api.Explanation
	var builds []api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &builds, "builds", "list", "--app", "shop", "--component", "web"))
	w.Must(w.Fleet.JSON(w.Ctx, &chain, "explain", "build", builds[0].ID))
	last := chain.Chain[len(chain.Chain)-1]
	if last.Record != "build" || len(last.Modules.Modules) != 1 || last.Modules.Modules[0].Version != "1.0.0" {
		t.Errorf("explain shows %+v", last)
	}
	if out := w.Nuon("explain", "build", builds[0].ID); !strings.Contains(out,
		"module text: "+w.registry.Host+"/acme/text/null 1.0.0 (~> 1.0)") {
		t.Errorf("explain prints %s", out)
	}

	w.publish("1.1.0", "second")
	w.Must(w.vendor.Write("modules/web/versions.tf", "# the second\n"))
	w.Must(w.vendor.Push(w.Ctx, "Write a comment"))
	w.registry.Requests()
	w.Nuon("sync", "--app", "shop", "--wait")
	w.Until("east", 2)
	if got := w.versions("web"); got != "build 2 succeeded: text 1.0.0" {
		t.Errorf("after a push that leaves the call as it is: %s", got)
	}
	if asked := w.registry.Requests(); len(asked) > 0 {
		t.Errorf("unchanged modules were fetched again: %v", asked)
	}

	var dry, refreshed api.ModuleRefresh
	w.Must(w.Fleet.JSON(w.Ctx, &dry, "builds", "refresh", "shop", "--dry-run"))
	var changes []string
	for _, c := range dry.Components {
		for _, change := range c.Changes {
			changes = append(changes, c.Component+" "+change.Key+" "+change.Before.Version+" "+change.After.Version)
		}
	}
	if diff := cmp.Diff([]string{"sandbox text 1.0.0 1.1.0", "web text 1.0.0 1.1.0"}, changes); diff != "" ||
		dry.Release != 0 {
		t.Errorf("the dry run shows %s", diff)
	}
	if got := w.versions("web"); got != "build 2 succeeded: text 1.0.0" {
		t.Errorf("after a dry run: %s", got)
	}
	w.Must(w.Fleet.JSON(w.Ctx, &refreshed, "builds", "refresh", "shop"))
	if refreshed.Release != 3 {
		t.Fatalf("the refresh made %+v", refreshed)
	}
	w.Until("east", 3)
	for component, want := range map[string]string{
		"sandbox": "build 2 succeeded: text 1.1.0", "web": "build 3 succeeded: text 1.1.0",
	} {
		if got := w.versions(component); got != want {
			t.Errorf("after the refresh: %s, want %s", got, want)
		}
	}
	w.Until("west", 1)
	var before, after api.Release
	w.Must(w.Fleet.JSON(w.Ctx, &before, "releases", "get", "shop", "2"))
	w.Must(w.Fleet.JSON(w.Ctx, &after, "releases", "get", "shop", "3"))
	if diff := cmp.Diff(before.Commits, after.Commits); diff != "" ||
		!strings.Contains(after.Cause, "vera refreshed the modules of component sandbox: text 1.0.0 → 1.1.0") {
		t.Errorf("release 3 is because %s, of %s", after.Cause, diff)
	}
}
