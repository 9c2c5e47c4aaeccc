package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// newClient returns the HTTP client of a Fetcher. It has no cookie jar.
func newClient(options Options) *http.Client {
	secure, plain := []netguard.Kind{netguard.Public}, []netguard.Kind(nil)
	if options.AllowPrivate {
		secure, plain = []netguard.Kind{netguard.Public, netguard.Private, netguard.Loopback},
			[]netguard.Kind{netguard.Loopback}
	}
	return &http.Client{CheckRedirect: netguard.CheckRedirect, Transport: netguard.NewTransport(netguard.Options{
		HTTPS: secure, HTTP: plain, Roots: options.Roots,
	})}
}

var errPlain = errors.New(
	"charts come over https only; plain http is spoken with this machine alone, by a runner that was started with " +
		job.VarChartsPrivate + "=1")

// explainBlocked describes why a server is not connected to.
func explainBlocked(blocked *netguard.BlockedError) error {
	switch {
	case blocked.Kind == netguard.Special:
		return fmt.Errorf("its server %s; no chart is read from there", clean(blocked.Error()))
	case blocked.Scheme == "http":
		return errPlain
	}
	return fmt.Errorf("its server %s; a build runner reads charts from private networks only when it is started with %s=1",
		clean(blocked.Error()), job.VarChartsPrivate)
}

// get downloads a file of at most limit bytes.
func (s *session) get(at *url.URL, limit int64) ([]byte, error) {
	for try := 1; ; try++ {
		content, again, err := s.getOnce(at, limit)
		if err == nil || !again || try == tries || !backoff.Pause(s.ctx, s.retryPause) {
			return content, err
		}
	}
}

// tries bounds the tries after temporary errors, within the session's time limit.
const tries = 3

// getOnce is one try of get; it also reports whether another try may succeed.
func (s *session) getOnce(at *url.URL, limit int64) (content []byte, again bool, err error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, false, errors.New("it is not an http or https address")
	}
	request.Header.Set("User-Agent", "nuon/"+version.Number)
	found, err := s.credential(at)
	if err != nil {
		return nil, false, err
	}
	if !found.Secret.IsZero() {
		request.SetBasicAuth(found.Username, string(found.Secret.Reveal()))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, isTemporary(err), s.explainNetwork(err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests,
			errorOfStatus(response.StatusCode)
	}
	content, err = s.read(response.Body, limit)
	return content, err != nil && isTemporary(err), err
}

// credential returns the credential for an address, without its query. It returns none for an address
// without TLS, nor for a path that servers may read in more than one way: no credential is for such a path.
func (s *session) credential(at *url.URL) (job.ModuleCredential, error) {
	if s.options.Credential == nil || at.Scheme == "http" || at.RawPath != "" || path.Clean("/"+at.Path) != at.Path ||
		strings.ContainsAny(at.Path, "%\\\x00") {
		return job.ModuleCredential{}, nil
	}
	address := url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}
	found, err := s.options.Credential(s.ctx, address.String())
	if err != nil {
		return found, fmt.Errorf("read the credential for %s: %w", redactedURL(&address), err)
	}
	return found, nil
}

// isTemporary reports whether a network error may be temporary, unlike one from our own
// rules, a name server or a certificate.
func isTemporary(err error) bool {
	var lookup *net.DNSError
	var dial *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.As(err, &dial) && dial.Timeout() || errors.As(err, &lookup) && lookup.IsTemporary
}

// statusError is a response with a status other than 200.
type statusError int

func errorOfStatus(status int) error { return statusError(status) }

// Error describes the response, with the remedy.
func (e statusError) Error() string {
	said := strings.TrimSpace(fmt.Sprintf("the server answers %d %s", int(e), http.StatusText(int(e))))
	switch e {
	case http.StatusUnauthorized, http.StatusForbidden:
		return said + "; to let builds fetch it, store a credential: nuon credentials create NAME --chart REPO_URL " +
			"--username USER --from @FILE"
	case http.StatusNotFound, http.StatusGone:
		return said + "; check the address"
	}
	return said + "; build again later"
}

// errTooLarge reports that a response exceeds its limit.
var errTooLarge = errors.New("it is larger than may be read")

// read reads to the end, within a limit and the session's budget.
func (s *session) read(from io.Reader, limit int64) ([]byte, error) {
	limit = min(limit, s.fetched)
	content, err := netguard.ReadAll(from, limit, fmt.Errorf("%w (%d bytes); make it smaller", errTooLarge, limit))
	s.fetched = max(0, s.fetched-int64(len(content)))
	if errors.Is(err, errTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, s.explainNetwork(err)
	}
	return content, nil
}

// explainNetwork describes a network error, without the wrapper that repeats the URL.
func (s *session) explainNetwork(err error) error {
	var blocked *netguard.BlockedError
	var redirected *netguard.RedirectError
	var scheme *netguard.UnsupportedSchemeError
	switch {
	case errors.As(err, &blocked):
		return explainBlocked(blocked)
	case errors.As(err, &redirected):
		return fmt.Errorf("%s; write the address that it leads to", clean(redirected.Why))
	case errors.As(err, &scheme):
		return fmt.Errorf("it leads to an address of scheme %s; charts come over https only", quote(scheme.Scheme))
	case errors.Is(s.ctx.Err(), context.Canceled):
		return s.ctx.Err()
	case s.ctx.Err() != nil:
		return fmt.Errorf("it took longer than %s with all that it needs; build again later", s.options.Timeout)
	}
	if found, is := netguard.Describe(err); is {
		return fmt.Errorf("%s; %s", found.Why, found.Remedy)
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // request repeats the URL
	}
	return err
}
