// Package executors tests an install whose jobs run as pods of a cluster, with the real programs.
package executors

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// world is a fleet with a runner whose jobs are pods in a namespace of a cluster.
type world struct {
	*fleettest.World
	runner         *fleet.Runner
	jobs, deployed string // namespaces
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: fleettest.Start(t, fleet.Options{Kubeconfig: clustertest.Kubeconfig(t)}),
		deployed: clustertest.Namespace(t, clustertest.Open(t))}
	w.runner, w.jobs = w.AddPodRunner("clustered", "")
	return w
}

// app is an app with a Terraform module, and a manifest that reads its output.
func (w *world) app() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"metadata.toml": file("version = \"v2\"\ndisplay_name = \"Shop\"\n"),
		"runner.toml":   file("runner_type = \"aws\"\n"),
		"sandbox.toml": file("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
			"directory = \"modules/base\"\n"),
		"modules/base/main.tf": file("resource \"terraform_data\" \"base\" {\n  input = \"made in a pod\"\n}\n" +
			"output \"text\" {\n  value = terraform_data.base.output\n}\n"),
		"components/web.toml": file("type = \"kubernetes_manifest\"\nname = \"web\"\nnamespace = \"" + w.deployed +
			"\"\nmanifest = \"\"\"\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n" +
			"  text: \"{{ .nuon.sandbox.outputs.text }}\"\n\"\"\"\n"),
	}
}

// kubectl runs kubectl with the access of the tests.
func (w *world) kubectl(args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Ctx, os.Getenv("NUON_CLUSTER"), append([]string{"kubectl", "--kubeconfig",
		clustertest.Kubeconfig(w), "--namespace", w.jobs}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestAnInstallInPods deploys an app with jobs as pods.
func TestAnInstallInPods(t *testing.T) {
	w := newWorld(t)
	repository, err := w.Fleet.NewRepository(w.Ctx, "shop", w.app())
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", repository.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	w.Nuon("installs", "create", "acme", "--app", "shop", "--runner", "clustered", "--approval", "approve-all")
	w.Until("acme", 1)
	object := clustertest.Get(t, clustertest.Open(t),
		api.ObjectRef{Version: "v1", Kind: "ConfigMap", Namespace: w.deployed, Name: "web"})
	if text := object.Object["data"].(map[string]any)["text"]; text != "made in a pod" {
		t.Errorf("the manifest has %q", text)
	}
	jobs := w.kubectl("get", "jobs", "-o",
		`jsonpath={range .items[*]}{.metadata.annotations.runner\.nuon\.co/attempt} {.status.succeeded} `+
			`{.spec.ttlSecondsAfterFinished} {.spec.template.spec.serviceAccountName}{"\n"}{end}`)
	accounts := 0
	for line := range strings.Lines(jobs) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "1" || fields[2] != "600" {
			t.Errorf("a Job is %q", line)
		}
		if len(fields) == 4 && fields[3] == "nuon-apply" {
			accounts++
		}
	}
	if accounts != 2 {
		t.Errorf("%d applies ran as nuon-apply:\n%s", accounts, jobs)
	}
}
