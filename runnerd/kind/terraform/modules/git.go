package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// maxSubmodules bounds the nesting of submodules, and their number in one commit.
const (
	maxSubmoduleDepth = 5
	maxSubmodules     = 50
)

// snapshot is the content of a commit.
type snapshot struct {
	files  []artifact.File
	commit string
}

// packLimits returns the limits of a pack with one commit.
func (r *run) packLimits() gitpack.Limits {
	limits := gitpack.Default()
	limits.Pack, limits.Object = r.limits.DownloadBytes, r.limits.FileBytes
	limits.Objects = int64(r.limits.Files) * 4 // directories, and files that are the same in others
	limits.Total = r.limits.Bytes*2 + r.limits.DownloadBytes
	return limits
}

// fetchGit fetches the files of a commit: of the given one, or of the one that the ref leads to.
func (r *run) fetchGit(ctx context.Context, at *gitAddress, commit string, depth int) (snapshot, error) {
	what := "repository " + showURL(at.url)
	var found snapshot
	err := r.retry(ctx, what, func() (err error) {
		found, err = r.fetchGitOnce(ctx, at, commit, depth)
		return explainGit(err)
	})
	return found, err
}

func (r *run) fetchGitOnce(ctx context.Context, at *gitAddress, commit string, depth int) (found snapshot,
	err error) {
	remote, closer, err := r.openGit(ctx, at)
	if err != nil {
		return found, err
	}
	defer func() { _ = closer() }() // the close error does not matter: it was only read
	want, err := wanted(remote, at.ref, commit)
	if err != nil {
		return found, err
	}
	dir, err := os.MkdirTemp("", "nuon-module-")
	if err != nil {
		return found, fmt.Errorf("store a repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.fetchPack(ctx, remote, at, want, dir); err != nil {
		return found, err
	}
	store := filesystem.NewStorage(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(16*cache.MiByte))
	tip, err := commitOf(store, want)
	if err != nil {
		return found, err
	}
	if found.commit = tip.Hash.String(); commit != "" && found.commit != commit {
		return found, fmt.Errorf("%w: another commit", gitpack.ErrMalformed)
	}
	tree := gittree.New(store, tip.TreeHash, nil)
	shape := &treeShape{ctx: ctx, most: 10 * r.limits.Files}
	found.files, err = artifact.ReadFS(cleanLinks{tree}, artifact.ReadOptions{Limits: r.limits.tree(), Skip: shape.skip})
	switch {
	case ctx.Err() != nil:
		return found, ctx.Err()
	case shape.exceeded:
		return found, problemf("call a module of a smaller repository",
			"the repository has more than %d directories, or directories more than %d deep", shape.most, maxDirDepth)
	case errors.Is(err, artifact.ErrTooLarge):
		return found, problemf("call a module of a smaller repository", "the repository is %s", oneLine(err.Error()))
	case errors.Is(err, artifact.ErrUnsafe):
		return found, problemf("fix the repository, links must stay inside it", "the repository is an %s",
			oneLine(err.Error()))
	case err != nil:
		return found, err
	}
	submodules, err := submodulesOf(store, tip.TreeHash, "", nil)
	if err != nil || len(submodules) == 0 {
		return found, err
	}
	found.files, err = r.addSubmodules(ctx, at, tree, submodules, found.files, depth)
	return found, err
}

// maxDirDepth bounds the nesting of directories in a repository.
const maxDirDepth = 100

// treeShape bounds a walk through a git tree, whose directories may contain the same directory many
// times: a small repository may have more paths than a walk ends with.
type treeShape struct {
	ctx      context.Context //nolint:containedctx // context of the walk
	seen     int
	most     int
	exceeded bool
}

func (s *treeShape) skip(name string, _ fs.DirEntry) bool {
	if s.seen++; s.seen > s.most || strings.Count(name, "/") >= maxDirDepth {
		s.exceeded = true
	}
	return s.exceeded || s.ctx.Err() != nil
}

// cleanLinks presents the targets of links in their shortest form.
type cleanLinks struct{ *gittree.Tree }

// ReadLink returns the target of a link.
func (c cleanLinks) ReadLink(name string) (string, error) {
	target, err := c.Tree.ReadLink(name)
	return cleanTarget(target), err
}

// cleanTarget returns the shortest form of a link's target. A target with ".." behind a name stays
// as it is: its meaning depends on links, and packages with such links are rejected.
func cleanTarget(target string) string {
	named := false
	for step := range strings.SplitSeq(target, "/") {
		if step == ".." && named {
			return target
		}
		named = named || step != ".." && step != "." && step != ""
	}
	return path.Clean(target)
}

// openGit reads the branches and tags of a repository.
func (r *run) openGit(ctx context.Context, at *gitAddress) (*gitpack.Remote, func() error, error) {
	credential, err := r.credential(ctx, at.url)
	if err != nil {
		return nil, nil, err
	}
	if at.url.Scheme == "ssh" {
		return r.openSSH(ctx, at.url, credential)
	}
	bare := *at.url
	if at.url.User != nil { // granted by a registry
		credential, bare.User = granted(at.url), nil
	}
	remote, err := gitpack.Open(ctx, r.client(&bare, credential, true), bare.String(), nil)
	return remote, func() error { return nil }, err
}

// wanted returns the object to fetch.
func wanted(remote *gitpack.Remote, ref, commit string) (plumbing.Hash, error) {
	refs := remote.Advertised.References
	switch {
	case commit != "":
		return requestFor(remote, plumbing.NewHash(commit)), nil
	case ref == "" || ref == "HEAD":
		if remote.Advertised.Head == nil {
			return plumbing.ZeroHash, problemf("write ?ref= and a branch, a tag or a commit", "it has no default branch")
		}
		return *remote.Advertised.Head, nil
	}
	names := []string{"refs/tags/" + ref, "refs/heads/" + ref}
	if target, is := defaultBranch(remote); is && target == names[1] {
		names[0], names[1] = names[1], names[0]
	}
	if strings.HasPrefix(ref, "refs/") {
		names = append([]string{ref}, names...)
	}
	for _, name := range names {
		if hash, is := refs[name]; is {
			return hash, nil
		}
	}
	lower := strings.ToLower(ref)
	switch {
	case plumbing.IsHash(lower) && len(lower) == 40:
		return plumbing.NewHash(lower), nil
	case shortCommit(lower):
		return plumbing.ZeroHash, problemf("write all 40 digits of the commit in ?ref=",
			"it has no branch or tag %s, which may be the start of a commit", diagnostic.Quote(ref))
	}
	hint := "write ?ref= and a branch, a tag or a commit"
	if near, is := diagnostic.Nearest(ref, branchesAndTags(refs)); is {
		hint = "did you mean " + diagnostic.Quote(near) + "?"
	}
	return plumbing.ZeroHash, problemf(hint, "it has no branch or tag %s", diagnostic.Quote(ref))
}

// requestFor returns the object to request for a commit: the tag that points at it, if there is one,
// because many servers give no commit that they do not list.
func requestFor(remote *gitpack.Remote, commit plumbing.Hash) plumbing.Hash {
	for _, hash := range remote.Advertised.References {
		if hash == commit {
			return commit
		}
	}
	for name, hash := range remote.Advertised.Peeled {
		if tag, is := remote.Advertised.References[name]; is && hash == commit {
			return tag
		}
	}
	return commit
}

func branchesAndTags(refs map[string]plumbing.Hash) (names []string) {
	for name := range refs {
		for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
			if short, is := strings.CutPrefix(name, prefix); is {
				names = append(names, short)
			}
		}
	}
	return names
}

// shortCommit reports whether a ref looks like the start of a commit's hash.
func shortCommit(ref string) bool {
	return len(ref) >= 7 && len(ref) < 40 && strings.Trim(ref, "0123456789abcdef") == ""
}

// defaultBranch returns the full name of the branch that HEAD points at.
func defaultBranch(remote *gitpack.Remote) (string, bool) {
	for _, value := range remote.Advertised.Capabilities.Get(capability.SymRef) {
		if target, is := strings.CutPrefix(value, "HEAD:"); is {
			return target, true
		}
	}
	return "", false
}

// fetchPack stores the objects of one commit, without its history, in a new repository.
func (r *run) fetchPack(
	ctx context.Context, remote *gitpack.Remote, at *gitAddress, want plumbing.Hash, dir string,
) error {
	request := gitpack.Request{Want: want}
	if remote.Supports(capability.Shallow) {
		request.Depth = 1
	}
	err := r.storePack(ctx, remote, request, dir)
	if !errors.Is(err, gitpack.ErrNotServed) {
		return err
	}
	// Some servers send only what a branch or tag leads to. The history of the default branch may
	// have the commit.
	if remote.Advertised.Head == nil {
		return err
	}
	again, closer, openErr := r.openGit(ctx, at)
	if openErr != nil {
		return openErr
	}
	defer func() { _ = closer() }() // the close error does not matter: it was only read
	if err := r.storePack(ctx, again, gitpack.Request{Want: *again.Advertised.Head}, dir); err != nil {
		return err
	}
	store := filesystem.NewStorage(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(cache.MiByte))
	if store.HasEncodedObject(want) != nil {
		return err
	}
	return nil
}

func (r *run) storePack(ctx context.Context, remote *gitpack.Remote, request gitpack.Request,
	dir string) (err error) {
	limits := r.packLimits()
	pack, err := remote.Fetch(ctx, request, limits.Pack)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pack.Close()) }()
	return gitpack.Store(ctx, pack, filepath.Join(dir, "objects", "pack"), gitpack.Options{Limits: limits})
}

// commitOf returns the commit with a hash, or the one that a tag points at.
func commitOf(store *filesystem.Storage, hash plumbing.Hash) (*object.Commit, error) {
	// A tag may point at a tag, but rarely more than once.
	for range 8 {
		found, err := object.GetObject(store, hash)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", gitpack.ErrMalformed, err)
		}
		switch found := found.(type) {
		case *object.Commit:
			return found, nil
		case *object.Tag:
			hash = found.Target
		default:
			return nil, problemf("write ?ref= and a branch, a tag of a commit, or a commit", "the ref leads to no commit")
		}
	}
	return nil, problemf("write ?ref= and the commit", "the tag leads through too many other tags")
}

// submodulesOf returns the commits of the submodules in a tree, by path. The shape of the tree has
// been checked.
func submodulesOf(
	store *filesystem.Storage, tree plumbing.Hash, dir string, found map[string]plumbing.Hash,
) (map[string]plumbing.Hash, error) {
	entries, err := gittree.Entries(store, tree)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name)
		switch entry.Mode {
		case filemode.Submodule:
			if found == nil {
				found = map[string]plumbing.Hash{}
			}
			if found[name] = entry.Hash; len(found) > maxSubmodules {
				return nil, problemf("call a module of another repository", "the repository has more than %d submodules",
					maxSubmodules)
			}
		case filemode.Dir:
			if found, err = submodulesOf(store, entry.Hash, name, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// addSubmodules fetches the submodules of a commit and adds their files.
func (r *run) addSubmodules(
	ctx context.Context, parent *gitAddress, tree fs.FS, commits map[string]plumbing.Hash, files []artifact.File,
	depth int,
) ([]artifact.File, error) {
	if depth >= maxSubmoduleDepth {
		return nil, problemf("call a module of another repository", "its submodules are nested more than %d deep",
			maxSubmoduleDepth)
	}
	text, err := fs.ReadFile(tree, ".gitmodules")
	if err != nil {
		// Without the file git does not know the submodules, and leaves their directories empty.
		r.options.Log.Warn("repository %s has submodules and no .gitmodules file; they are left out", showURL(parent.url))
		return files, nil //nolint:nilerr // as git
	}
	listed := config.NewModules()
	if err := listed.Unmarshal(text); err != nil {
		return nil, problemf("fix .gitmodules in the repository", "its .gitmodules cannot be read")
	}
	for _, one := range listed.Submodules {
		commit, is := commits[path.Clean(one.Path)]
		if !is {
			continue
		}
		added, err := r.fetchSubmodule(ctx, parent, one.URL, commit, depth+1)
		if err != nil {
			return nil, fmt.Errorf("its submodule %s: %w", diagnostic.Quote(one.Path), err)
		}
		for _, file := range added {
			file.Path = path.Join(path.Clean(one.Path), file.Path)
			files = append(files, file)
		}
		if err := checkFiles(files, r.limits); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (r *run) fetchSubmodule(
	ctx context.Context, parent *gitAddress, text string, commit plumbing.Hash, depth int,
) ([]artifact.File, error) {
	if strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		joined := *parent.url
		joined.Path = path.Join("/", joined.Path, text)
		text = joined.String()
	}
	at, err := parseGit(text, false)
	if err != nil {
		return nil, err
	}
	found, err := r.fetchGit(ctx, at, commit.String(), depth)
	return found.files, err
}

// explainGit converts errors of the git library and of gitpack to problems.
func explainGit(err error) error {
	err = gitCause(err)
	var answer *githttp.Err
	var name *gittree.NameError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return problemf("check the address; a private repository needs a credential, see \"nuon credentials create\"",
			"the server requires a login, or has no such repository")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return problemf("check the address; a private repository needs a credential, see \"nuon credentials create\"",
			"the server has no such repository")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return problemf("push the module", "the repository is empty")
	case errors.Is(err, gitpack.ErrNotServed):
		return problemf("push the commit again, or name a tag",
			"the server does not give the commit: no branch or tag leads to it")
	case errors.Is(err, gitpack.ErrLimit):
		return problemf("call a module of a smaller repository", "the repository has %s", oneLine(err.Error()))
	case errors.Is(err, gitpack.ErrMalformed):
		return problemf("run \"git fsck\" there", "what the server sent is no git repository's data")
	case errors.As(err, &name):
		return problemf("rename it", "%s", oneLine(name.Error()))
	case errors.As(err, &answer):
		return &problem{netguard.DescribeStatus(answer.StatusCode())}
	}
	return err
}

// gitCause unwraps errors of the git library that hide their causes.
func gitCause(err error) error {
	for {
		var unexpected *plumbing.UnexpectedError
		var permanent *plumbing.PermanentError
		switch {
		case errors.As(err, &unexpected):
			err = unexpected.Err
		case errors.As(err, &permanent):
			err = permanent.Err
		default:
			return err
		}
	}
}

// showURL returns a URL without what may be secret in it.
func showURL(at *url.URL) string {
	bare := *at
	bare.RawQuery, bare.Fragment, bare.RawFragment = "", "", ""
	if bare.User != nil {
		bare.User = url.User(bare.User.Username())
		if bare.Scheme != "ssh" {
			bare.User = nil
		}
	}
	return oneLine(bare.String())
}
