package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// maxAtOnce is the number of packages that are fetched concurrently.
const maxAtOnce = 4

// run is one resolution.
type run struct {
	*Resolver
	limits    Limits
	previous  *Resolution
	transport netguard.ByHost
	budget    *netguard.Budget

	mu      sync.Mutex
	known   map[string]any // results of remember
	fetched int
	files   int   // of all packages in memory
	bytes   int64 // of all packages in memory
}

func (r *Resolver) newRun(previous *Resolution) *run {
	tooMuch := problemf("call fewer or smaller modules", "all modules together have more than %d bytes to download",
		r.options.Limits.TotalDownloadBytes)
	if previous != nil && previous.Tool != r.options.Tool {
		previous = nil // the same addresses mean other registries
	}
	guard := netguard.Options{Roots: r.options.Roots, Resolver: r.options.Resolver}
	return &run{Resolver: r, limits: r.options.Limits, previous: previous,
		transport: netguard.NewByHost(guard, r.options.AllowPrivate),
		budget:    netguard.NewBudget(r.options.Limits.TotalDownloadBytes, tooMuch), known: map[string]any{}}
}

// remember calls make once per key of a run, also when several goroutines need the result at the
// same time.
func remember[T any](r *run, key string, make func() (T, error)) (T, error) {
	r.mu.Lock()
	once, is := r.known[key].(func() (T, error))
	if !is {
		once = sync.OnceValues(make)
		r.known[key] = once
	}
	r.mu.Unlock()
	return once()
}

// resolve resolves the calls of a root module, level by level: first those of the component and its
// local modules, then those of the modules that they lead to.
func (r *run) resolve(ctx context.Context, tree fs.FS, dir string) (*Result, error) {
	walk := &walk{run: r, result: &Result{Resolution: Resolution{Tool: r.options.Tool, Modules: []Module{}}}}
	if err := walk.visit(place{tree: tree, dir: dir, installed: "."}); err != nil {
		return nil, err
	}
	for len(walk.pending) > 0 {
		calls := walk.pending
		walk.pending = nil
		if err := r.fetchAll(ctx, calls); err != nil {
			return nil, err
		}
		for _, call := range calls {
			if err := walk.enter(call); err != nil {
				return nil, err
			}
		}
	}
	walk.result.Fetched = r.fetched
	return walk.result, walk.finish()
}

// fetchAll fetches the packages of several calls. It returns the errors of all of them, in the order
// of the calls.
func (r *run) fetchAll(ctx context.Context, calls []*call) error {
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	failed := make([]error, len(calls))
	for i, call := range calls {
		group.Go(func() error {
			failed[i] = call.explain(r.fetchCall(ctx, call))
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	return errors.Join(failed...)
}

// pack is a fetched package.
type pack struct {
	files  []artifact.File
	tree   *filetree.Tree
	digest string
	// repository, commit and archive are the fields of Module.
	repository, commit, archive string
	// subdir is the directory that the registry's location names; it may have wildcards.
	subdir string
}

func newPack(files []artifact.File) *pack {
	files = withoutOwn(files)
	return &pack{files: files, tree: filetree.New(files), digest: TreeDigest(files)}
}

// fetchCall fetches the package of a call, and sets the module of the call.
func (r *run) fetchCall(ctx context.Context, c *call) error {
	at, err := parseSource(c.block.Source, r.options.Tool)
	if err != nil {
		return err
	}
	if at.registry == nil && c.block.Version != "" {
		return problemf("remove version; write ?ref= for a git repository",
			"version is only for modules from a registry")
	}
	recorded, is := r.previous.find(c.key, c.block.Source, c.block.Version)
	if is && r.reuse(c, at, recorded) {
		return nil
	}
	module := Module{Key: c.key, Source: c.block.Source, Constraint: c.block.Version}
	var found *pack
	switch {
	case at.registry != nil:
		module.Version = recorded.Version
		found, err = r.fetchRegistry(ctx, *at.registry, &module, recorded)
	case at.git != nil:
		found, err = r.fetchRepository(ctx, at.git, recorded.Commit)
	default:
		found, err = r.fetchWeb(ctx, at.web, recorded.Commit, 0)
	}
	if err != nil {
		return err
	}
	if is && recorded.Tree != found.digest {
		what := "the package"
		if recorded.Version != "" {
			what = "version " + recorded.Version
		} else if recorded.Commit != "" {
			what = "commit " + recorded.Commit
		}
		return &ChangedError{Version: what, Recorded: recorded.Tree, Received: found.digest}
	}
	module.Repository, module.Commit, module.Archive, module.Tree = found.repository, found.commit, found.archive,
		found.digest
	if is {
		module.Archive = recorded.Archive // the same files, possibly packed again
	}
	if module.Directory, err = moduleDir(found, at.subdir); err != nil {
		return err
	}
	c.module, c.pack = module, found
	r.options.Log.Info("module %s", module)
	return nil
}

// reuse takes a recorded package from the cache. It returns false if the cache does not have it.
func (r *run) reuse(c *call, at address, recorded Module) bool {
	// A version that the constraint does not allow was not recorded by this package.
	if at.registry != nil && recorded.Version == "" {
		return false
	}
	found, err := remember(r, "cached "+recorded.Tree, func() (*pack, error) {
		files, is := r.cache.get(recorded.Tree)
		if !is {
			return nil, fs.ErrNotExist
		}
		return newPack(files), nil
	})
	if err != nil {
		return false
	}
	if real, err := found.tree.Real(recorded.Directory); err != nil || !found.tree.IsDir(real) {
		return false
	}
	c.module, c.pack = recorded, found
	c.module.Key = c.key
	return true
}

// fetchRegistry fetches the package of a registry module. It chooses the version if module has none.
func (r *run) fetchRegistry(ctx context.Context, at registryAddress, module *Module, recorded Module) (*pack, error) {
	registry, err := r.registry(ctx, at.host)
	if err != nil {
		return nil, err
	}
	if module.Version == "" {
		if module.Version, err = registry.chooseVersion(ctx, at, module.Constraint); err != nil {
			return nil, err
		}
	}
	// The recorded commit is part of the key: a repository that moved a tag fails for both.
	return remember(r, fmt.Sprintf("package %s %s %s", at, module.Version, recorded.Commit), func() (*pack, error) {
		location, err := registry.location(ctx, at, module.Version)
		if err != nil {
			return nil, err
		}
		var found *pack
		if location.git != nil {
			found, err = r.fetchRepository(ctx, location.git, recorded.Commit)
		} else {
			found, err = r.fetchWeb(ctx, location.web, recorded.Commit, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("the package of %s %s, to which the registry leads: %w", at.path(), module.Version, err)
		}
		copied := *found
		copied.subdir = joinSubdir(location.subdir, copied.subdir)
		return &copied, nil
	})
}

// fetchRepository fetches a commit of a repository; an empty commit means that of the ref.
func (r *run) fetchRepository(ctx context.Context, at *gitAddress, commit string) (*pack, error) {
	key := fmt.Sprintf("repository %s %q %s", at.url, at.ref, commit)
	return remember(r, key, func() (*pack, error) {
		found, err := r.fetchGit(ctx, at, commit, 0)
		if err != nil {
			return nil, err
		}
		made := newPack(found.files)
		made.repository, made.commit = showURL(at.url), found.commit
		return made, r.keep(made)
	})
}

// maxHops bounds the pages between a source and an archive.
const maxHops = 3

// fetchWeb fetches an archive. A page may lead to one, or to a repository (X-Terraform-Get), of which
// the given commit is fetched then.
func (r *run) fetchWeb(ctx context.Context, at *webAddress, commit string, hops int) (*pack, error) {
	if hops > maxHops {
		return nil, problemf("name the archive itself", "it leads through more than %d pages", maxHops)
	}
	credential, err := r.credential(ctx, at.url)
	if err != nil {
		return nil, err
	}
	bare := *at.url
	if bare.User != nil {
		credential, bare.User = granted(at.url), nil
	}
	client := r.client(&bare, credential, false)
	if at.format == "" {
		return r.followPage(ctx, client, &bare, commit, hops)
	}
	return remember(r, fmt.Sprintf("archive %s %s %s", at.url, at.format, at.checksum), func() (made *pack, err error) {
		err = r.retry(ctx, "archive "+showHost(&bare), func() (err error) {
			made, err = r.download(ctx, client, &bare, at)
			return err
		})
		if err != nil {
			return nil, err
		}
		return made, r.keep(made)
	})
}

// showHost returns the scheme and the host of an archive's URL. The path may be a credential.
func showHost(at *url.URL) string { return "from " + oneLine(at.Scheme+"://"+at.Host) }

// granted returns the credential that a URL from a registry holds.
func granted(at *url.URL) Credential {
	password, _ := at.User.Password()
	return Basic(at.User.Username(), seal.NewSecret([]byte(password)))
}

// keep counts a fetched package and adds it to the cache. The packages of a run are in memory
// together, so their total is bounded before they are installed.
func (r *run) keep(made *pack) error {
	r.mu.Lock()
	r.fetched++
	r.files += len(made.files)
	for _, file := range made.files {
		r.bytes += int64(len(file.Content))
	}
	files, bytes := r.files, r.bytes
	r.mu.Unlock()
	if err := r.limits.checkTotal(files, bytes); err != nil {
		return err
	}
	return r.cache.put(made.digest, made.files)
}

// checkTotal checks the size of all packages together.
func (l Limits) checkTotal(files int, bytes int64) error {
	const remedy = "call fewer or smaller modules"
	switch {
	case files > l.Files:
		return problemf(remedy, "all modules together have more than %d files", l.Files)
	case bytes > l.Bytes:
		return problemf(remedy, "all modules together have more than %d bytes", l.Bytes)
	}
	return nil
}
