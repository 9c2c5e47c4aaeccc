package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
)

// fileRemote is a repository on this machine. It is read directly, object by object, without
// running a program.
type fileRemote struct {
	url     string
	refsOf  *filesystem.Storage
	objects *gitpack.Repository
}

// errFileNotAllowed is the error for a repository on this machine that may not be read, whether it
// exists or not.
var errFileNotAllowed = errors.New("not below an allowed directory")

// openFileRemote opens the repository at a path that is, after resolving all links, below one of
// the allowed directories. For other paths its error does not reveal whether they exist.
func openFileRemote(url, dir string, options Options) (*fileRemote, error) {
	allowed := options.AllowFileRemotes
	if len(allowed) == 0 {
		return nil, &RepoError{
			Message: "file:// repositories are not allowed on this control plane; use an https:// URL, or start it with " +
				"--allow-file-remotes", Err: errFileNotAllowed}
	}
	resolved, err := filepath.EvalSymlinks(filepath.Clean(dir))
	if err != nil {
		if isBelowAny(filepath.Clean(dir), allowed) {
			return nil, repoErrorf("%s: there is no such directory; check the address", url)
		}
		return nil, checkFileRemote(url, allowed)
	}
	if !isBelowAny(resolved, allowed) {
		return nil, checkFileRemote(url, allowed)
	}
	gitDir, err := findGitDir(url, resolved, allowed)
	if err != nil {
		return nil, err
	}
	// Bound: a link inside of the repository's directory cannot lead a read out of it either.
	root := osfs.New(gitDir, osfs.WithBoundOS())
	return &fileRemote{
		url: url, refsOf: filesystem.NewStorage(root, cache.NewObjectLRU(cache.MiByte)),
		objects: gitpack.NewRepository(root, gitpack.Options{Limits: options.Limits}),
	}, nil
}

func checkFileRemote(url string, allowed []string) error {
	words := fmt.Sprintf("%s is not below a directory from which repositories may be read (%s); start the control plane "+
		"with --allow-file-remotes for it",
		url, strings.Join(allowed, ", "))
	return &RepoError{Message: words, Err: errFileNotAllowed}
}

func isBelowAny(dir string, allowed []string) bool {
	for _, root := range allowed {
		if resolved, err := filepath.EvalSymlinks(root); err == nil && isBelow(dir, resolved) {
			return true
		}
		if isBelow(dir, filepath.Clean(root)) {
			return true
		}
	}
	return false
}

func isBelow(dir, root string) bool {
	relative, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(relative)
}

// findGitDir returns the directory with the objects: of a bare repository, or the .git of a
// checked-out one.
func findGitDir(url, dir string, allowed []string) (string, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Lstat(dotGit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dotGit = dir
	case err != nil:
		return "", repoErrorf("%s cannot be read by the control plane (%s); let its user read it", url,
			PlainText(err.Error(), 200))
	case info.Mode().IsRegular():
		return "", repoErrorf("%s is a linked worktree or a submodule; name the main repository", url)
	}
	resolved, err := filepath.EvalSymlinks(dotGit)
	if err != nil || !isBelowAny(resolved, allowed) {
		return "", checkFileRemote(url, allowed)
	}
	for _, needed := range []string{"HEAD", "objects"} {
		if _, err := os.Stat(filepath.Join(resolved, needed)); err != nil {
			return "", repoErrorf("%s is not a git repository; run `git init` there and commit, or check the address",
				url)
		}
	}
	return resolved, nil
}

func (r *fileRemote) refs(ctx context.Context) (tips, error) {
	listed, err := r.refsOf.IterReferences()
	if err != nil {
		return nil, asRepoError(ctx, r.url, err)
	}
	found := tips{}
	err = listed.ForEach(func(ref *plumbing.Reference) error {
		name := ref.Name().String()
		if ref.Type() != plumbing.HashReference || !strings.HasPrefix(name, "refs/") {
			return nil
		}
		if len(found) == maxRefs {
			return repoErrorf("%s has more than %d branches and tags; remove old ones", r.url, maxRefs)
		}
		found[name] = tip{name: name, object: ref.Hash(), commit: r.peel(ctx, ref.Hash())}
		return nil
	})
	if err != nil {
		return nil, asRepoError(ctx, r.url, err)
	}
	if len(found) == 0 {
		return nil, repoErrorf("%s has no commits yet; commit and push", r.url)
	}
	return found, nil
}

// peel returns the commit that a tag object leads to. It returns an unreadable object unchanged,
// and the fetch of it then fails.
func (r *fileRemote) peel(ctx context.Context, hash plumbing.Hash) plumbing.Hash {
	for range maxTags {
		found, err := readObject(ctx, r.objects, hash)
		tag, is := found.(*object.Tag)
		if err != nil || !is {
			return hash
		}
		hash = tag.Target
	}
	return hash
}

// maxTags is how many tags may point at one another in a chain.
const maxTags = 8

// readObject reads a commit, a tree or a tag.
func readObject(ctx context.Context, from *gitpack.Repository, hash plumbing.Hash) (found object.Object, err error) {
	err = from.Read(ctx, hash, func(encoded *plumbing.MemoryObject) (err error) {
		found, err = decode(encoded, hash)
		return err
	})
	return found, err
}

// decode decodes an object, a file without its content.
func decode(encoded *plumbing.MemoryObject, hash plumbing.Hash) (object.Object, error) {
	if encoded.Type() == plumbing.BlobObject {
		return &object.Blob{Hash: hash}, nil
	}
	return object.DecodeObject(nil, encoded)
}

func (r *fileRemote) fetch(ctx context.Context, into *mirror, want, _ plumbing.Hash, depth int) error {
	copying := objectCopy{ctx: ctx, from: r.objects, into: into}
	commit, err := copying.commit(want)
	if err == nil {
		err = copying.history(commit, depth)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) && commit == nil {
		err = fmt.Errorf("%w: %s", gitpack.ErrNotServed, want)
	}
	return asRepoError(ctx, r.url, err)
}

// objectCopy copies objects that a mirror does not have.
type objectCopy struct {
	ctx    context.Context
	from   *gitpack.Repository
	into   *mirror
	copied int
}

// commit copies a commit with its tree, and the tag objects that lead to it.
func (c *objectCopy) commit(hash plumbing.Hash) (*object.Commit, error) {
	for range maxTags {
		found, err := c.copyObject(hash)
		if err != nil {
			return nil, err
		}
		switch found := found.(type) {
		case *object.Commit:
			return found, c.tree(found.TreeHash, 0)
		case *object.Tag:
			hash = found.Target
		default:
			return nil, repoErrorf("the ref points to a %s, not to a commit; name a branch, a tag of a commit, or a commit",
				found.Type())
		}
	}
	return nil, repoErrorf("the tag points to too many nested tags; name the commit")
}

// tree copies a directory from the bottom up, so that a mirror that has a tree has all of it.
func (c *objectCopy) tree(hash plumbing.Hash, deep int) error {
	if c.into.has(hash) {
		return nil
	}
	if deep > maxTreeDepth {
		return repoErrorf("the repository has directories more than %d deep; flatten them", maxTreeDepth)
	}
	found, err := readObject(c.ctx, c.from, hash)
	if err != nil {
		return err
	}
	tree, is := found.(*object.Tree)
	if !is {
		return fmt.Errorf("%w: %s is a %s, not a tree", gitpack.ErrMalformed, hash, found.Type())
	}
	for _, entry := range tree.Entries {
		switch {
		case isDir(entry):
			err = c.tree(entry.Hash, deep+1)
		case isSubmodule(entry) || c.into.has(entry.Hash):
		default:
			_, err = c.copyObject(entry.Hash)
		}
		if err != nil {
			return err
		}
	}
	_, err = c.copyObject(hash)
	return err
}

// history copies the ancestors of a commit without their trees, so that the mirror shows whether
// a branch was rewritten.
func (c *objectCopy) history(commit *object.Commit, depth int) error {
	level := commit.ParentHashes
	for copied := 1; copied < depth && len(level) > 0; {
		var next []plumbing.Hash
		for _, hash := range level {
			if copied++; copied > depth {
				break
			}
			found, err := c.copyObject(hash)
			if errors.Is(err, plumbing.ErrObjectNotFound) {
				continue // the repository itself is shallow
			}
			if err != nil {
				return err
			}
			parent, is := found.(*object.Commit)
			if !is {
				return fmt.Errorf("%w: %s is a %s, not a commit", gitpack.ErrMalformed, hash, found.Type())
			}
			next = append(next, parent.ParentHashes...)
		}
		level = next
	}
	return nil
}

// copyObject copies an object, and returns it, a file without its content.
func (c *objectCopy) copyObject(hash plumbing.Hash) (found object.Object, err error) {
	err = c.from.Read(c.ctx, hash, func(encoded *plumbing.MemoryObject) (err error) {
		if found, err = decode(encoded, hash); err != nil {
			return err
		}
		if c.into.has(hash) {
			return nil
		}
		if c.copied++; c.copied > 2*maxEntries {
			return &gitpack.LimitError{What: "a repository", Limit: 2 * maxEntries, Unit: "objects"}
		}
		_, err = c.into.store.SetEncodedObject(encoded)
		return err
	})
	return found, err
}
