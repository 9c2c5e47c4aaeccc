package apps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// sandbox is a sandbox of this repository, with the settings for which it stands in for a public one.
type sandbox struct {
	Directory string
	Variant   string
}

// existingCluster is the variant that uses a cluster of the customer.
const existingCluster = "existing-cluster"

// readSandboxes returns the sandboxes in a directory by the names of the public ones for which they stand in.
func readSandboxes(dir string) (map[string]sandbox, error) {
	content, err := os.ReadFile(filepath.Join(dir, "contract.toml"))
	if err != nil {
		return nil, err
	}
	var file struct{ Sandboxes map[string]sandbox }
	if err := toml.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("contract.toml: %w", err)
	}
	for name, s := range file.Sandboxes {
		s.Directory = filepath.Join(dir, s.Directory)
		file.Sandboxes[name] = s
	}
	return file.Sandboxes, nil
}

// errNoSandbox means that an app cannot be installed because there is no sandbox of its kind.
var errNoSandbox = errors.New("no sandbox of this kind")

// findSandbox returns the sandbox for the one that the app names; it has no directory if that is in the app's own
// repository.
func (a *App) findSandbox(sandboxes map[string]sandbox) (sandbox, error) {
	source := a.config.Sandbox.Source
	if source.IsAppRepository() {
		return sandbox{}, nil
	}
	if a.config.Sandbox.Pulumi != nil {
		return sandbox{}, fmt.Errorf("%w: %s is a Pulumi program", errNoSandbox, source.Repo)
	}
	owner, name := path.Split(strings.TrimSuffix(source.Repo, ".git"))
	found, known := sandboxes[name]
	if !known || owner != "nuonco/" {
		return sandbox{}, fmt.Errorf("%w: %s", errNoSandbox, source.Repo)
	}
	return found, nil
}

// copyTo copies the sandbox with its variant to the root of a repository.
func (s sandbox) copyTo(root string) error {
	if err := os.CopyFS(root, os.DirFS(s.Directory)); err != nil || s.Variant == "" {
		return err
	}
	settings, err := os.ReadFile(filepath.Join(s.Directory, "variants", s.Variant+".tfvars"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "variant.auto.tfvars"), settings, 0o644)
}

// addCluster creates the customer's cluster that the app's sandbox uses, if it uses one.
func (n *installation) addCluster(ctx context.Context, name string) error {
	if n.sandbox.Variant != existingCluster {
		return nil
	}
	_, err := n.cloud.Create(ctx, "aws_eks_cluster", map[string]any{"name": name,
		"role_arn": "arn:aws:iam::123456789012:role/cluster",
		"vpc_config": []any{map[string]any{"subnet_ids": []string{"subnet-0a1b2c3d4e5f60721"},
			"security_group_ids": []string{"sg-0a1b2c3d4e5f60731"}}}})
	if err != nil {
		return err
	}
	n.customers, err = n.cloud.Objects(ctx)
	return err
}
