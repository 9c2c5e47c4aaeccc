package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/child"
)

// rules is our own CLI configuration. Everything that it could say is said by the environment; the file exists because Terraform
// otherwise reads the user's.
const rules = `# Written by runnerd. To use a mirror, name a file of your own in NUON_TF_CLI_CONFIG_FILE.
disable_checkpoint = true
`

// configure settles the CLI configuration file.
func (t *Tool) configure() error {
	if named := ambient.Lookup(t.environ, EnvConfig); named != "" {
		if _, err := os.Stat(named); err != nil {
			return fmt.Errorf("%s names a file that cannot be read: %w; correct it or unset it", EnvConfig, err)
		}
		t.Config = named
		return nil
	}
	t.ownRules = true
	t.Config = filepath.Join(t.root, "tools", "terraform.rc")
	if content, err := os.ReadFile(t.Config); err == nil && string(content) == rules {
		return child.Show(t.Config)
	}
	if err := writeFile(t.Config, []byte(rules)); err != nil {
		return fmt.Errorf("write Terraform's CLI configuration: %w", err)
	}
	return child.Show(t.Config)
}

// PluginCache is the directory that fetched providers are kept in; empty when the runner's owner has rules of their own.
// Terraform's cache is not safe for two that fill it at once: whoever runs init with it holds a lock.
func (t Tool) PluginCache() string {
	if !t.ownRules {
		return ""
	}
	if child.Separate() {
		return filepath.Join(t.root, "tools", "plugins-of-jobs") // which that user writes, and another reads
	}
	return filepath.Join(t.root, "tools", "plugins")
}

// MakePluginCache makes that directory, for programs to write into.
func MakePluginCache(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = child.Give(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the plugin cache: %w", err)
	}
	return nil
}

// Environ gives the whole environment for one run: what of the runner's a tool may see, the component's own variables over it,
// and over these what the product relies on.
func (t Tool) Environ(own map[string]string) map[string]string {
	made := ambient.ForTool(t.environ)
	maps.Copy(made, own)
	made["CHECKPOINT_DISABLE"] = "1"
	made["TF_CLI_CONFIG_FILE"] = t.Config
	if cache := t.PluginCache(); cache != "" {
		made["TF_PLUGIN_CACHE_DIR"] = cache
	}
	return made
}
