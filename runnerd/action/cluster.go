package action

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// cluster leaves the access to a cluster in a step's environment only if its action requests
// one. It reports whether there is a kubeconfig.
func (r *run) cluster(environ map[string]string) bool {
	switch {
	case !r.spec.KubeConfig:
		jobenv.WithoutCluster(environ)
	case r.kubeConfig != "":
		jobenv.WithoutCluster(environ) // the other variables lead to another cluster
		environ[jobenv.VarKubeConfig] = r.kubeConfig
	case r.env.KubeConfig != "" && r.sandbox():
		environ[jobenv.VarKubeConfig] = cmp.Or(r.own, r.env.KubeConfig)
	}
	return environ[jobenv.VarKubeConfig] != ""
}

// sandbox reports whether the action is for the cluster of the install's sandbox, for which the
// runner's own kubeconfig is used if it has one.
func (r *run) sandbox() bool {
	return r.spec.Cluster.Context == "" || r.spec.Cluster.Context == contextSandbox
}

// contextSandbox is the control plane's name for that cluster.
const contextSandbox = "sandbox"

// openCluster writes a kubeconfig for the steps if outputs describe their cluster. Otherwise
// it adds the credentials of the runner's own kubeconfig to the redactor, so that no log shows
// them. It logs a warning when the action requests a cluster that this runner does not have,
// because the action may still work without it.
func (r *run) openCluster(ctx context.Context) error {
	if !r.spec.KubeConfig {
		return nil
	}
	own := r.sandbox() && (r.env.KubeConfig != "" || os.Getenv(jobenv.VarKubeConfig) != "")
	if !own && cluster.HasClusterOutputs(r.values, r.spec.Cluster) {
		return r.writeKubeConfig(ctx)
	}
	environ := jobenv.ToolEnv(os.Environ())
	if !r.cluster(environ) && environ["KUBERNETES_SERVICE_HOST"] == "" {
		if r.spec.Action == "" {
			r.env.Log.Warn("there is no cluster for this command: the sandbox has no output cluster, and the runner was " +
				"started without --kubeconfig and outside of a cluster")
			return nil
		}
		r.env.Log.Warn("action %s has enable_kube_config, and this runner was given no cluster; let the sandbox have an "+
			"output cluster, or have the runner's owner start it with runnerd run --kubeconfig", r.spec.Action)
		return nil
	}
	for _, path := range filepath.SplitList(environ[jobenv.VarKubeConfig]) {
		content, err := readKubeConfig(path)
		// The variable may name several files, and some of them may not exist.
		if err != nil && path == r.env.KubeConfig {
			return fmt.Errorf("the runner's kubeconfig: %w; see to it that the file of runnerd run --kubeconfig is there", err)
		}
		if err == nil && subprocess.HasOtherUser() && path == r.env.KubeConfig {
			if err := r.copyKubeConfig(content); err != nil {
				return err
			}
		}
		for _, found := range kubeCredential.Compiled().FindAllSubmatch(content, -1) {
			r.env.Redact.Add(found[1])
		}
	}
	return nil
}

// writeKubeConfig writes the kubeconfig of the cluster that the outputs describe.
// It is removed with the action's work directory.
func (r *run) writeKubeConfig(ctx context.Context) error {
	reached, err := cluster.Open(r.env, r.spec.Cluster, r.values)
	if err != nil {
		return err
	}
	path := filepath.Join(r.work, "kubeconfig")
	if err := reached.WriteKubeconfig(ctx, path); err != nil {
		return err
	}
	if err := subprocess.GrantRead(path); err != nil {
		return err
	}
	r.kubeConfig = path
	return nil
}

// copyKubeConfig copies the runner's own kubeconfig to a path that the programs' user can read.
func (r *run) copyKubeConfig(content []byte) error {
	path := filepath.Join(r.work, "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("copy the runner's kubeconfig: %w", err)
	}
	r.own = path
	return subprocess.GrantRead(path)
}

// maxKubeConfig bounds a kubeconfig, in bytes.
const maxKubeConfig = 4 << 20

// kubeCredential matches the credentials in a kubeconfig, written as YAML or JSON.
var kubeCredential = lazyregexp.New(
	`(?m)"?\b(?:token|password|client-key-data|id-token|refresh-token|access-token|client-secret)"?[ \t]*:[ \t]*["']?([^"'\s,}]+)`)

func readKubeConfig(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxKubeConfig+1))
	if err == nil && len(content) > maxKubeConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxKubeConfig)
	}
	return content, err
}
