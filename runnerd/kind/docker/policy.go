package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// localTransports are the places of images, besides registries, from which Buildah reads: FROM oci:/srv/x would put
// a directory of this machine into the image.
var localTransports = []string{"containers-storage", "dir", "docker-archive", "docker-daemon", "oci", "oci-archive",
	"ostree", "sif", "tarball"}

// machinePolicy is where the owner of the machine configures which images Buildah takes, and userPolicy, below the
// home, where its user does, which counts more. Source: containers-policy.json(5).
const (
	machinePolicy = "/etc/containers/policy.json"
	userPolicy    = ".config/containers/policy.json"
)

// policy writes which images a build takes: those of registries that the policy of the machine accepts, and those in
// the storage of the build.
func (w *workspace) policy() (string, error) {
	from := filepath.Join("/", jobenv.Lookup(w.environ, "HOME"), userPolicy)
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		from = machinePolicy
		content, err = os.ReadFile(from)
	}
	var made map[string]any
	if err == nil {
		err = json.Unmarshal(content, &made)
	}
	if err != nil {
		return "", fmt.Errorf("read which images Buildah may use, from %s: %w; write that file as "+
			"containers-policy.json(5) describes", from, err)
	}
	transports, _ := made["transports"].(map[string]any)
	if transports == nil {
		transports = map[string]any{}
		made["transports"] = transports
	}
	rule := func(kind string) []any { return []any{map[string]any{"type": kind}} }
	for _, name := range localTransports {
		transports[name] = map[string]any{"": rule("reject")}
	}
	transports["containers-storage"].(map[string]any)["[vfs@"+w.path("storage")+"]"] = rule("insecureAcceptAnything")
	if content, err = json.Marshal(made); err != nil {
		return "", err
	}
	return w.writeSettings("policy.json", content)
}
