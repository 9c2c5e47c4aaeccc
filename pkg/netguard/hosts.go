package netguard

import (
	"net/http"
	"slices"
	"strings"
)

// WithPrivate are the kinds of addresses that a host in a private network may have.
var WithPrivate = []Kind{Public, Private, Loopback}

// ByHost is an http.RoundTripper that reaches private networks, and this machine also without TLS,
// only for the hosts that its owner allows. The host of each redirect is checked again.
type ByHost struct {
	public, private http.RoundTripper
	allow           func(host string) bool
}

// NewByHost returns a transport with the options, of which it sets HTTPS and HTTP. allow gets a
// host without a port.
func NewByHost(options Options, allow func(host string) bool) ByHost {
	options.HTTPS, options.HTTP = []Kind{Public}, nil
	public := NewTransport(options)
	options.HTTPS, options.HTTP = WithPrivate, []Kind{Loopback}
	return ByHost{public: public, private: NewTransport(options), allow: allow}
}

// RoundTrip sends one request.
func (b ByHost) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.allow(request.URL.Hostname()) {
		return b.private.RoundTrip(request)
	}
	if request.URL.Scheme == "http" {
		return nil, &BlockedError{Host: request.URL.Hostname(), Scheme: "http", Kind: Public}
	}
	return b.public.RoundTrip(request)
}

// AllowHosts returns whether a host is in a list, which is separated by commas or spaces. The list
// "1" has every host.
func AllowHosts(list string) func(host string) bool {
	hosts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return func(host string) bool {
		return list == "1" || slices.ContainsFunc(hosts, func(one string) bool { return strings.EqualFold(one, host) })
	}
}
