package terraform

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// resolved are the modules from outside of the repository that a build packs. The zero value means
// none.
type resolved struct {
	made  api.ModuleResolution
	files []artifact.File // relative to the root of the repository
}

// resolve fetches the modules that a module in the directory source calls from outside of its
// repository. Calls that the job's spec has a resolution of get the same content again.
func (b Build) resolve(
	ctx context.Context, env *job.Env, tool tfbinary.Tool, source string, module *tfmodule.Module,
) (resolved, error) {
	if len(module.Remote) == 0 {
		return resolved{}, nil
	}
	product, err := tool.Product(ctx)
	if err != nil {
		return resolved{}, err
	}
	options := b.resolver
	options.Tool, options.Log, options.Cache = toolOf(product), env.Log, filepath.Join(env.Root, "modules")
	if options.AllowPrivate == nil {
		options.AllowPrivate = netguard.AllowHosts(os.Getenv(job.VarModulesPrivate))
	}
	if options.Services == nil {
		options.Services, options.AllowPrivate, err = useRegistries(tool.Config, options.AllowPrivate)
		if err != nil {
			return resolved{}, err
		}
	}
	options.Credentials = func(ctx context.Context, at *url.URL) (modules.Credential, error) {
		return moduleCredential(ctx, env, at)
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		return resolved{}, fmt.Errorf("read the source: %w", err)
	}
	defer func() { _ = root.Close() }()
	result, err := modules.New(options).Resolve(ctx, root.FS(), module.Dir, earlierResolution(env.Spec.Build.Modules))
	if err != nil {
		return resolved{}, err
	}
	env.Log.Info("modules: %d, %d of them fetched, the others were here", len(result.Resolution.Modules), result.Fetched)
	return resolved{made: reportedResolution(result.Resolution), files: below(module.Dir, result.Files)}, nil
}

// moduleCredential returns the org's credential for an address. Before anything uses it, the log masks
// it.
func moduleCredential(ctx context.Context, env *job.Env, at *url.URL) (modules.Credential, error) {
	if at.Scheme == "http" { // on this machine: credentials have addresses with TLS
		return modules.Credential{}, nil
	}
	found, err := env.API.ModuleCredential(ctx, env.Spec.Org, at.String())
	if err != nil || found.Secret.IsZero() {
		return modules.Credential{}, err
	}
	env.Redact.AddSecret(found.Secret)
	switch {
	case at.Scheme == "ssh":
		key, hosts := splitKey(found.Secret)
		return modules.SSHKey(key, hosts), nil
	case strings.Trim(at.Path, "/") == "":
		return modules.Bearer(found.Secret), nil
	}
	return modules.Basic(found.Username, found.Secret), nil
}

// splitKey splits an ssh key from the lines of a known_hosts file that may follow it.
func splitKey(secret seal.Secret) (key seal.Secret, hosts string) {
	text := secret.Reveal()
	last := []byte("-----END ")
	end := bytes.LastIndex(text, last)
	if end < 0 {
		return secret, ""
	}
	line := bytes.IndexByte(text[end:], '\n')
	if line < 0 {
		return secret, ""
	}
	end += line + 1
	return seal.NewSecret(text[:end]), string(text[end:])
}

// below returns files with a directory in front of their paths.
func below(dir string, files []artifact.File) []artifact.File {
	placed := slices.Clone(files)
	for i := range placed {
		placed[i].Path = path.Join(dir, placed[i].Path)
	}
	return placed
}

// earlierResolution returns the resolution in the spec of a job, or nil if it has none.
func earlierResolution(given api.ModuleResolution) *modules.Resolution {
	if given.Tool == "" {
		return nil
	}
	made := &modules.Resolution{Tool: modules.Tool(given.Tool)}
	for _, m := range given.Modules {
		made.Modules = append(made.Modules, modules.Module{
			Key: m.Key, Source: m.Source, Constraint: m.Constraint, Version: m.Version, Repository: m.Repository,
			Commit: m.Commit, Archive: m.Archive, Tree: m.Tree, Directory: m.Directory,
		})
	}
	return made
}

// reportedResolution returns a resolution for the result of a job.
func reportedResolution(found modules.Resolution) api.ModuleResolution {
	made := api.ModuleResolution{Tool: string(found.Tool), Modules: []api.ResolvedModule{}}
	for _, m := range found.Modules {
		made.Modules = append(made.Modules, api.ResolvedModule{
			Key: m.Key, Source: m.Source, Constraint: m.Constraint, Version: m.Version, Repository: m.Repository,
			Commit: m.Commit, Archive: m.Archive, Tree: m.Tree, Directory: m.Directory,
		})
	}
	return made
}
