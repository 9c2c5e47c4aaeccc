package apiclient

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// The bounds of the bodies of responses, in bytes, uncompressed. No response to a poll may end
// runnerd, so all but two are small.
const (
	maxResponse      = 4 << 20
	maxSpecResponse  = 16 << 20
	maxStateResponse = 512 << 20 // a sealed Terraform state in base64
)

// maxResponseOf returns the bound of the response to a request.
func maxResponseOf(request *http.Request) int64 {
	switch path.Base(request.URL.Path) {
	case "spec":
		return maxSpecResponse
	case "state":
		return maxStateResponse
	}
	return maxResponse
}

// StaticToken returns a token function for NewClient that always returns token.
func StaticToken(token seal.Secret) func() seal.Secret { return func() seal.Secret { return token } }

// NewClient returns the generated client for base, which sends the current result of token
// with every call. A call fails after limit; zero leaves that to the context.
func NewClient(base string, token func() seal.Secret, limit time.Duration) (*api.ClientWithResponses, error) {
	return newClient(base, token, limit, transport())
}

func newClient(base string, token func() seal.Secret, limit time.Duration,
	below http.RoundTripper) (*api.ClientWithResponses, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a runner API; it looks like https://host:port", base)
	}
	doer := &http.Client{
		Timeout:   limit,
		Transport: boundedTransport{&gzipTransport{next: below}},
		// A token is for one host, and the runner API never redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	client, err := api.NewClientWithResponses(base, api.WithHTTPClient(doer), api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+string(token().Reveal()))
			request.Header.Set(version.HeaderAPI, strconv.Itoa(version.API))
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("prepare calls to %s: %w", base, err)
	}
	return client, nil
}

// pingAfter is the time without a byte after which a connection is pinged, and the time that the
// response to the ping may take.
const pingAfter = 10 * time.Second

// transport is shared by all clients, so that they share connections.
var transport = sync.OnceValue(func() *http.Transport { return newTransport(pingAfter) })

// newTransport returns a transport that closes dead connections. With HTTP/2 all calls share
// one connection, and without pings they would fail until the kernel closes it, which takes
// a quarter of an hour.
func newTransport(silence time.Duration) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: silence, IdleConnTimeout: 9 * silence,
		DialContext: (&net.Dialer{Timeout: 3 * silence}).DialContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
	}
}

// WithToken sends one call with another token than that of its client.
func WithToken(token seal.Secret) api.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+string(token.Reveal()))
		return nil
	}
}

// boundedTransport prevents a hostile or broken server from filling the memory.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip makes one call.
func (b boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(request)
	if err == nil {
		limit := maxResponseOf(request)
		answer.Body = &boundedBody{ReadCloser: answer.Body, limit: limit, left: limit}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	limit, left int64
}

// Read returns an error when more than the limit was read.
func (b *boundedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return n, fmt.Errorf("the answer has more than %d bytes", b.limit)
	}
	return n, err
}
