package tfbinary

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// ownConfig is our own CLI configuration. All its settings are also set by the environment;
// the file exists because Terraform would otherwise read the user's.
const ownConfig = `# Written by runnerd. To use a mirror, name a file of your own in NUON_TF_CLI_CONFIG_FILE.
disable_checkpoint = true
`

// configure chooses the CLI configuration file, and writes our own if necessary.
func (t *Tool) configure() error {
	if named := jobenv.Lookup(t.environ, EnvConfig); named != "" {
		if _, err := os.Stat(named); err != nil {
			return fmt.Errorf("%s names a file that cannot be read: %w; correct it or unset it", EnvConfig, err)
		}
		t.Config = named
		return nil
	}
	t.ownConfig = true
	t.Config = filepath.Join(t.root, "tools", "terraform.rc")
	if content, err := os.ReadFile(t.Config); err == nil && string(content) == ownConfig {
		return subprocess.GrantRead(t.Config)
	}
	if err := writeFile(t.Config, []byte(ownConfig)); err != nil {
		return fmt.Errorf("write Terraform's CLI configuration: %w", err)
	}
	return subprocess.GrantRead(t.Config)
}

// Environ returns the complete environment for one run: the runner's variables that a tool
// may see, overridden by the component's own variables, overridden by those that
// the product relies on.
func (t Tool) Environ(own map[string]string) map[string]string {
	made := jobenv.ToolEnv(t.environ)
	maps.Copy(made, own)
	made["CHECKPOINT_DISABLE"] = "1"
	made["TF_CLI_CONFIG_FILE"] = t.Config
	if cache := t.PluginCache(); cache != "" {
		made["TF_PLUGIN_CACHE_DIR"] = cache
	}
	return made
}
