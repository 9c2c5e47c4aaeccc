package terraform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// Build is the handler of build jobs: it makes an artifact from a module's packed source.
// The same source, kind and directory give the same digest on any machine, provided that the
// source includes its lock file or needs no provider.
type Build struct {
	// resolver replaces the options with which modules are fetched, in tests.
	resolver modules.Options
}

// Run builds the artifact. Errors name file and line where Terraform does.
func (b Build) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Build
	source, err := env.Vendor.Pull(ctx, spec.Source)
	if err != nil {
		return api.JobResult{}, err
	}
	if source.Type != artifact.MediaSource {
		return api.JobResult{}, fmt.Errorf("the source is of type %s; this is a bug in the control plane; report it",
			source.Type)
	}
	work, err := env.CreateWorkDir()
	if err != nil {
		return api.JobResult{}, err
	}
	files, module, err := moduleFiles(source, spec.Directory, filepath.Join(work, "source"))
	if err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("module %s: %s", module.Dir, strings.Join(module.Dirs, ", "))
	tree := filepath.Join(work, "tree")
	terraform, err := openBuildTerraform(ctx, env, module, filepath.Join(tree, filepath.FromSlash(module.Dir)))
	if err != nil {
		return api.JobResult{}, err
	}
	resolved, err := b.resolve(ctx, env, terraform.tool, filepath.Join(work, "source"), module)
	if err != nil {
		return api.JobResult{}, err
	}
	if spec.ResolveOnly {
		return api.JobResult{Status: job.Succeeded, Build: api.BuildResult{Modules: resolved.made}}, nil
	}
	files = append(files, resolved.files...)
	if err := artifact.WriteTree(files, tree, artifact.Limits{}); err != nil {
		return api.JobResult{}, err
	}
	lock, err := checkModule(ctx, terraform, module, len(resolved.files) > 0, tree)
	if err != nil {
		return api.JobResult{}, err
	}
	files = overlayFiles(files, withLock(files, module.Dir, lock))
	annotations := map[string]string{
		artifact.AnnotationKind:   spec.ComponentKind,
		artifact.AnnotationFormat: formatVersion,
		artifact.AnnotationTree:   spec.Tree,
		annotationDirectory:       module.Dir,
	}
	// Where "version" prints neither name, Terraform is meant.
	product, _ := terraform.tool.Product(ctx)
	if resolved.made.Tool != "" || product == tfbinary.OpenTofu {
		annotations[annotationTool] = string(toolOf(product))
	}
	packed, err := artifact.Pack(artifact.MediaTerraform, files, annotations, artifact.Limits{})
	if err != nil {
		return api.JobResult{}, err
	}
	made, err := env.Vendor.Push(ctx, spec.Repository, packed)
	if err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("artifact %s", made.Digest)
	return api.JobResult{Status: job.Succeeded,
		Build: api.BuildResult{Artifact: made, Bytes: int64(len(packed.Layer)), Modules: resolved.made}}, nil
}

// moduleFiles unpacks the source and returns the files that belong to the module.
func moduleFiles(source artifact.Artifact, dir, to string) ([]artifact.File, *tfmodule.Module, error) {
	if err := source.Extract(to, artifact.Limits{}); err != nil {
		return nil, nil, fmt.Errorf("unpack the source: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, nil, fmt.Errorf("read the source: %w", err)
	}
	defer func() { _ = root.Close() }()
	module, err := tfmodule.Read(root.FS(), dir)
	if err != nil {
		return nil, nil, err
	}
	files, err := artifact.ReadFS(root.FS(), artifact.ReadOptions{Skip: tfmodule.Outside(module.Dirs)})
	return files, module, err
}

// maxLockFile bounds a lock file, in bytes.
const maxLockFile = 4 << 20

// openBuildTerraform prepares Terraform for the module in dir, which need not exist yet.
func openBuildTerraform(
	ctx context.Context, env *job.Env, module *tfmodule.Module, dir string,
) (*terraform, error) {
	// The home directory is empty, because a vendor's module must not use files of the user
	// who runs the builder.
	work, err := env.CreateWorkDir()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(work, "home-*")
	if err == nil {
		err = subprocess.GrantOwnership(home)
	}
	if err != nil {
		return nil, fmt.Errorf("make a home directory: %w", err)
	}
	terraform, err := openTerraform(ctx, env, "", env.Spec.Build.TerraformVersion, dir, map[string]string{"HOME": home})
	if err != nil {
		return nil, err
	}
	terraform.location = location{root: filepath.Dir(dir), module: module.Dir}
	return terraform, nil
}

// checkModule runs init and validate in a tree with only the packed files, and returns the lock
// file, or nil when the module needs no provider.
func checkModule(
	ctx context.Context, terraform *terraform, module *tfmodule.Module, hasModules bool, tree string,
) ([]byte, error) {
	if err := subprocess.GrantOwnership(tree); err != nil {
		return nil, err
	}
	if err := terraform.init(ctx, initOptions{
		packed: hasModules, fetches: hasModules || needsProviders(module),
	}); err != nil {
		return nil, err
	}
	if err := terraform.validate(ctx); err != nil {
		return nil, err
	}
	lock, err := subprocess.ReadUntrusted(terraform.dir, lockFileName, maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return lock, err
}

// needsProviders reports whether init has to fetch anything. The provider of terraform_data
// and terraform_remote_state is built into Terraform.
func needsProviders(module *tfmodule.Module) bool {
	for _, provider := range module.Providers {
		if provider.Source != "" && provider.Source != "terraform.io/builtin/terraform" ||
			provider.Source == "" && provider.Name != "terraform" {
			return true
		}
	}
	return false
}

// withLock returns the lock file to pack: the source's own if it chose every required
// provider, because init adds hashes of the machine that it runs on, and otherwise
// the one that init made.
func withLock(files []artifact.File, dir string, made []byte) []artifact.File {
	name := path.Join(dir, lockFileName)
	if made == nil {
		return nil
	}
	for _, file := range files {
		if file.Path == name && providerChoices(file.Content) == providerChoices(made) {
			return nil
		}
	}
	return []artifact.File{{Path: name, Content: made}}
}

// providerChoice matches the lines of a lock file that name a provider and its version.
var providerChoice = lazyregexp.New(`(?m)^(provider "[^"]*"|\s*version\s*=\s*"[^"]*")`)

func providerChoices(content []byte) string {
	return strings.Join(providerChoice.Compiled().FindAllString(string(content), -1), "\n")
}
