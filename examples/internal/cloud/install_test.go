package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// shop is an app with a sandbox in the cloud, and a component on the cluster of the sandbox.
func shop(t *testing.T, namespace string) fstest.MapFS {
	t.Helper()
	module, err := os.ReadFile("testdata/app/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml": {Data: []byte(`terraform_version = "1.11.4"
[public_repo]
repo      = "."
directory = "sandbox"
[vars]
region = "eu-west-1"
name   = "` + namespace + `"
`)},
		"sandbox/main.tf": {Data: module},
		"components/settings.toml": {Data: []byte(`type = "kubernetes_manifest"
name = "settings"
namespace = "` + namespace + `"
manifest = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  vpc: "{{.nuon.sandbox.outputs.vpc.id}}"
"""
`)},
	}
}

// TestInstall installs an app with the real programs: its sandbox in the simulated cloud with a module
// of its registry, its component on the real Kubernetes behind the cluster of the sandbox. The runner
// logs in as on AWS. The first apply of the cluster fails.
func TestInstall(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cluster := clustertest.Open(t)
	namespace := clustertest.Name("cloud")
	c, err := Start(ctx, Options{Dir: t.TempDir(), Kubeconfig: clustertest.Kubeconfig(t),
		Modules: "testdata/modules"})
	must(err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	must(c.SetFaults(ctx, Fault{Type: "aws_eks_cluster", Operation: "create", Times: 1, Error: "no capacity"}))
	f := startFleet(t, ctx, c.Env())
	repo, err := f.NewRepository(ctx, "shop", shop(t, namespace))
	must(err)
	nuon := func(args ...string) {
		t.Helper()
		if _, err := f.Nuon(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	status := func() api.Install {
		t.Helper()
		var i api.Install
		must(f.JSON(ctx, &i, "installs", "get", "east"))
		return i
	}
	until := func(what string, is func(api.Install) bool) {
		t.Helper()
		must(fleet.Until(ctx, testtime.Limit, what, func() (bool, error) {
			i := status()
			if i.Status == "stalled" && !is(i) {
				return false, fmt.Errorf("stalled: %s", i.Reason)
			}
			return is(i), nil
		}))
	}

	nuon("apps", "create", "shop", "--repo", repo.URL)
	nuon("sync", "--app", "shop", "--wait")
	nuon("installs", "create", "east", "--app", "shop", "--runner", "customer", "--approval", "approve-all",
		"--allow-destroy")
	until("the sandbox fails", func(i api.Install) bool { return i.Status == "stalled" })
	if reason := status().Reason; !strings.Contains(reason, "no capacity") {
		t.Errorf("the install is stalled: %s", reason)
	}
	nuon("deploy", "east")
	until("east is current", func(i api.Install) bool { return i.Status == "current" })

	vpc := idsOf(t, ctx, c, "aws_vpc")
	settings := api.ObjectRef{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "settings"}
	found := clustertest.Get(t, cluster, settings)
	if found == nil || len(vpc) != 1 {
		t.Fatalf("the settings are %v, the VPCs %v", found, vpc)
	}
	if data, _, _ := unstructured.NestedStringMap(found.Object, "data"); data["vpc"] != vpc[0] {
		t.Errorf("the settings are %v, the VPC is %s", data, vpc[0])
	}

	nuon("installs", "deprovision", "east", "--yes")
	until("east is deprovisioned", func(i api.Install) bool { return i.Status == "deprovisioned" })
	if objects, err := c.Objects(ctx); err != nil || len(objects) > 0 {
		t.Errorf("after the deprovision there are %v, %v", objects, err)
	}
	if clustertest.Get(t, cluster, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: namespace}) != nil {
		t.Error("the namespace is still there")
	}
}

// startFleet starts the programs with further variables.
func startFleet(t *testing.T, ctx context.Context, env []string) *fleet.Fleet {
	t.Helper()
	bin, err := fleet.Programs(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Start(ctx, fleet.Options{Bin: bin, Dir: dir, Installers: []string{"customer"}, Env: env})
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs are in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Log(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func idsOf(t *testing.T, ctx context.Context, c *Cloud, typ string) (made []string) {
	t.Helper()
	objects, err := c.Objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.Type == typ {
			made = append(made, o.ID)
		}
	}
	return made
}
