package observe

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// repository is a remote's address that is allowed in form. Whether the machine behind a name may be spoken to is decided when a
// connection is made, by the address that the name then has.
type repository struct {
	scheme string // https, http or file
	host   string // with its port; empty for file
	path   string
}

// String gives the URL in the one spelling that watches are kept by.
func (r repository) String() string { return r.scheme + "://" + r.host + r.path }

// maxURL bounds a repository URL.
const maxURL = 2048

// parseRepository reads a repository URL and refuses, in words, what is no remote that nuon reads.
func parseRepository(text string) (repository, error) {
	if len(text) > maxURL {
		return repository{}, troubled("the repository URL has more than %d characters; check it", maxURL)
	}
	parsed, err := url.Parse(text)
	shown := plainText(text, 200)
	if err != nil {
		return repository{}, troubled("%q is not a URL; write the repository as https://host/path", shown)
	}
	if parsed.User != nil {
		return repository{}, troubled("the URL of the repository at %s holds a user name or a password; leave it out, keep the token with `nuon credentials create`, and name that credential for the app", parsed.Host)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return repository{}, troubled("the repository URL %q has a query or a fragment; leave it out", shown)
	}
	at := repository{scheme: strings.ToLower(parsed.Scheme), host: strings.ToLower(parsed.Host), path: strings.TrimRight(parsed.EscapedPath(), "/")}
	switch at.scheme {
	case "https", "http":
		if at.host == "" || at.path == "" {
			return repository{}, troubled("%q names no repository; write it as https://host/path", shown)
		}
	case "file":
		if at.host == "localhost" {
			at.host = ""
		}
		if at.host != "" || parsed.Path == "" {
			return repository{}, troubled("%q names no directory of this machine; write it as file:///absolute/path", shown)
		}
		at.path = strings.TrimRight(parsed.Path, "/")
	default:
		return repository{}, troubled("repositories are read over https:// only, not %q; use the repository's https URL, with a token kept by `nuon credentials create` when it is private", shown)
	}
	return at, nil
}

// sameHost tells whether two repository URLs are on one server, so that a credential for one may be shown to the other.
func sameHost(a, b string) bool {
	first, errA := parseRepository(a)
	second, errB := parseRepository(b)
	return errA == nil && errB == nil && first.scheme == second.scheme && first.host == second.host
}

// Addresses that are not of the public internet and that net/netip has no word for: shared address space (RFC 6598), protocol
// assignments (RFC 6890), benchmarks (RFC 2544), reserved (RFC 1112), this network (RFC 791), and the IPv6 forms that carry an
// IPv4 address inside, which would let a private one in by another name (RFC 6052, RFC 8215, RFC 3056, RFC 4380).
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"),
}

// public tells whether an address is one that anybody on the internet could reach too.
func public(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return false
	}
	for _, prefix := range notPublic {
		if prefix.Contains(address) {
			return false
		}
	}
	return true
}

// dialRule decides about one connection by the address that is really dialled, after the name was looked up: a name that changes
// between two look-ups cannot get round it.
type dialRule func(netip.Addr) error

// plainHTTPWords refuse http://.
const plainHTTPWords = "http:// would send the repository and its token over the network for all to read; use the repository's https:// URL"

func anyAddress(netip.Addr) error { return nil }

func publicOnly(address netip.Addr) error {
	if public(address) {
		return nil
	}
	return troubled("the repository's host has the address %s, which is not a public one; the control plane reads repositories in private networks only when it is started with --allow-private-remotes", address)
}

func loopbackOnly(address netip.Addr) error {
	if address.Unmap().IsLoopback() {
		return nil
	}
	return troubled("%s", plainHTTPWords)
}

// control is the hook of a net.Dialer.
func (rule dialRule) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	return rule(at.Addr())
}
