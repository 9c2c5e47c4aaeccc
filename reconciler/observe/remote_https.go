package observe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// maxRefs bounds the branches and tags of a repository.
const maxRefs = 200_000

// newClient returns the HTTP client for remotes.
func newClient(options Options) *http.Client {
	secure, plain := options.kinds()
	return &http.Client{CheckRedirect: sameHostOnly, Transport: netguard.NewTransport(netguard.Options{
		HTTPS: secure, HTTP: plain, Roots: options.Roots, Dial: 20 * time.Second, Handshake: 20 * time.Second,
		// A server counts the objects of a large repository before its pack starts.
		Header: time.Minute, Idle: time.Minute,
	})}
}

// sameHostOnly allows redirects on the same host, for renamed repositories, but not to other hosts.
func sameHostOnly(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 5 {
		return repoErrorf("%s redirects in circles; use the repository's own URL", first.Host)
	}
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return repoErrorf("%s redirects to %s://%s; use the URL that it leads to, if you trust it", first.Host,
			next.URL.Scheme, PlainText(next.URL.Host, 200))
	}
	return nil
}

// httpRemote is a remote with git's smart HTTP protocol.
type httpRemote struct {
	url    string
	shown  string // the URL in messages, with that of the repository that it mirrors
	client *http.Client
	login  credential
	limits gitpack.Limits
}

func (r *httpRemote) open(ctx context.Context) (*gitpack.Remote, error) {
	var auth transport.AuthMethod
	client := *r.client
	if !r.login.password.IsZero() {
		client.CheckRedirect = r.checkRedirect
		auth = &githttp.BasicAuth{Username: r.login.username, Password: string(r.login.password.Reveal())}
	}
	return gitpack.Open(ctx, &client, r.url, auth)
}

// checkRedirect rejects a redirect to a repository that the credential does not cover.
func (r *httpRemote) checkRedirect(next *http.Request, via []*http.Request) error {
	if err := sameHostOnly(next, via); err != nil {
		return err
	}
	to := *next.URL
	to.RawQuery, to.Fragment = "", ""
	address := to.String()
	for _, service := range []string{"/info/refs", "/git-upload-pack"} {
		address = strings.TrimSuffix(address, service)
	}
	if patternsCover(r.login.repositories, address) {
		return nil
	}
	return repoErrorf("%s redirects to %s, for which the credential %s may not be used; use that URL, and allow it with "+
		"`nuon credentials update %s --add-repository URL`",
		r.shown, PlainText(address, 200), r.login.name, r.login.name)
}

func (r *httpRemote) refs(ctx context.Context) (tips, error) {
	opened, err := r.open(ctx)
	if err != nil {
		return nil, asRepoError(ctx, r.shown, err)
	}
	if len(opened.Advertised.References) > maxRefs {
		return nil, repoErrorf("%s has more than %d branches and tags; remove old ones", r.shown, maxRefs)
	}
	found := tips{}
	for name, hash := range opened.Advertised.References {
		at := tip{name: name, object: hash, commit: hash}
		if peeled, annotated := opened.Advertised.Peeled[name]; annotated {
			at.commit = peeled
		}
		found[name] = at
	}
	return found, nil
}

func (r *httpRemote) fetch(ctx context.Context, into *mirror, want, have plumbing.Hash, depth int) error {
	if err := r.fetchPack(ctx, into, gitpack.Request{Want: want, Have: have, Depth: depth}); err != nil {
		return asRepoError(ctx, r.shown, err)
	}
	into.refresh()
	return nil
}

func (r *httpRemote) fetchPack(ctx context.Context, into *mirror, request gitpack.Request) (err error) {
	// Opened again: the session follows a redirect that it receives here, and only here.
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	pack, err := opened.Fetch(ctx, request, r.limits.Pack)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pack.Close()) }()
	return gitpack.Store(ctx, pack, into.packs(), gitpack.Options{Limits: r.limits})
}

// isCommitNotServed reports whether a server rejected a request for a commit by its hash.
func isCommitNotServed(err error) bool {
	return err != nil && (errors.Is(err, gitpack.ErrNotServed))
}
