package configfetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// packLimits returns the limits of a repository's snapshot, whose objects are in memory while a
// file is searched in it. Objects that are larger than the limit of a file are not stored.
func packLimits() gitpack.Limits {
	return gitpack.Limits{
		Pack: 64 << 20, Objects: 200_000, Object: 32 << 20, Tree: 16 << 20, Total: 128 << 20,
		Depth: 4095, Chain: 128 << 20, Memory: 128 << 20,
	}
}

// repository is a remote repository while one of its files is read.
type repository struct {
	server *gitpack.Remote
	// maxObject is the maximum size of the file in bytes.
	maxObject int64
}

// readGit reads one file of a repository. It requests only one commit without its history, and if
// the server supports it (all large forges do), first only the directories of that commit and then
// the file.
func (f *Fetcher) readGit(ctx context.Context, ref reference, limit int64, budget *netguard.Budget) ([]byte, error) {
	r, err := f.openRepository(ctx, ref.url.String(), budget)
	if err != nil {
		return nil, err
	}
	r.maxObject = limit
	want, err := r.resolveRef(ref.ref)
	if err != nil {
		return nil, err
	}
	if r.offersParts() {
		data, err := r.readPart(ctx, want, ref.path, limit)
		if !errors.Is(err, gitpack.ErrNotServed) {
			return data, err
		}
	}
	var data []byte
	err = r.fetchObjects(ctx, want, "", func(objects map[plumbing.Hash]object) error {
		hash, err := findBlob(objects, want, ref.path)
		if err != nil {
			return err
		}
		data, err = blob(objects, hash, limit)
		return err
	})
	return data, err
}

func (f *Fetcher) openRepository(ctx context.Context, url string, budget *netguard.Budget) (*repository, error) {
	client := *f.client
	client.Transport = budgetTransport{f.client.Transport, budget}
	server, err := gitpack.Open(ctx, &client, url, nil)
	if err != nil {
		return nil, explainNotGit(err)
	}
	return &repository{server: server}, nil
}

// explainNotGit explains a response that is not from a git server.
func explainNotGit(err error) error {
	if explainKnown(err) != nil {
		return err
	}
	return permanent("there is no git repository at that address",
		"check the address; a file that is not in one is written without git::")
}

// budgetTransport counts all responses of a git server against one budget.
type budgetTransport struct {
	http.RoundTripper
	budget *netguard.Budget
}

// RoundTrip sends one request.
func (t budgetTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = t.budget.Limit(response.Body)
	}
	return response, err
}

// resolveRef returns the commit of a ref: the default branch, a commit, a full name, or a branch or a tag. It returns
// an error for the name of a branch and a tag that differ, because often others may create the one than the other.
func (r *repository) resolveRef(ref string) (plumbing.Hash, error) {
	if ref == "" || ref == "HEAD" {
		if r.server.Advertised.Head == nil {
			return plumbing.ZeroHash, permanent("the repository has no default branch",
				"write ?ref= and the branch, tag or commit behind the path")
		}
		return *r.server.Advertised.Head, nil
	}
	if plumbing.IsHash(strings.ToLower(ref)) && len(ref) == 40 {
		return plumbing.NewHash(strings.ToLower(ref)), nil
	}
	refs, named := r.server.Advertised.References, sanitize(ref, 100)
	branch, isBranch := refs["refs/heads/"+ref]
	tag, isTag := refs["refs/tags/"+ref]
	if strings.HasPrefix(ref, "refs/") {
		branch, isBranch = refs[ref]
		isTag = false
	}
	switch {
	case isBranch && isTag && branch != tag && branch != r.server.Advertised.Peeled["refs/tags/"+ref]:
		return plumbing.ZeroHash, permanent("the repository has a branch and a tag "+named+" with different commits",
			fmt.Sprintf("write ?ref=refs/tags/%s or ?ref=refs/heads/%s", named, named))
	case isBranch:
		return branch, nil
	case isTag:
		return tag, nil
	}
	return plumbing.ZeroHash, permanent("the repository has no branch or tag "+named,
		"write ?ref= and a branch, a tag, or a commit in full")
}

func (r *repository) offersParts() bool {
	return r.server.Supports(capability.Filter) &&
		(r.server.Supports(capability.AllowReachableSHA1InWant) || r.server.Supports("allow-any-sha1-in-want"))
}

// readPart fetches the directories first, and then the file.
func (r *repository) readPart(
	ctx context.Context, want plumbing.Hash, path string, limit int64,
) (data []byte, err error) {
	var hash plumbing.Hash
	sent := false
	err = r.fetchObjects(ctx, want, packp.FilterBlobNone(), func(objects map[plumbing.Hash]object) (err error) {
		if hash, err = findBlob(objects, want, path); err != nil {
			return err
		}
		if _, sent = objects[hash]; sent {
			data, err = blob(objects, hash, limit)
		}
		return err
	})
	if err != nil || sent {
		return data, err
	}
	err = r.fetchObjects(ctx, hash, "", func(objects map[plumbing.Hash]object) (err error) {
		data, err = blob(objects, hash, limit)
		return err
	})
	return data, err
}

// fetchObjects fetches an object with its content but without its history and the objects that filter
// excludes, and calls use with the received objects. The memory for them is taken from the budget
// that all packs share.
func (r *repository) fetchObjects(
	ctx context.Context, want plumbing.Hash, filter packp.Filter, use func(map[plumbing.Hash]object) error,
) (err error) {
	request := gitpack.Request{Want: want, Filter: filter}
	if r.server.Supports(capability.Shallow) {
		request.Depth = 1
	}
	limits := packLimits()
	pack, err := r.server.Fetch(ctx, request, limits.Pack)
	if err != nil {
		return explainPack(err)
	}
	defer func() { _ = pack.Close() }() // the close error does not matter: it was only read
	// The pack is spooled to disk until it is complete, because servers may be slow and memory is
	// scarce.
	spool, size, err := gitpack.Spool(pack, "", limits.Pack)
	if err != nil {
		return explainPack(err)
	}
	defer func() { err = errors.Join(err, gitpack.Discard(spool)) }()
	release, err := gitpack.Shared().Acquire(ctx, limits.Total)
	if err != nil {
		return err
	}
	defer release()
	objects, err := unpack(ctx, spool, size, limits, r.maxObject)
	if err != nil {
		return explainPack(err)
	}
	return use(objects)
}

// explainPack explains what is wrong with a pack.
func explainPack(err error) error {
	switch {
	case errors.Is(err, gitpack.ErrLimit):
		return permanent("the repository is too large to look for a file in",
			"refer to the file by its own https:// address (forges call it raw), or "+localFileRemedy)
	case errors.Is(err, gitpack.ErrNotServed), explainKnown(err) != nil:
		return err
	}
	return fmt.Errorf("%w: %w", errPack, err)
}

// object is a git object; its kind is commit, tree, blob or tag. Blobs that exceed the maximum file
// size have no content.
type object struct {
	kind plumbing.ObjectType
	size int64
	data []byte
}

// errPack reports that a server sent invalid git data.
var errPack = errors.New("the repository's data cannot be read")

// unpack parses what a git server sent. It keys the objects by the hash of their actual content.
func unpack(
	ctx context.Context, pack io.ReadSeeker, size int64, limits gitpack.Limits, largest int64,
) (map[plumbing.Hash]object, error) {
	objects := map[plumbing.Hash]object{}
	// A separate budget, because the memory of the whole pack was already taken from the shared
	// one.
	options := gitpack.Options{Limits: limits, Budget: gitpack.NewBudget(limits.Total, 1),
		Content: max(largest, limits.Tree)}
	_, err := gitpack.Index(ctx, pack, size, options, func(o gitpack.Object) error {
		if o.Kind == plumbing.BlobObject && o.Size > largest {
			o.Content = nil
		}
		objects[o.Hash] = object{o.Kind, o.Size, o.Content}
		return nil
	})
	return objects, err
}

// findBlob returns the hash of the blob at a path of a commit, or of the commit that a tag refers to.
func findBlob(objects map[plumbing.Hash]object, start plumbing.Hash, path string) (plumbing.Hash, error) {
	tree, err := treeOf(objects, start)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	segments := strings.Split(path, "/")
	for i, name := range segments {
		entry, err := findEntry(objects, tree, name)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if err := checkMode(entry, name, i == len(segments)-1); err != nil {
			return plumbing.ZeroHash, err
		}
		tree = entry.hash
	}
	return tree, nil
}

// treeOf returns the hash of a commit's root directory.
func treeOf(objects map[plumbing.Hash]object, hash plumbing.Hash) (plumbing.Hash, error) {
	// A tag may refer to another tag; long chains do not occur in practice.
	for range 8 {
		found, ok := objects[hash]
		switch {
		case !ok:
			return plumbing.ZeroHash, errPack
		case found.kind == plumbing.TagObject:
			hash = firstLineHash(found.data, "object ")
		case found.kind == plumbing.CommitObject:
			return firstLineHash(found.data, "tree "), nil
		default:
			return plumbing.ZeroHash, permanent("the ref leads to no commit",
				"write ?ref= and a branch, a tag of a commit, or a commit")
		}
	}
	return plumbing.ZeroHash, permanent("the tag leads through too many other tags", "write ?ref= and the commit")
}

// firstLineHash parses the hash in the first line of a commit or a tag. Without one it returns the zero
// hash, which no object has.
func firstLineHash(data []byte, key string) plumbing.Hash {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text, ok := strings.CutPrefix(string(line[:min(len(line), 64)]), key)
	if !ok || !plumbing.IsHash(text) {
		return plumbing.ZeroHash
	}
	return plumbing.NewHash(text)
}

// entry is an entry of a directory.
type entry struct {
	mode string // octal
	hash plumbing.Hash
}

// The modes of directory entries.
const (
	modeDirectory  = "40000"
	modeFile       = "100644"
	modeExecutable = "100755"
	modeOldFile    = "100664" // written by old versions of git
	modeLink       = "120000"
	modeSubmodule  = "160000"
)

func checkMode(e entry, name string, last bool) error {
	name = sanitize(name, 100)
	switch e.mode {
	case modeLink:
		return permanent(name+" is a symbolic link, and links are not followed", "name the file that it leads to")
	case modeSubmodule:
		return permanent(name+" is a submodule", "name the repository that it leads to")
	case modeDirectory:
		if last {
			return permanent("it is a directory", "name a file in it")
		}
		return nil
	case modeFile, modeExecutable, modeOldFile:
		if last {
			return nil
		}
		return permanent(name+" is a file, not a directory", "check the path")
	}
	return errPack
}

// findEntry finds a name in a directory, which consists of entries with a mode, a space, a name, a
// zero byte and the twenty bytes of a hash.
func findEntry(objects map[plumbing.Hash]object, tree plumbing.Hash, name string) (entry, error) {
	found, ok := objects[tree]
	if !ok || found.kind != plumbing.TreeObject {
		return entry{}, errPack
	}
	for rest := found.data; len(rest) > 0; {
		head, tail, ok := bytes.Cut(rest, []byte{0})
		mode, entryName, named := strings.Cut(string(head), " ")
		if !ok || !named || len(tail) < len(plumbing.ZeroHash) {
			return entry{}, errPack
		}
		var hash plumbing.Hash
		copy(hash[:], tail)
		if entryName == name {
			return entry{mode: strings.TrimLeft(mode, "0"), hash: hash}, nil
		}
		rest = tail[len(hash):]
	}
	return entry{}, permanent("there is no "+sanitize(name, 100)+" in the repository at that path",
		"check the path, and the branch or tag in ?ref=")
}

// blob returns the bytes of a file.
func blob(objects map[plumbing.Hash]object, hash plumbing.Hash, limit int64) ([]byte, error) {
	found, ok := objects[hash]
	switch {
	case !ok || found.kind != plumbing.BlobObject:
		return nil, errPack
	case found.size > limit:
		return nil, tooLarge(limit)
	}
	return found.data, nil
}
