// Package cloud runs a simulated cloud for Terraform: providers with the recorded schemas of aws,
// google, azurerm, kubernetes, helm and others under their own names, which keep what they create in
// a file, and a module registry. Terraform and runnerd find them by environment variables.
//
// The providers are one program, in the module provider below this directory. This package builds
// it, puts it into a mirror, and changes its objects through the program's own commands.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// Options configures Start.
type Options struct {
	// Dir receives everything: the program, the mirror, the objects. A cloud that was started in the same
	// directory before has its objects again.
	Dir string
	// Modules is a directory with modules to serve as those of registry.terraform.io, as
	// NAMESPACE/NAME/SYSTEM/VERSION/. Links in them are followed. Empty means none.
	Modules string
	// Kubeconfig is the kubeconfig of a Kubernetes that stands behind all simulated clusters. Without it
	// their addresses lead nowhere.
	Kubeconfig string
	// Upstream is the address HOST:PORT of an HTTP proxy through which all other hosts than those of clusters are reached;
	// empty for directly.
	Upstream string
}

// Cloud is a running simulated cloud.
type Cloud struct {
	dir     string
	program string
	modules *registry
	gateway *gateway
}

// Files in the directory of a cloud, which the program has, too.
const (
	storeFile     = "objects.jsonl"
	authorityFile = "authority.pem"
	gatewayFile   = "gateway"
)

// Start starts a cloud. Close ends it.
func Start(ctx context.Context, o Options) (c *Cloud, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	c = &Cloud{dir: dir, program: filepath.Join(dir, "bin", "cloud")}
	if err := os.MkdirAll(filepath.Dir(c.program), 0o755); err != nil {
		return nil, fmt.Errorf("make a place for the cloud: %w", err)
	}
	store, err := os.OpenFile(filepath.Join(dir, storeFile), os.O_CREATE, 0o600)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("make the store of the cloud: %w", err)
	}
	// One that was killed leaves the address of its gateway behind.
	if err := os.Remove(filepath.Join(dir, gatewayFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := build(ctx, c.program); err != nil {
		return nil, err
	}
	if _, err := c.command(ctx, "", "init"); err != nil {
		return nil, err
	}
	for _, name := range logins {
		if err := link(c.program, filepath.Join(dir, "bin", name)); err != nil {
			return nil, err
		}
	}
	if err := makeMirror(c.program, c.mirror()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if o.Modules != "" {
		if c.modules, err = serveModules(o.Modules); err != nil {
			return c, err
		}
	}
	if o.Kubeconfig != "" {
		if c.gateway, err = startGateway(dir, o.Kubeconfig, o.Upstream); err != nil {
			return c, err
		}
	}
	return c, c.writeConfig()
}

// logins are the programs that log in to clusters.
var logins = []string{"aws", "gke-gcloud-auth-plugin", "kubelogin"}

func (c *Cloud) mirror() string { return filepath.Join(c.dir, "mirror") }
func (c *Cloud) config() string { return filepath.Join(c.dir, "terraform.rc") }

// writeConfig writes Terraform's configuration. Without a direct block Terraform downloads no
// provider.
func (c *Cloud) writeConfig() error {
	text := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n"+
		"  }\n}\n", c.mirror())
	if c.modules != nil {
		text += fmt.Sprintf("host \"registry.terraform.io\" {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n",
			c.modules.services())
	}
	if err := os.WriteFile(c.config(), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the configuration of Terraform: %w", err)
	}
	return nil
}

// Env returns the variables with which Terraform, and a runner that runs it, use this cloud.
func (c *Cloud) Env() []string {
	env := []string{
		"TF_CLI_CONFIG_FILE=" + c.config(), tfbinary.EnvConfig + "=" + c.config(), "CHECKPOINT_DISABLE=1",
		"PATH=" + filepath.Join(c.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	if c.gateway != nil {
		env = append(env, "HTTPS_PROXY="+c.gateway.url())
	}
	return env
}

// Close ends the cloud. Its objects stay in the directory.
func (c *Cloud) Close() (err error) {
	if c.modules != nil {
		err = c.modules.close()
	}
	if c.gateway != nil {
		err = errors.Join(err, c.gateway.close())
	}
	return err
}
