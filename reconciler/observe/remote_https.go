package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nuon-toolkit/nuon/pkg/address"
)

// Bounds of what a server may send.
const (
	maxRefsBytes = 64 << 20
	maxPackBytes = 1 << 30
	maxRefs      = 200_000
)

// newClient makes the HTTP client for remotes. The environment's proxies are not used: behind one, the rule about addresses would
// see the proxy's only.
func newClient(rule address.Rule, options Options) *http.Client {
	dialer := &net.Dialer{Timeout: 20 * time.Second, Control: rule.Control}
	return &http.Client{
		CheckRedirect: sameHostOnly,
		Transport: boundedTransport{&http.Transport{
			DialContext:           dialer.DialContext,
			TLSClientConfig:       &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:   20 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   2,
			ForceAttemptHTTP2:     true,
		}},
	}
}

// sameHostOnly lets a server rename a repository, not send us elsewhere.
func sameHostOnly(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 5 {
		return troubled("%s redirects in circles; use the repository's own URL", first.Host)
	}
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return troubled("%s redirects to %s://%s; use the URL that it leads to, if you trust it", first.Host, next.URL.Scheme, plainText(next.URL.Host, 200))
	}
	return nil
}

// boundedTransport ends a response that grows beyond its bound.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip sends one request.
func (b boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
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
	response.Body = &boundedBody{ReadCloser: response.Body, left: most}
	return response, nil
}

// boundedBody fails, instead of ending quietly, when more comes than may.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	if int64(len(into)) > b.left {
		into = into[:b.left]
	}
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	return n, err
}

// httpRemote speaks git's smart HTTP protocol.
type httpRemote struct {
	url    string
	client *http.Client
	login  login
}

func (r *httpRemote) session() (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(r.url)
	if err != nil {
		return nil, err
	}
	var auth transport.AuthMethod
	if !r.login.password.IsZero() {
		auth = &githttp.BasicAuth{Username: r.login.username, Password: string(r.login.password.Reveal())}
	}
	return githttp.NewClient(r.client).NewUploadPackSession(endpoint, auth)
}

func (r *httpRemote) refs(ctx context.Context) (tips, error) {
	session, err := r.session()
	if err != nil {
		return nil, explain(ctx, r.url, err)
	}
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, explain(ctx, r.url, err)
	}
	if len(advertised.References) > maxRefs {
		return nil, troubled("%s has more than %d branches and tags; remove old ones", r.url, maxRefs)
	}
	found := tips{}
	for name, hash := range advertised.References {
		at := tip{name: name, object: hash, commit: hash}
		if peeled, annotated := advertised.Peeled[name]; annotated {
			at.commit = peeled
		}
		found[name] = at
	}
	return found, nil
}

func (r *httpRemote) fetch(ctx context.Context, into *mirror, want, have plumbing.Hash, depth int) error {
	if err := r.fetchPack(ctx, into, want, have, depth); err != nil {
		return explain(ctx, r.url, err)
	}
	into.refresh()
	return nil
}

func (r *httpRemote) fetchPack(ctx context.Context, into *mirror, want, have plumbing.Hash, depth int) (err error) {
	session, err := r.session()
	if err != nil {
		return err
	}
	// The session follows a redirect that it meets here, and only here.
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	request, err := packRequest(advertised.Capabilities, want, have, depth)
	if err != nil {
		return err
	}
	response, err := session.UploadPack(ctx, request)
	if errors.Is(err, transport.ErrEmptyUploadPackRequest) {
		return fmt.Errorf("%w (empty answer)", errNotOurs)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	var pack io.Reader = response
	if request.Capabilities.Supports(capability.Sideband64k) {
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	}
	err = packfile.UpdateObjectStorage(into.store, pack)
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		return nil
	}
	return err
}

// packRequest asks for a commit with depth of its history. A commit that we have is called shallow, whatever more we may have of
// its history: then all that a server leaves out is what that commit itself holds.
func packRequest(offered *capability.List, want, have plumbing.Hash, depth int) (*packp.UploadPackRequest, error) {
	if !offered.Supports(capability.Shallow) {
		return nil, troubled("the server does not give shallow histories, which nuon needs; use a server that speaks git's smart protocol in full")
	}
	request := packp.NewUploadPackRequest()
	for _, wanted := range []capability.Capability{capability.Shallow, capability.OFSDelta, capability.Sideband64k, capability.NoProgress} {
		if offered.Supports(wanted) {
			if err := request.Capabilities.Set(wanted); err != nil {
				return nil, err
			}
		}
	}
	request.Wants = []plumbing.Hash{want}
	request.Depth = packp.DepthCommits(depth)
	if !have.IsZero() && have != want {
		request.Haves = []plumbing.Hash{have}
		request.Shallows = []plumbing.Hash{have}
	}
	return request, nil
}

// refusedCommit tells whether a server would not give a commit that was asked for by its hash.
func refusedCommit(err error) bool {
	return err != nil && (errors.Is(err, errNotOurs) || strings.Contains(errorTree(err), "not our ref"))
}

// errorTree gives the words of an error and of its cause: a Trouble shows its own only.
func errorTree(err error) string {
	var trouble *Trouble
	if errors.As(err, &trouble) && trouble.Err != nil {
		return trouble.Err.Error()
	}
	return err.Error()
}
