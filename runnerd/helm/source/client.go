package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/address"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Bounds of one connection, within the time of the whole.
const (
	longestDial   = 10 * time.Second
	longestAnswer = 30 * time.Second
	maxHeaders    = 64 << 10
	maxRedirects  = 5
)

// newClient makes the HTTP client of a Fetcher. The environment's proxies are not used: behind one, the rule about addresses would see the
// proxy's only. There is no cookie jar.
func newClient(options Options) *http.Client {
	secure, plain := onlyPublic, address.Rule(func(netip.Addr) error { return errPlain })
	if options.AllowPrivate {
		secure, plain = orOwn, orThisMachine
	}
	return &http.Client{CheckRedirect: checkRedirect, Transport: bySchemes{
		"https": newTransport(secure, options), "http": newTransport(plain, options),
	}}
}

// bySchemes has a transport for each scheme, because each has its own rule about addresses.
type bySchemes map[string]*http.Transport

// RoundTrip sends one request.
func (b bySchemes) RoundTrip(request *http.Request) (*http.Response, error) {
	transport, known := b[request.URL.Scheme]
	if !known {
		return nil, fmt.Errorf("it leads to an address of scheme %s; charts come over https only", quote(request.URL.Scheme))
	}
	return transport.RoundTrip(request)
}

func newTransport(rule address.Rule, options Options) *http.Transport {
	dialer := &net.Dialer{Timeout: longestDial, Control: rule.Control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    longestDial,
		ResponseHeaderTimeout:  longestAnswer,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
		// An archive is compressed already, and of what is unpacked both sides have to be counted.
		DisableCompression: true,
	}
}

// checkRedirect looks at the next address as at the first: a server that was trusted is not trusted to send us anywhere.
func checkRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	next.Header.Del("Referer") // may hold a signature
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("it is redirected more than %d times; write the address that it leads to", maxRedirects)
	case next.URL.User != nil:
		return errors.New("it is redirected to an address with a user name or a password; write the address that it leads to")
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return errors.New("it is redirected from https to " + quote(next.URL.Scheme) + "; write an address that stays with https")
	}
	return nil
}

var errPlain = errors.New("charts come over https only; plain http is spoken with this machine alone, by a runner that was started with " + job.VarChartsPrivate + "=1")

// onlyPublic, orOwn and orThisMachine are the rules about addresses.
func onlyPublic(at netip.Addr) error {
	if address.KindOf(at) == address.Public {
		return nil
	}
	return fmt.Errorf("its server has the address %s, which is not a public one; a build runner reads charts from private networks only when it is started with %s=1", at, job.VarChartsPrivate)
}

// orOwn lets private networks be reached, but never the link or a cloud's own services.
func orOwn(at netip.Addr) error {
	if address.KindOf(at) != address.Special {
		return nil
	}
	return fmt.Errorf("its server has the address %s, which no chart is read from", at)
}

func orThisMachine(at netip.Addr) error {
	switch address.KindOf(at) {
	case address.Loopback:
		return nil
	case address.Public, address.Private:
		return errPlain
	}
	return orOwn(at)
}

// get asks a server for a file of at most limit bytes.
func (s *session) get(at *url.URL, limit int64) ([]byte, error) {
	for try := 1; ; try++ {
		content, again, err := s.getOnce(at, limit)
		if err == nil || !again || try == tries || !pause(s.ctx, s.rest) {
			return content, err
		}
	}
}

// tries is how often something that may pass is tried, within the time of the session.
const tries = 3

// pause waits; false if there is no time left.
func pause(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// getOnce is one try of get; it also says whether another may go better.
func (s *session) getOnce(at *url.URL, limit int64) (content []byte, again bool, err error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, false, errors.New("it is no address of the web")
	}
	request.Header.Set("User-Agent", "nuon/"+version.Number)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, passing(err), s.reachable(err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests, answered(response.StatusCode)
	}
	content, err = s.read(response.Body, limit)
	return content, err != nil && passing(err), err
}

// passing says of an error of the network that it may pass: not what a rule of ours, a name server or a certificate says.
func passing(err error) bool {
	var lookup *net.DNSError
	var dial *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.As(err, &dial) && dial.Timeout() || errors.As(err, &lookup) && lookup.IsTemporary
}

// statusError is an answer other than yes.
type statusError int

func answered(status int) error { return statusError(status) }

// Error gives the answer in words, with what to do.
func (e statusError) Error() string {
	said := strings.TrimSpace(fmt.Sprintf("the server answers %d %s", int(e), http.StatusText(int(e))))
	switch e {
	case http.StatusUnauthorized, http.StatusForbidden:
		return said + "; only what everybody may read can be fetched: put the chart into the repository of the app if it is private"
	case http.StatusNotFound, http.StatusGone:
		return said + "; check the address"
	}
	return said + "; build again later"
}

// errLarge says that more comes than may.
var errLarge = errors.New("it is larger than may be read")

// read reads to the end, within a limit and what the session may fetch.
func (s *session) read(from io.Reader, limit int64) ([]byte, error) {
	limit = min(limit, s.fetched)
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	s.fetched = max(0, s.fetched-int64(len(content)))
	if err != nil {
		return nil, s.reachable(err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%w (%d bytes); make it smaller", errLarge, limit)
	}
	return content, nil
}

// reachable puts an error of the network in words, without the wrapper that repeats the URL.
func (s *session) reachable(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var lookup *net.DNSError
	var unproven *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errors.Is(s.ctx.Err(), context.Canceled):
		return s.ctx.Err()
	case s.ctx.Err() != nil:
		return fmt.Errorf("it took longer than %s with all that it needs; build again later", s.options.Timeout)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("there is no server of the name %s; check the address", quote(lookup.Name))
	case errors.As(err, &lookup):
		return fmt.Errorf("the name %s could not be looked up; build again later", quote(lookup.Name))
	case errors.As(err, &unproven):
		return fmt.Errorf("the server does not prove who it is: %s; mend its certificate", clean(unproven.Error()))
	case errors.As(err, &dial) && dial.Op == "dial" && refusal(dial.Err) != nil:
		return refusal(dial.Err)
	case errors.As(err, &dial) && dial.Timeout():
		return fmt.Errorf("the server does not answer: %w; build again later", dial.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection to the server broke: %w; build again later", err)
	}
	return err
}

// refusal gives what a rule about addresses said, or what the machine says of the connection.
func refusal(err error) error {
	if strings.Contains(err.Error(), ";") || strings.Contains(err.Error(), "no chart is read") {
		return err
	}
	return fmt.Errorf("the server cannot be reached: %w; check the address, or build again later", err)
}
