package gitpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Limits on what a server sends before a pack.
const (
	maxRefsBytes    = 16 << 20
	maxErrorBytes   = 64 << 10
	maxPrefaceBytes = 1 << 20 // the shallow commits, and the common commits
)

// Errors of a Remote.
var (
	// ErrNotServed is wrapped when a server does not send an object that was requested by its hash.
	ErrNotServed = errors.New("the server does not give the object: no branch or tag leads to it")
	// ErrShallow is returned when a request has a depth and the server supports only whole
	// histories.
	ErrShallow = errors.New("the server does not give shallow histories")
)

// Remote is a repository on a server, accessed over git's smart HTTP protocol.
type Remote struct {
	// Advertised contains the server's branches, tags and capabilities.
	Advertised *packp.AdvRefs

	session transport.UploadPackSession
	bodies  *boundedBodies
}

// Request selects the objects to fetch.
type Request struct {
	// Want is the requested object: a commit, a tag or, if the server allows it, any other object.
	Want plumbing.Hash
	// Have is a commit whose tree the client already has; zero for none.
	Have plumbing.Hash
	// Depth is the number of commits of history to fetch; zero means all.
	Depth int
	// Filter excludes objects, if the server supports that.
	Filter packp.Filter
}

// Open fetches the branches and tags of a server. The client decides which addresses may be dialed
// and which redirects are followed.
func Open(ctx context.Context, client *http.Client, url string, auth transport.AuthMethod) (*Remote, error) {
	endpoint, err := transport.NewEndpoint(url)
	if err != nil {
		return nil, err
	}
	bodies := &boundedBodies{RoundTripper: client.Transport}
	bounded := *client
	bounded.Transport = bodies
	session, err := githttp.NewClient(&bounded).NewUploadPackSession(endpoint, auth)
	if err != nil {
		return nil, err
	}
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	return &Remote{Advertised: advertised, session: session, bodies: bodies}, nil
}

// Supports reports whether the server has a capability.
func (r *Remote) Supports(c capability.Capability) bool {
	return r.Advertised.Capabilities.Supports(c)
}

// Fetch requests a pack of at most limit bytes, which the caller reads and closes. An empty pack is
// an empty stream.
func (r *Remote) Fetch(ctx context.Context, want Request, limit int64) (io.ReadCloser, error) {
	request, err := r.request(want)
	if err != nil {
		return nil, err
	}
	response, err := r.session.UploadPack(ctx, request)
	if errors.Is(err, transport.ErrEmptyUploadPackRequest) {
		return nil, fmt.Errorf("%w (empty answer)", ErrNotServed)
	}
	if err != nil {
		return nil, asNotServed(err)
	}
	r.bodies.allow(limit)
	var pack io.Reader = response
	if request.Capabilities.Supports(capability.Sideband64k) {
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	}
	return packStream{pack, response}, nil
}

// packStream is the response stream with a pack.
type packStream struct {
	pack io.Reader
	io.Closer
}

// Read reads the pack.
func (s packStream) Read(into []byte) (int, error) {
	n, err := s.pack.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = asNotServed(err)
	}
	return n, err
}

// asNotServed recognizes the error text with which servers refuse an object.
func asNotServed(err error) error {
	if strings.Contains(err.Error(), "not our ref") {
		return fmt.Errorf("%w: %w", ErrNotServed, err)
	}
	return err
}

func (r *Remote) request(want Request) (*packp.UploadPackRequest, error) {
	request := packp.NewUploadPackRequest()
	preferred := []capability.Capability{capability.OFSDelta, capability.Sideband64k, capability.NoProgress}
	if want.Depth > 0 {
		if !r.Supports(capability.Shallow) {
			return nil, ErrShallow
		}
		preferred = append(preferred, capability.Shallow)
		request.Depth = packp.DepthCommits(want.Depth)
	}
	if want.Filter != "" {
		preferred = append(preferred, capability.Filter)
		request.Filter = want.Filter
	}
	for _, c := range preferred {
		if !r.Supports(c) {
			continue
		}
		if err := request.Capabilities.Set(c); err != nil {
			return nil, err
		}
	}
	request.Wants = []plumbing.Hash{want.Want}
	if !want.Have.IsZero() && want.Have != want.Want {
		// The commit is sent as shallow, even if more of its history is present, so that the server
		// leaves out only the content of that commit.
		request.Haves = []plumbing.Hash{want.Have}
		request.Shallows = []plumbing.Hash{want.Have}
	}
	return request, nil
}

// boundedBodies bounds the responses of a server: the list of refs, errors, and what precedes a
// pack, all of which the library holds in memory. The limit of the pack itself is set after the
// rest was read. One session uses it, for one request at a time.
type boundedBodies struct {
	http.RoundTripper
	pack *netguard.Budget
}

// RoundTrip sends one request.
func (b *boundedBodies) RoundTrip(request *http.Request) (*http.Response, error) {
	next := b.RoundTripper
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	var budget *netguard.Budget
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		budget = newResponseBudget("an error", maxErrorBytes)
	case request.Method == http.MethodPost:
		budget = newResponseBudget("an answer without a pack", maxPrefaceBytes)
		b.pack = budget
	default:
		budget = newResponseBudget("a list of branches and tags", maxRefsBytes)
	}
	response.Body = budget.Limit(response.Body)
	return response, nil
}

// allow sets the limit of the pack that follows.
func (b *boundedBodies) allow(limit int64) {
	if b.pack != nil {
		// Sideband headers take five bytes per packet, and packets may be small.
		b.pack.Set(limit+limit/8+maxPrefaceBytes, &LimitError{What: "a pack", Limit: limit, Unit: "bytes"})
	}
}

// newResponseBudget returns the budget of one response.
func newResponseBudget(what string, limit int64) *netguard.Budget {
	return netguard.NewBudget(limit, &LimitError{What: what, Limit: limit, Unit: "bytes"})
}
