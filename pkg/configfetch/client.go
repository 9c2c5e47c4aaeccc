package configfetch

import (
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// newClient returns the HTTP client of a Fetcher. It has no cookie jar.
func newClient(options Options) *http.Client {
	secure, plain := options.kinds()
	return &http.Client{CheckRedirect: netguard.CheckRedirect, Transport: netguard.NewTransport(netguard.Options{
		HTTPS: secure, HTTP: plain, Roots: options.Roots, Resolver: options.Resolver,
		Dial: 5 * time.Second, Handshake: 5 * time.Second, Header: 10 * time.Second, Idle: 10 * time.Second,
	})}
}

// kinds returns the kinds of addresses that files may be read from. Over http, private networks are
// never read.
func (o Options) kinds() (https, http []netguard.Kind) {
	if o.AllowPrivate {
		return []netguard.Kind{netguard.Public, netguard.Private, netguard.Loopback},
			[]netguard.Kind{netguard.Public, netguard.Loopback}
	}
	return []netguard.Kind{netguard.Public}, []netguard.Kind{netguard.Public}
}

// explainBlocked explains why the fetcher does not connect to a server.
func explainBlocked(blocked *netguard.BlockedError) *Error {
	why := "its server " + sanitize(blocked.Error(), 300)
	switch {
	case blocked.Kind == netguard.Special:
		return permanent(why+", and no file is read from there", localFileRemedy)
	case blocked.Scheme == "http" && blocked.Kind == netguard.Private:
		return permanent(why+", which is read over https only", "write https://, or "+localFileRemedy)
	}
	return permanent(why+
		"; a control plane reads from private networks only when it is started with --allow-private-remotes", localFileRemedy)
}
