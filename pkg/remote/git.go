package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// Bounds of what a git server may send.
const (
	maxRefsBytes = 32 << 20
	maxPackBytes = 64 << 20
)

// repository is the other side while one file of it is read.
type repository struct {
	session   transport.UploadPackSession
	offered   *packp.AdvRefs
	unpacking chan struct{}
}

// readGit reads one file of a repository. Of its history only the one commit is asked for, and where the server can (all large forges
// can), of that only the directories and then the file.
func (f *Fetcher) readGit(ctx context.Context, at reference, limit int64, purse *purse) ([]byte, error) {
	r, err := f.openRepository(ctx, at.url.String(), purse)
	if err != nil {
		return nil, err
	}
	want, err := r.tip(at.ref)
	if err != nil {
		return nil, err
	}
	if r.offersParts() {
		data, err := r.readPart(ctx, want, at.path, limit)
		if !errors.Is(err, errNotGiven) {
			return data, err
		}
	}
	objects, err := r.pull(ctx, want, "")
	if err != nil {
		return nil, err
	}
	hash, err := find(objects, want, at.path)
	if err != nil {
		return nil, err
	}
	return blob(objects, hash, limit)
}

func (f *Fetcher) openRepository(ctx context.Context, url string, purse *purse) (*repository, error) {
	endpoint, err := transport.NewEndpoint(url)
	if err != nil {
		return nil, refuse("it is not the URL of a repository", "write git::https://host/repository//path/of/the/file")
	}
	client := *f.client
	client.Transport = gitTransport{f.client.Transport, purse}
	session, err := githttp.NewClient(&client).NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, err
	}
	offered, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, notGit(err)
	}
	return &repository{session: session, offered: offered, unpacking: f.unpacking}, nil
}

// notGit is for a server that answers, but not as a git server does.
func notGit(err error) error {
	if explainKnown(err) != nil {
		return err
	}
	return refuse("there is no git repository at that address", "check the address; a file that is not in one is written without git::")
}

// gitTransport bounds the answers of a git server.
type gitTransport struct {
	http.RoundTripper
	purse *purse
}

// RoundTrip sends one request.
func (g gitTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	most := int64(maxRefsBytes)
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		most = 64 << 10
	case request.Method == http.MethodPost:
		most = maxPackBytes
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: most, purse: g.purse}
	return response, nil
}

// tip finds what a ref means: the default branch, a branch, a tag, a full name, or a commit.
func (r *repository) tip(ref string) (plumbing.Hash, error) {
	if ref == "" || ref == "HEAD" {
		if r.offered.Head == nil {
			return plumbing.ZeroHash, refuse("the repository has no default branch", "write ?ref= and the branch, tag or commit behind the path")
		}
		return *r.offered.Head, nil
	}
	for _, name := range []string{ref, "refs/heads/" + ref, "refs/tags/" + ref} {
		if hash, there := r.offered.References[name]; there && strings.HasPrefix(name, "refs/") {
			return hash, nil
		}
	}
	if plumbing.IsHash(strings.ToLower(ref)) && len(ref) == 40 {
		return plumbing.NewHash(strings.ToLower(ref)), nil
	}
	return plumbing.ZeroHash, refuse(fmt.Sprintf("the repository has no branch or tag %s", plain(ref, 100)), "write ?ref= and a branch, a tag, or a commit in full")
}

// errNotGiven says that a server does not give an object that was asked for by its name.
var errNotGiven = errors.New("the server does not give it")

func (r *repository) offersParts() bool {
	return r.offered.Capabilities.Supports(capability.Filter) &&
		(r.offered.Capabilities.Supports(capability.AllowReachableSHA1InWant) || r.offered.Capabilities.Supports("allow-any-sha1-in-want"))
}

// readPart asks for the directories first, and then for the file.
func (r *repository) readPart(ctx context.Context, want plumbing.Hash, path string, limit int64) ([]byte, error) {
	objects, err := r.pull(ctx, want, packp.FilterBlobNone())
	if err != nil {
		return nil, err
	}
	hash, err := find(objects, want, path)
	if err != nil {
		return nil, err
	}
	if _, sent := objects[hash]; !sent {
		if objects, err = r.pull(ctx, hash, ""); err != nil {
			return nil, err
		}
	}
	return blob(objects, hash, limit)
}

// pull asks for an object with what it holds, without its history, and without what filter leaves out.
func (r *repository) pull(ctx context.Context, want plumbing.Hash, filter packp.Filter) (objects map[plumbing.Hash]object, err error) {
	request, err := r.request(want, filter)
	if err != nil {
		return nil, err
	}
	response, err := r.session.UploadPack(ctx, request)
	if err != nil {
		return nil, refusedCommit(err)
	}
	defer func() { _ = response.Close() }() // only read from
	var pack io.Reader = response
	if request.Capabilities.Supports(capability.Sideband64k) {
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	}
	// It waits on disk until all of it is there: servers may be slow, and memory is short.
	spool, err := os.CreateTemp("", "nuon-pack-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	if _, err := io.Copy(spool, pack); err != nil {
		return nil, refusedCommit(err)
	}
	return r.unpack(ctx, spool)
}

func (r *repository) unpack(ctx context.Context, spool *os.File) (map[plumbing.Hash]object, error) {
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	select {
	case r.unpacking <- struct{}{}:
		defer func() { <-r.unpacking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	objects, err := unpack(ctx, spool)
	if errors.Is(err, errTooMuch) {
		return nil, refuse("the repository is too large to look for a file in", "refer to the file by its own https:// address (forges call it raw), or "+besides)
	}
	return objects, err
}

// request asks for one object.
func (r *repository) request(want plumbing.Hash, filter packp.Filter) (*packp.UploadPackRequest, error) {
	request := packp.NewUploadPackRequest()
	wanted := []capability.Capability{capability.OFSDelta, capability.Sideband64k, capability.NoProgress}
	if r.offered.Capabilities.Supports(capability.Shallow) {
		wanted = append(wanted, capability.Shallow)
		request.Depth = packp.DepthCommits(1)
	}
	if filter != "" {
		wanted = append(wanted, capability.Filter)
		request.Filter = filter
	}
	for _, one := range wanted {
		if !r.offered.Capabilities.Supports(one) {
			continue
		}
		if err := request.Capabilities.Set(one); err != nil {
			return nil, err
		}
	}
	request.Wants = []plumbing.Hash{want}
	return request, nil
}

// refusedCommit tells a server that would not give an object from one that could not.
func refusedCommit(err error) error {
	switch {
	case errors.Is(err, transport.ErrEmptyUploadPackRequest), strings.Contains(cause(err).Error(), "not our ref"):
		return errNotGiven
	case explainKnown(err) == nil:
		return fmt.Errorf("%w: %w", errPack, err)
	}
	return err
}

// find gives the name of the blob that a path leads to from a commit, or from a tag of one.
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

// treeOf gives the name of the directory that a commit has as its root.
func treeOf(objects map[plumbing.Hash]object, from plumbing.Hash) (plumbing.Hash, error) {
	// A tag may name a tag; nobody stacks many.
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
			return plumbing.ZeroHash, refuse("the ref leads to no commit", "write ?ref= and a branch, a tag of a commit, or a commit")
		}
	}
	return plumbing.ZeroHash, refuse("the tag leads through too many other tags", "write ?ref= and the commit")
}

// firstLine reads the hash in the first line of a commit or a tag; zero, which nothing has, if there is none.
func firstLine(data []byte, key string) plumbing.Hash {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text, is := strings.CutPrefix(string(line[:min(len(line), 64)]), key)
	if !is || !plumbing.IsHash(text) {
		return plumbing.ZeroHash
	}
	return plumbing.NewHash(text)
}

// entry is a line of a directory.
type entry struct {
	mode string // octal
	hash plumbing.Hash
}

// The modes of what may be read.
const (
	modeDirectory  = "40000"
	modeFile       = "100644"
	modeExecutable = "100755"
	modeOldFile    = "100664" // written by git long ago
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

// lookUp finds a name in a directory: lines of a mode, a blank, a name, a zero byte and the twenty bytes of a hash.
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
	return entry{}, refuse("there is no "+plain(name, 100)+" in the repository at that path", "check the path, and the branch or tag in ?ref=")
}

// blob gives a file's bytes.
func blob(objects map[plumbing.Hash]object, hash plumbing.Hash, limit int64) ([]byte, error) {
	found, there := objects[hash]
	switch {
	case !there || found.kind != plumbing.BlobObject:
		return nil, errPack
	case int64(len(found.data)) > limit:
		return nil, tooLarge(limit)
	}
	return found.data, nil
}
