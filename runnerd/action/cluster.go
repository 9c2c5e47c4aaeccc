package action

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nuon-toolkit/nuon/runnerd/ambient"
)

// cluster leaves what leads to the runner's cluster in a step's environment if its action asks for that, and only then. It says
// whether there is a file by which programs find one.
func (r *run) cluster(environ map[string]string) bool {
	if !r.spec.KubeConfig {
		ambient.WithoutCluster(environ)
		return false
	}
	if r.env.KubeConfig != "" {
		environ[ambient.VarKubeConfig] = r.env.KubeConfig
	}
	return environ[ambient.VarKubeConfig] != ""
}

// openCluster learns the credentials of the file that the steps get, so that no log shows them, and tells when the action asks for a
// cluster that this runner does not have: it may still do without.
func (r *run) openCluster() error {
	environ := ambient.ForTool(os.Environ())
	file := r.cluster(environ)
	switch {
	case !r.spec.KubeConfig:
		return nil
	case !file && environ["KUBERNETES_SERVICE_HOST"] == "":
		r.env.Log.Warn("action %s has enable_kube_config, and this runner was given no cluster; its owner gives it one with runnerd run --kubeconfig", r.spec.Action)
		return nil
	}
	for _, path := range filepath.SplitList(environ[ambient.VarKubeConfig]) {
		content, err := readKubeConfig(path)
		if err != nil && path == r.env.KubeConfig { // of those that the variable names, some may not be there
			return fmt.Errorf("the runner's kubeconfig: %w; see to it that the file of runnerd run --kubeconfig is there", err)
		}
		for _, found := range kubeCredential.FindAllSubmatch(content, -1) {
			r.env.Redact.Add(found[1])
		}
	}
	return nil
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
