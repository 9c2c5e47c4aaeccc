package fleettest

import (
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// AddPodRunner starts the runner of another customer, whose jobs are pods in a new namespace of the fleet's cluster,
// and returns it with the namespace. Applies run as the service account nuon-apply. more is what its runner file has
// besides the executor.
func (w *World) AddPodRunner(name, more string) (runner *fleet.Runner, namespace string) {
	w.Helper()
	cluster := clustertest.Open(w)
	namespace = clustertest.Namespace(w, cluster)
	clustertest.Create(w, cluster, namespace, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: nuon-runner}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: nuon-apply}
`)
	file := filepath.Join(w.TempDir(), "runner.toml")
	w.Must(os.WriteFile(file, []byte("[executor]\nkind = \"kubernetes\"\nnamespace = \""+namespace+"\"\n"+
		"claim = \"nuon-runner\"\n\n[executor.service_accounts]\napply = \"nuon-apply\"\n\n"+more), 0o600))
	runner, err := w.Fleet.AddInstaller(w.Ctx, name, []string{"--policy", file, "--pass-env", "KUBECONFIG"},
		[]string{"KUBECONFIG=" + w.Fleet.Kubeconfig, "NUON_RUNNER_IMAGE=registry.test/runner:1"})
	w.Must(err)
	return runner, namespace
}
