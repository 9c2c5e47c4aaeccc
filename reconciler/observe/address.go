package observe

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// repository is a remote's URL with an allowed form. Whether the control plane may connect to its
// host is decided per connection, by the address that the name then resolves to.
type repository struct {
	scheme string // https, http or file
	host   string // with its port; empty for file
	path   string
}

// String returns the URL in the normalized spelling that watches are stored with.
func (r repository) String() string { return r.scheme + "://" + r.host + r.path }

// maxURL bounds a repository URL.
const maxURL = 2048

// parseRepository parses a repository URL. It rejects URLs that nuon does not read, with a
// message for the user.
func parseRepository(text string) (repository, error) {
	if len(text) > maxURL {
		return repository{}, repoErrorf("the repository URL has more than %d characters; check it", maxURL)
	}
	parsed, err := url.Parse(text)
	shown := PlainText(text, 200)
	if err != nil {
		return repository{}, repoErrorf("%q is not a URL; write the repository as https://host/path", shown)
	}
	if parsed.User != nil {
		return repository{}, repoErrorf(
			"the URL of the repository at %s holds a user name or a password; leave it out, keep the token with "+
				"`nuon credentials create`, and name that credential for the app", parsed.Host)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return repository{}, repoErrorf("the repository URL %q has a query or a fragment; leave it out", shown)
	}
	at := repository{scheme: strings.ToLower(parsed.Scheme), host: strings.ToLower(parsed.Host),
		path: strings.TrimRight(parsed.EscapedPath(), "/")}
	switch at.scheme {
	case "https", "http":
		if at.host == "" || at.path == "" {
			return repository{}, repoErrorf("%q names no repository; write it as https://host/path", shown)
		}
	case "file":
		if at.host == "localhost" {
			at.host = ""
		}
		if at.host != "" || parsed.Path == "" {
			return repository{}, repoErrorf("%q names no directory of this machine; write it as file:///absolute/path",
				shown)
		}
		at.path = strings.TrimRight(parsed.Path, "/")
	default:
		return repository{}, repoErrorf(
			"repositories are read over https:// only, not %q; use the repository's https URL, with a token kept by "+
				"`nuon credentials create` when it is private", shown)
	}
	return at, nil
}

// sameHost reports whether two repository URLs are on one server, so that a credential for one
// may be sent to the other.
func sameHost(a, b string) bool {
	first, errA := parseRepository(a)
	second, errB := parseRepository(b)
	return errA == nil && errB == nil && first.scheme == second.scheme && first.host == second.host
}

// plainHTTPMessage is the error for http:// URLs.
const plainHTTPMessage = "http:// would send the repository and its token unencrypted; use the " +
	"repository's https:// URL"

// kinds returns the kinds of addresses that repositories may be at: by https, and by http, which is
// allowed only for this machine.
func (o Options) kinds() (https, http []netguard.Kind) {
	if o.AllowPrivate {
		return []netguard.Kind{netguard.Public, netguard.Private, netguard.Loopback}, []netguard.Kind{netguard.Loopback}
	}
	return []netguard.Kind{netguard.Public}, nil
}

// blockedMessage returns why the control plane does not connect to a repository's host.
func blockedMessage(blocked *netguard.BlockedError) string {
	switch {
	case blocked.Kind == netguard.Special:
		return fmt.Sprintf("the repository's host %s; no repository is read from there",
			PlainText(blocked.Error(), 300))
	case blocked.Scheme == "http":
		return plainHTTPMessage
	}
	return fmt.Sprintf("the repository's host %s; the control plane reads repositories in private networks only when it "+
		"is started with --allow-private-remotes",
		PlainText(blocked.Error(), 300))
}
