package remote

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/address"
)

// Bounds of one connection, within the time of the whole.
const (
	longestDial   = 5 * time.Second
	longestAnswer = 10 * time.Second
	maxHeaders    = 64 << 10
	maxRedirects  = 5
)

// newClient makes the HTTP client of a Fetcher. The environment's proxies are not used: behind one, the rule about addresses would see
// the proxy's only. There is no cookie jar.
func newClient(options Options) *http.Client {
	secure, plain := onlyPublic, onlyPublic
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
		return nil, refuse("it leads to an address that is none of the web", "check the address, or "+besides)
	}
	return transport.RoundTrip(request)
}

func newTransport(rule address.Rule, options Options) *http.Transport {
	dialer := &net.Dialer{Timeout: longestDial, Control: rule.Control, Resolver: options.Resolver}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    longestDial,
		ResponseHeaderTimeout:  longestAnswer,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    mostAtOnce,
		ForceAttemptHTTP2:      true,
		// What is compressed is taken apart here, where both sides of it are counted.
		DisableCompression: true,
	}
}

// checkRedirect looks at the next address as at the first: a server that was trusted is not trusted to send us anywhere.
func checkRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	next.Header.Del("Referer") // may hold a signature
	switch {
	case len(via) > maxRedirects:
		return refuse(fmt.Sprintf("it is redirected more than %d times", maxRedirects), "write the address that it leads to")
	case next.URL.User != nil:
		return refuse("it is redirected to an address with a user name or a password", besides)
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return refuse("it is redirected from https to "+plain(next.URL.Scheme, 20), "write an address that stays with https, or "+besides)
	}
	return nil
}

// onlyPublic, orOwn and orThisMachine are the rules about addresses.
func onlyPublic(at netip.Addr) error {
	if address.KindOf(at) == address.Public {
		return nil
	}
	return refuse(fmt.Sprintf("its server has the address %s, which is not a public one; "+
		"a control plane reads from private networks only when it is started with --allow-private-remotes", at), besides)
}

// orOwn lets private networks be reached, but never the link or a cloud's own services.
func orOwn(at netip.Addr) error {
	if address.KindOf(at) != address.Special {
		return nil
	}
	return refuse(fmt.Sprintf("its server has the address %s, which no file is read from", at), besides)
}

func orThisMachine(at netip.Addr) error {
	switch address.KindOf(at) {
	case address.Public, address.Loopback:
		return nil
	case address.Private:
		return refuse(fmt.Sprintf("its server has the private address %s, which is read over https only", at), "write https://, or "+besides)
	}
	return orOwn(at)
}
