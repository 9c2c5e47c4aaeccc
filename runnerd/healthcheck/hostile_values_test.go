package healthcheck_test

import (
	"encoding/json"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

// fixed is a time at noon, so that a window at night is closed.
var fixed = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

// plain puts a cluster into the values as a control plane can that forges it.
func (r *rig) plain(p *api.HealthPart, cluster map[string]any) {
	r.Helper()
	encoded, err := json.Marshal(map[string]any{"sandbox": map[string]any{"outputs": map[string]any{"cluster": cluster}}})
	if err != nil {
		r.Fatal(err)
	}
	p.Deploy.Values.Plain = encoded
}

// elsewhere moves the cluster, with its proof, to another path.
func (r *rig) elsewhere(p *api.HealthPart, path ...string) {
	r.Helper()
	var tree render.Tree
	if err := json.Unmarshal(p.Deploy.Values.Plain, &tree); err != nil {
		r.Fatal(err)
	}
	found, _ := tree.Get(p.Deploy.Cluster.Path)
	moved := render.Tree{}
	moved.Set(path, found)
	var err error
	if p.Deploy.Values.Plain, err = json.Marshal(moved); err != nil {
		r.Fatal(err)
	}
	p.Deploy.Cluster.Path, p.Deploy.Values.Proofs[0].Path = path, path
	// This is an output that a runner did report.
	if len(path) == 3 && path[0] == "sandbox" {
		told, err := json.Marshal(found)
		if err != nil {
			r.Fatal(err)
		}
		p.Deploy.Values.Proofs[0] = valuestest.Proof(r, r.key, install, "sandbox.outputs."+path[2], string(told))
	}
}

// secretAt puts the ciphertext of an input, which a control plane has, at a path.
func (r *rig) secretAt(p *api.HealthPart, text string, path ...string) {
	r.Helper()
	sealed := valuestest.SealValue(r, r.key, install, "inputs.inputs.password", text)
	sealed.Path = path
	p.Deploy.Values.Sealed = append(p.Deploy.Values.Sealed, sealed)
}

// otherKey replaces the install key of the runner.
func (r *rig) otherKey() {
	r.Helper()
	var err error
	if r.key, err = seal.NewIdentity(); err != nil {
		r.Fatal(err)
	}
}

func kubeconfig(server string) string {
	return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + server +
		"'}}]\nusers: [{name: u, user: {exec: {" +
		"apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: aws}}}]\n" +
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
}
