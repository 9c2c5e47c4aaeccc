package action

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/child"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// cluster leaves what leads to a cluster in a step's environment if its action asks for that, and only then. It says whether there is a
// file by which programs find one.
func (r *run) cluster(environ map[string]string) bool {
	switch {
	case !r.spec.KubeConfig:
		ambient.WithoutCluster(environ)
	case r.made != "":
		ambient.WithoutCluster(environ) // what is in it besides leads elsewhere
		environ[ambient.VarKubeConfig] = r.made
	case r.env.KubeConfig != "" && r.sandbox():
		environ[ambient.VarKubeConfig] = cmp.Or(r.own, r.env.KubeConfig)
	}
	return environ[ambient.VarKubeConfig] != ""
}

// sandbox says that the action is about the cluster of the install's sandbox, which is the runner's own where it was given one.
func (r *run) sandbox() bool {
	return r.spec.Cluster.Context == "" || r.spec.Cluster.Context == contextSandbox
}

// contextSandbox is what the control plane calls that cluster.
const contextSandbox = "sandbox"

// openCluster makes the file by which the steps find their cluster, where its outputs tell of one, and learns the credentials of the
// runner's own, so that no log shows them. It tells when the action asks for a cluster that this runner does not have: it may still
// do without.
func (r *run) openCluster(ctx context.Context) error {
	if !r.spec.KubeConfig {
		return nil
	}
	own := r.sandbox() && (r.env.KubeConfig != "" || os.Getenv(ambient.VarKubeConfig) != "")
	if !own && cluster.Told(r.values, r.spec.Cluster) {
		return r.writeKubeConfig(ctx)
	}
	environ := ambient.ForTool(os.Environ())
	if !r.cluster(environ) && environ["KUBERNETES_SERVICE_HOST"] == "" {
		r.env.Log.Warn("action %s has enable_kube_config, and this runner was given no cluster; let the sandbox have an output cluster, or have the runner's owner start it with runnerd run --kubeconfig", r.spec.Action)
		return nil
	}
	for _, path := range filepath.SplitList(environ[ambient.VarKubeConfig]) {
		content, err := readKubeConfig(path)
		if err != nil && path == r.env.KubeConfig { // of those that the variable names, some may not be there
			return fmt.Errorf("the runner's kubeconfig: %w; see to it that the file of runnerd run --kubeconfig is there", err)
		}
		if err == nil && child.Separate() && path == r.env.KubeConfig {
			if err := r.showOwn(content); err != nil {
				return err
			}
		}
		for _, found := range kubeCredential.FindAllSubmatch(content, -1) {
			r.env.Redact.Add(found[1])
		}
	}
	return nil
}

// writeKubeConfig makes the file of what the outputs of the cluster tell. It goes with the action's work directory.
func (r *run) writeKubeConfig(ctx context.Context) error {
	reached, err := cluster.Open(r.env, r.spec.Cluster, r.values)
	if err != nil {
		return err
	}
	path := filepath.Join(r.work, "kubeconfig")
	if err := reached.WriteKubeconfig(ctx, path); err != nil {
		return err
	}
	if err := child.Show(path); err != nil {
		return err
	}
	r.made = path
	return nil
}

// showOwn copies the runner's own file to where the user of programs may read it.
func (r *run) showOwn(content []byte) error {
	path := filepath.Join(r.work, "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("copy the runner's kubeconfig: %w", err)
	}
	r.own = path
	return child.Show(path)
}

// mostKubeConfig bounds a kubeconfig, in bytes.
const mostKubeConfig = 4 << 20

// kubeCredential finds the values of a kubeconfig that let their reader in, written as YAML or JSON.
var kubeCredential = regexp.MustCompile(`(?m)"?\b(?:token|password|client-key-data|id-token|refresh-token|access-token|client-secret)"?[ \t]*:[ \t]*["']?([^"'\s,}]+)`)

func readKubeConfig(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, mostKubeConfig+1))
	if err == nil && len(content) > mostKubeConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, mostKubeConfig)
	}
	return content, err
}
