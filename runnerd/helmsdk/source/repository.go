package source

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// chartRepo is a chart repository.
type chartRepo struct {
	// url has the scheme https, http or oci, no user, query or fragment, and no trailing slash.
	url *url.URL
}

// parseRepository parses the address of a chart repository as in helm_repo.repo_url and Chart.yaml.
func parseRepository(text string) (chartRepo, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil || len(text) > 2000:
		return chartRepo{}, fmt.Errorf("%s is not the address of a chart repository; write https://host/path or "+
			"oci://host/path",
			quote(text))
	case strings.HasPrefix(text, "@") || strings.HasPrefix(text, "alias:"):
		return chartRepo{}, fmt.Errorf(
			"%s is a name that only one person's helm knows (helm repo list); write the repository's address, https://… or "+
				"oci://…", quote(text))
	case at.Scheme != "https" && at.Scheme != "http" && at.Scheme != "oci" || at.Host == "" || at.Opaque != "":
		return chartRepo{}, fmt.Errorf(
			"%s is not the address of a chart repository that can be read here; write https://host/path or oci://host/path",
			quote(text))
	case at.User != nil:
		return chartRepo{}, fmt.Errorf(
			"the address of the chart repository at %s holds a user name or a password, which everybody who reads the app "+
				"would see; take it out", quote(at.Host))
	case at.RawQuery != "" || at.Fragment != "":
		return chartRepo{}, fmt.Errorf(
			"the address of the chart repository at %s has a query; write it without what follows ? or #", quote(at.Host))
	case at.Scheme == "http" && !isLoopback(at.Hostname()):
		return chartRepo{}, fmt.Errorf("chart repository %s is read over https only; write https://", quote(text))
	}
	at.Path, at.RawPath = strings.TrimRight(at.Path, "/"), ""
	return chartRepo{url: at}, nil
}

// parseWeb parses the address of a file.
func parseWeb(text string) (*url.URL, error) {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !isLoopback(at.Hostname())) {
		return nil, fmt.Errorf("%s is not the address of a chart; write https://host/path/chart.tgz", quote(text))
	}
	if at.User != nil {
		return nil, fmt.Errorf("the address of the chart at %s holds a user name or a password; take it out", quote(at.Host))
	}
	return at, nil
}

func (r chartRepo) oci() bool { return r.url.Scheme == "oci" }

func (r chartRepo) String() string { return redactedURL(r.url) }

// index returns the address of the repository's index.
func (r chartRepo) index() *url.URL {
	at := *r.url
	at.Path = path.Join("/", at.Path, "index.yaml")
	return &at
}

// isLoopback reports whether the host of a URL is this machine. It does not use a name server.
func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// isPlainHTTP reports whether a registry is accessed without TLS: only one on this machine.
func isPlainHTTP(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return isLoopback(strings.Trim(name, "[]"))
}
