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
		Depth: 4095, Chain: 128 << 20, Held: 128 << 20,
	}
}

// repository is a remote repository while one of its files is read.
type repository struct {
	server *gitpack.Remote
	// largest is the maximum size of the file in bytes.
	largest int64
}

// readGit reads one file of a repository. It requests only one commit without its history, and if
// the server supports it (all large forges do), first only the directories of that commit and then
// the file.
func (f *Fetcher) readGit(ctx context.Context, at reference, limit int64, budget *netguard.Budget) ([]byte, error) {
	r, err := f.openRepository(ctx, at.url.String(), budget)
	if err != nil {
		return nil, err
	}
	r.largest = limit
	want, err := r.tip(at.ref)
	if err != nil {
		return nil, err
	}
	if r.offersParts() {
		data, err := r.readPart(ctx, want, at.path, limit)
		if !errors.Is(err, gitpack.ErrNotGiven) {
			return data, err
		}
	}
	var data []byte
	err = r.pull(ctx, want, "", func(objects map[plumbing.Hash]object) error {
		hash, err := find(objects, want, at.path)
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
	client.Transport = countedTransport{f.client.Transport, budget}
	server, err := gitpack.Open(ctx, &client, url, nil)
	if err != nil {
		return nil, notGit(err)
	}
	return &repository{server: server}, nil
}

// notGit explains a response that is not from a git server.
func notGit(err error) error {
	if explainKnown(err) != nil {
		return err
	}
	return refuse("there is no git repository at that address",
		"check the address; a file that is not in one is written without git::")
}

// countedTransport counts all responses of a git server against one budget.
type countedTransport struct {
	http.RoundTripper
	budget *netguard.Budget
}

// RoundTrip sends one request.
func (c countedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = c.budget.Bound(response.Body)
	}
	return response, err
}

// tip returns the commit of a ref: the default branch, a branch, a tag, a full name, or a commit.
func (r *repository) tip(ref string) (plumbing.Hash, error) {
	if ref == "" || ref == "HEAD" {
		if r.server.Advertised.Head == nil {
			return plumbing.ZeroHash, refuse("the repository has no default branch",
				"write ?ref= and the branch, tag or commit behind the path")
		}
		return *r.server.Advertised.Head, nil
	}
	for _, name := range []string{ref, "refs/heads/" + ref, "refs/tags/" + ref} {
		if hash, there := r.server.Advertised.References[name]; there && strings.HasPrefix(name, "refs/") {
			return hash, nil
		}
	}
	if plumbing.IsHash(strings.ToLower(ref)) && len(ref) == 40 {
		return plumbing.NewHash(strings.ToLower(ref)), nil
	}
	return plumbing.ZeroHash, refuse(fmt.Sprintf("the repository has no branch or tag %s", plain(ref, 100)),
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
	err = r.pull(ctx, want, packp.FilterBlobNone(), func(objects map[plumbing.Hash]object) (err error) {
		if hash, err = find(objects, want, path); err != nil {
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
	err = r.pull(ctx, hash, "", func(objects map[plumbing.Hash]object) (err error) {
		data, err = blob(objects, hash, limit)
		return err
	})
	return data, err
}

// pull fetches an object with its content but without its history and the objects that filter
// excludes, and calls use with the received objects. The memory for them is taken from the budget
// that all packs share.
func (r *repository) pull(
	ctx context.Context, want plumbing.Hash, filter packp.Filter, use func(map[plumbing.Hash]object) error,
) (err error) {
	request := gitpack.Request{Want: want, Filter: filter}
	if r.server.Supports(capability.Shallow) {
		request.Depth = 1
	}
	limits := packLimits()
	answer, err := r.server.Fetch(ctx, request, limits.Pack)
	if err != nil {
		return unreadable(err)
	}
	defer func() { _ = answer.Close() }() // the close error does not matter: it was only read
	// The pack is spooled to disk until it is complete, because servers may be slow and memory is
	// scarce.
	spool, size, err := gitpack.Spool(answer, "", limits.Pack)
	if err != nil {
		return unreadable(err)
	}
	defer func() { err = errors.Join(err, gitpack.Discard(spool)) }()
	release, err := gitpack.Shared().Acquire(ctx, limits.Total)
	if err != nil {
		return err
	}
	defer release()
	objects, err := unpack(ctx, spool, size, limits, r.largest)
	if err != nil {
		return unreadable(err)
	}
	return use(objects)
}

// unreadable explains what is wrong with a pack.
func unreadable(err error) error {
	switch {
	case errors.Is(err, gitpack.ErrTooMuch):
		return refuse("the repository is too large to look for a file in",
			"refer to the file by its own https:// address (forges call it raw), or "+besides)
	case errors.Is(err, gitpack.ErrNotGiven), explainKnown(err) != nil:
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

// find returns the hash of the blob at a path of a commit, or of the commit that a tag refers to.
func find(objects map[plumbing.Hash]object, from plumbing.Hash, path string) (plumbing.Hash, error) {
	at, err := treeOf(objects, from)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	segments := strings.Split(path, "/")
	for i, name := range segments {
		entry, err := lookUp(objects, at, name)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if err := checkMode(entry, name, i == len(segments)-1); err != nil {
			return plumbing.ZeroHash, err
		}
		at = entry.hash
	}
	return at, nil
}

// treeOf returns the hash of a commit's root directory.
func treeOf(objects map[plumbing.Hash]object, from plumbing.Hash) (plumbing.Hash, error) {
	// A tag may refer to another tag; long chains do not occur in practice.
	for range 8 {
		found, there := objects[from]
		switch {
		case !there:
			return plumbing.ZeroHash, errPack
		case found.kind == plumbing.TagObject:
			from = firstLine(found.data, "object ")
		case found.kind == plumbing.CommitObject:
			return firstLine(found.data, "tree "), nil
		default:
			return plumbing.ZeroHash, refuse("the ref leads to no commit",
				"write ?ref= and a branch, a tag of a commit, or a commit")
		}
	}
	return plumbing.ZeroHash, refuse("the tag leads through too many other tags", "write ?ref= and the commit")
}

// firstLine parses the hash in the first line of a commit or a tag. Without one it returns the zero
// hash, which no object has.
func firstLine(data []byte, key string) plumbing.Hash {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text, is := strings.CutPrefix(string(line[:min(len(line), 64)]), key)
	if !is || !plumbing.IsHash(text) {
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
	name = plain(name, 100)
	switch e.mode {
	case modeLink:
		return refuse(name+" is a symbolic link, and links are not followed", "name the file that it leads to")
	case modeSubmodule:
		return refuse(name+" is a submodule", "name the repository that it leads to")
	case modeDirectory:
		if last {
			return refuse("it is a directory", "name a file in it")
		}
		return nil
	case modeFile, modeExecutable, modeOldFile:
		if last {
			return nil
		}
		return refuse(name+" is a file, not a directory", "check the path")
	}
	return errPack
}

// lookUp finds a name in a directory, which consists of entries with a mode, a space, a name, a
// zero byte and the twenty bytes of a hash.
func lookUp(objects map[plumbing.Hash]object, tree plumbing.Hash, name string) (entry, error) {
	found, there := objects[tree]
	if !there || found.kind != plumbing.TreeObject {
		return entry{}, errPack
	}
	for rest := found.data; len(rest) > 0; {
		head, after, ok := bytes.Cut(rest, []byte{0})
		mode, called, named := strings.Cut(string(head), " ")
		if !ok || !named || len(after) < len(plumbing.ZeroHash) {
			return entry{}, errPack
		}
		var hash plumbing.Hash
		copy(hash[:], after)
		if called == name {
			return entry{mode: strings.TrimLeft(mode, "0"), hash: hash}, nil
		}
		rest = after[len(hash):]
	}
	return entry{}, refuse("there is no "+plain(name, 100)+" in the repository at that path",
		"check the path, and the branch or tag in ?ref=")
}

// blob returns the bytes of a file.
func blob(objects map[plumbing.Hash]object, hash plumbing.Hash, limit int64) ([]byte, error) {
	found, there := objects[hash]
	switch {
	case !there || found.kind != plumbing.BlobObject:
		return nil, errPack
	case found.size > limit:
		return nil, tooLarge(limit)
	}
	return found.data, nil
}
